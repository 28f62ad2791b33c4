"""One program, two file systems: our built-in and the reference server give the same values."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from pml.backends.results import value_of
from pml.backends.std import StdBackend
from pml.backends.std.capability import STD_FOLDER, load_capability
from pml.backends.stdio import StdioBackend
from pml.confinement import Grants, Level, Places, Program, confine, probe
from sandbox_host import ToolError

CALLS: list[tuple[str, Mapping[str, Any]]] = [
    ("read_text_file", {"path": "a.txt"}),
    ("read_text_file", {"path": "a.txt", "head": 1}),
    ("read_text_file", {"path": "a.txt", "tail": 1}),
    ("read_text_file", {"path": "grüße.txt"}),
    ("read_file", {"path": "sub/b.md"}),
    ("read_text_file", {"path": "missing.txt"}),
    ("read_text_file", {"path": "../outside.txt"}),
    ("read_text_file", {"path": "/etc/hostname"}),
    ("read_text_file", {}),
    ("read_text_file", {"path": 7}),
    ("list_directory", {"path": "."}),
    ("list_directory", {"path": "sub"}),
    ("list_directory", {"path": "a.txt"}),
    ("directory_tree", {"path": "."}),
    ("search_files", {"path": ".", "pattern": "**/*.md"}),
    ("search_files", {"path": ".", "pattern": "nothing*"}),
    ("create_directory", {"path": "made/deep"}),
    ("create_directory", {"path": "made/deep"}),
    ("write_file", {"path": "made/new.txt", "content": "x\ny\n"}),
    ("write_file", {"path": "../out.txt", "content": "x"}),
    ("edit_file", {"path": "made/new.txt", "edits": [{"oldText": "x", "newText": "z"}], "dryRun": True}),
    ("edit_file", {"path": "made/new.txt", "edits": [{"oldText": "x", "newText": "z"}]}),
    ("edit_file", {"path": "made/new.txt", "edits": [{"oldText": "nowhere", "newText": "z"}]}),
    ("read_text_file", {"path": "made/new.txt"}),
    ("move_file", {"source": "made/new.txt", "destination": "made/moved.txt"}),
    ("move_file", {"source": "missing", "destination": "x"}),
    ("read_text_file", {"path": "made/moved.txt"}),
    ("list_directory", {"path": "made"}),
    ("read_multiple_files", {"paths": ["a.txt", "missing.txt"]}),
]  # fmt: skip


class Nobody:
    def started(self, server: str, record: Any) -> None: ...
    def ready(self, server: str) -> None: ...
    def logged(self, server: str, level: str, text: str) -> None: ...
    def stopped(self, server: str, reason: str) -> None: ...


def project(folder: Path) -> Path:
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (folder / "grüße.txt").write_text("grüße 🎉\n", encoding="utf-8")
    (folder / "sub" / "b.md").write_text("# b", encoding="utf-8")
    return folder.resolve()


async def values(backend: Any, folder: Path) -> list[str]:
    """Give each value as text in which the folder's own name is gone; of an error, that it is one."""
    found = []
    for tool, arguments in CALLS:
        given = {
            key: str(folder / value) if key in ("path", "source", "destination")
            and isinstance(value, str) else value
            for key, value in arguments.items()
        }  # fmt: skip
        if "paths" in given:
            given["paths"] = [str(folder / one) for one in arguments["paths"]]
        try:
            result = await backend.call_tool(tool, given, timeout_seconds=30)
            value = value_of(tool, result)
        except ToolError:
            found.append(f"{tool} {dict(arguments)}: error")
            continue
        text = json.dumps(value, ensure_ascii=False, sort_keys=True).replace(str(folder), "<root>")
        found.append(f"{tool} {dict(arguments)}: {text}")
    return found


async def test_the_same_program_gives_the_same_values(tmp_path: Path, installed: Any) -> None:
    ours, theirs = project(tmp_path / "ours"), project(tmp_path / "theirs")
    own = await values(StdBackend("filesystem", ours, tmp_path / "state"), ours)
    private = tmp_path / "private"
    private.mkdir()
    command = installed.node("@modelcontextprotocol/server-filesystem")
    confined = confine(
        Program(command[0], (*command[1:], str(theirs))),
        Grants(fs_write=(theirs,), spawn=True),
        Places(theirs, private, private, Path.home()),
        support=probe(os.environ), environ=os.environ, level=Level.OFF, floor=Level.OFF,
        allow_off=True,
    )  # fmt: skip
    async with anyio.create_task_group() as tasks:
        backend = StdioBackend(
            "fs", lambda: confined, workspace=theirs, tasks=tasks, observer=Nobody()
        )
        reference = await values(backend, theirs)
        listed = {tool.name: tool.input_schema for tool in (await backend.list_tools()).tools}
        await backend.aclose()
    assert own == reference
    same_arguments(listed)


def same_arguments(listed: Mapping[str, Mapping[str, Any]]) -> None:
    """Whatever the reference server takes, ours takes under the same name and type."""
    ours = load_capability("filesystem", STD_FOLDER).tools
    assert set(ours) == {*listed, "grep"}
    for tool, theirs in listed.items():
        mine = ours[tool].input_schema
        assert set(theirs.get("required", ())) == set(mine.get("required", ())), tool
        types = {name: schema["type"] for name, schema in theirs["properties"].items()}
        assert types == {name: schema["type"] for name, schema in mine["properties"].items()}, tool
