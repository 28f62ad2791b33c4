"""What a process that has escaped would do, tried. Run by our own Python, confined and not.

    python -I -S -c <the text of this file> SECRET TARGET PORT TOKEN

Prints a JSON object: what was read, and which attempts went through. Only the standard library:
in a sandbox there is nothing else.
"""

import json
import os
import socket
import sys
from collections.abc import Callable

_CONNECT_SECONDS = 5.0


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:  # noqa: PTH123 - pathlib costs milliseconds
        return file.read()


def _write(path: str) -> bool:
    with open(path, "w", encoding="ascii") as file:  # noqa: PTH123 - as above
        return file.write("x") > 0


def _connect(port: str) -> bool:
    with socket.create_connection(("127.0.0.1", int(port)), _CONNECT_SECONDS):
        return True


def _see(token: str) -> bool:
    return any(token in _environment(pid) for pid in os.listdir("/proc"))  # noqa: PTH208 - as above


def _environment(pid: str) -> str:
    try:
        with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""


def _tried(attempt: Callable[[str], str | bool], what: str) -> str | bool:
    try:
        return attempt(what)
    except OSError:
        return False


if __name__ == "__main__":
    _secret, _target, _port, _token = sys.argv[1:]
    print(  # noqa: T201 - its only way to tell
        json.dumps(
            {
                "read": _tried(_read, _secret),
                "write": _tried(_write, _target),
                "connect": _tried(_connect, _port),
                "see": _tried(_see, _token),
            }
        )
    )
