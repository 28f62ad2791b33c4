"""Stands in for the gateway where a test has to hurt it: confines a server and starts it.

Reads one JSON object from its arguments, prints the server's pid, and then waits for its own end.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from pml.confinement import Grants, Level, Places, Program, confine, probe


def main() -> None:
    told = json.loads(sys.argv[1])
    environ = dict(os.environ)
    confined = confine(
        Program(told["command"], tuple(told["args"])),
        Grants(fs_write=(Path(told["workspace"]),), spawn=told["spawn"]),
        Places(*(Path(told[name]) for name in ("workspace", "home", "tmp", "user_home"))),
        support=probe(environ),
        environ=environ,
        level=Level(told["level"]),
        floor=Level.PARTIAL,
        allow_off=True,
    )
    server = subprocess.Popen(
        confined.argv, env=dict(confined.environment), cwd=confined.cwd, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    sys.stdout.write(f"{server.pid}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
