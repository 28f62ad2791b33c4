"""Build-time only: turns pinned third-party sources and our C and JavaScript into the guest.

Not part of the wheel and imported by no package in it. `build.py` reads top to bottom as the flow:
sources -> fetch -> compiling -> preinit -> cache -> `sandbox_host/_guest/`.
"""
