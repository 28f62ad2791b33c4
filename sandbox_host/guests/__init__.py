"""Kinds of guests behind one small interface: QuickJS, raw WebAssembly, and whatever comes next."""
