"""One module per peer.

A peer answers `version()` (None: not installed) and has a function per measurement that it can do,
named like the measurement's module. `LACKS` says of the others why not.
"""
