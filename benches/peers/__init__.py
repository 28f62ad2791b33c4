"""One module per peer, none of which is imported before it is measured.

A peer answers `version()` (None: not installed) and lists in `MEASURES` what it can do, by the
name of the measurement's module. `LACKS` says of the others why not.
"""
