"""What runs between the gateway and a server: stdlib only, started as `python -I -S enter.py`.

Two roles. `launcher` lays restrictions on its own process and becomes the server. `supervisor`
stays beside a server, or its bubblewrap, and sees that nothing outlives it. Every import
here costs start time of every server, hence no pathlib, no typing, no dataclasses. The gateway
itself uses only `landlock` (the constants, the probe) and `tree`.
"""
