"""Kinds of guests behind one small interface: QuickJS and raw WebAssembly."""
