"""What the gateway tells the child side, in the one form both sides know. No secret is in it."""

from typing import TypedDict


class Policy(TypedDict):
    """What `child.launcher` lays on the server's process; marshalled, so plain values."""

    file: str
    """What is executed; the command's first word is only what it is told as its name."""

    cwd: str
    limits: list[tuple[int, int]]
    """Numbers of RLIMIT_* with the value for both soft and hard."""

    privileges: bool
    """Whether capabilities are dropped and setuid programs made plain."""

    landlock: tuple[int, list[tuple[str, int]], list[int]] | None
    """Version, paths with their rights, TCP ports that may be connected to."""

    seccomp: bytes | None
    gateway: tuple[int, int]
    """Process and group of whoever starts the child; a server must not be able to signal them."""
