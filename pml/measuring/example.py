"""A workspace of our own with the example server: made in a temporary folder, and gone after.

It has a state of its own, so that no audit, pin or trust of the user's is touched, and no user's
configuration, so that it is the same on every machine.
"""

import contextlib
import datetime
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from pml.assembly import Setup, prepare
from pml.confinement import Level, probe
from pml.measuring import example_server
from pml.measuring.gateway import Place
from pml.trust import trust_workspace
from pml.workspace import resolve_workspace

NAME = "example"
"""Of the server, where programs call it."""


@contextlib.contextmanager
def opened_example(environ: Mapping[str, str], home: Path) -> Iterator[tuple[Setup, Place]]:
    """Give a trusted workspace with one server; leave nothing behind."""
    with tempfile.TemporaryDirectory(prefix="pml-bench-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve()
        project = root / "project"
        project.mkdir()
        own = {
            **environ,
            "PML_STATE": str(root / "state"),
            "PML_WORKSPACE": str(project),
            "XDG_CONFIG_HOME": str(root / "config"),
        }
        config = json.dumps(_configuration(environ))
        (project / ".pml.json").write_text(config, encoding="utf-8")
        trust_workspace(project, own, home, datetime.datetime.now(datetime.UTC))
        workspace = resolve_workspace(environ=own, cwd=project)
        yield prepare(workspace, own, home).setup, Place(own, project)


def _configuration(environ: Mapping[str, str]) -> dict[str, object]:
    server: dict[str, object] = {
        "command": sys.executable,
        "args": [str(Path(example_server.__file__).resolve())],
    }
    if not probe(environ).best.at_least(Level.LANDLOCK):
        server["sandbox"] = {"mode": "off"}  # code of ours, which may run unconfined
    return {"mcpServers": {NAME: server}, "permissions": {"allow": [NAME]}}
