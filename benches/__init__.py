"""How fast the sandbox is, beside its peers in the same run: `python -m benches`.

One file per measurement, one per peer. Nothing here is asserted by a test; the targets are printed
beside what was measured.
"""
