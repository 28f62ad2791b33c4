"""The only room that knows wasmtime: compiled modules, instances, the clock that interrupts them, the file guard."""
