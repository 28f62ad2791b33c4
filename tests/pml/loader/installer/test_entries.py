"""What of a package is started, and what of it is the package's own."""

import json
from pathlib import Path

import pytest

from pml.loader.installer import EntryUnclearError, Kind, Package
from pml.loader.installer.npm import entry, own_entries
from pml.loader.installer.trees import entries

ACME = Package(Kind.NPM, "@a/acme", "1.0.0")


def tree(folder: Path, **manifest: object) -> Path:
    package = folder / "node_modules" / "@a" / "acme"
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps(manifest))
    (package / "plain.js").write_text("serve()")
    (package / "script").write_text("#!/usr/bin/env -S node --no-warnings\nserve()")
    return folder


@pytest.mark.parametrize(
    ("bins", "program", "file"),
    [
        ("plain.js", None, "plain.js"),
        ({"anything": "plain.js"}, None, "plain.js"),
        ({"acme": "plain.js", "other": "script"}, None, "plain.js"),
        ({"acme": "plain.js", "other": "./script"}, "other", "script"),
        ({"one": "script", "two": "script"}, None, "script"),
    ],
)
def test_the_program_is_the_one_that_npx_would_start(
    tmp_path: Path, bins: object, program: str | None, file: str
) -> None:
    command = entry(tree(tmp_path, bin=bins), ACME, program)
    assert Path(command[-1]).name == file
    assert command[:-1] == (() if file == "script" else ("node",))  # else its `#!` line says


@pytest.mark.parametrize(
    ("bins", "program"),
    [
        (None, None),
        ({}, None),
        ([], None),
        ({"acme": 7}, None),
        ({"one": "plain.js", "two": "script"}, None),
        ({"acme": "plain.js"}, "other"),
        ({"acme": "missing.js"}, None),
        ({"acme": "."}, None),
        ({"acme": "../../../../../../../../../../bin/sh"}, None),
        ({"acme": "/bin/sh"}, None),
    ],
)
def test_a_program_that_the_package_does_not_have_is_an_error(
    tmp_path: Path, bins: object, program: str | None
) -> None:
    with pytest.raises(EntryUnclearError) as caught:
        entry(tree(tmp_path, bin=bins), ACME, program)
    assert "@a/acme@1.0.0" in caught.value.message
    assert caught.value.hint


def test_what_a_package_depends_on_is_not_its_own(tmp_path: Path) -> None:
    root = tree(tmp_path)
    for other in ("other", "@a/acme/node_modules/deep", "@a/acme-more"):
        (root / "node_modules" / other).mkdir(parents=True)
        (root / "node_modules" / other / "index.js").touch()
    own = [
        one.path.removeprefix("node_modules/@a/acme/") for one in own_entries(entries(root), ACME)
    ]
    assert own == ["package.json", "plain.js", "script"]
