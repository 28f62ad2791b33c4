"""The room that knows wasmtime: compiled modules, instances, their clock, the file guard."""
