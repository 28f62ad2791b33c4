"""The format, strictly: whatever PML does not write is an error with its place."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.fqdn import integrity_of
from pml.loader.lockfile import (
    LockEntry,
    Lockfile,
    LockfileInvalidError,
    LockfileVersionError,
)
from pml.loader.lockfile.reading import parse
from pml.routing import Routing

from .conftest import AT, entry, name

FILE = Path("/w/.pml/mcp.lock")
HASH = "sha256-a7f3" + "0" * 60
NAME = "casys.pml.fs.read_json.a7f3"
ENTRY = {"integrity": HASH, "fetchedAt": AT, "type": "deno", "routing": "client"}


def text(entries=None, **top) -> bytes:
    return json.dumps(
        {"version": 1, "entries": {NAME: ENTRY} if entries is None else entries} | top
    ).encode()


def one(**facts) -> bytes:
    """A file whose only entry has these keys; None takes one away."""
    changed = {key: value for key, value in (ENTRY | facts).items() if value is not None}
    return text({NAME: changed})


def test_the_file_of_the_story_is_read():
    content = text({
        NAME: ENTRY,
        "pml.mcp.serena.server.c5d6": ENTRY | {"integrity": "sha256-c5d6" + "1" * 60, "type": "stdio"},
        "pml.mcp.tavily.server.d7e8": {
            "integrity": "sha256-d7e8" + "2" * 60, "fetchedAt": AT, "type": "http", "routing": "server",
        },
    })  # fmt: skip
    entries = parse(content, FILE)
    assert set(entries) == {
        "casys.pml.fs.read_json",
        "pml.mcp.serena.server",
        "pml.mcp.tavily.server",
    }
    assert entries["pml.mcp.tavily.server"].routing is Routing.SERVER
    assert entries["casys.pml.fs.read_json"] == LockEntry(HASH, AT, "deno", Routing.CLIENT)


def test_the_example_in_the_documentation_is_what_pml_writes():
    page = (Path(__file__).parents[4] / "docs" / "lockfile.md").read_text()
    example = page.partition("```json\n")[2].partition("```")[0].encode()
    assert Lockfile(parse(example, FILE)).content() == example


def test_local_and_cloud_are_read_as_client_and_server():
    for word, routing in (("local", Routing.CLIENT), ("cloud", Routing.SERVER)):
        (found,) = parse(one(routing=word), FILE).values()
        assert found.routing is routing


def test_the_same_entries_are_the_same_bytes_in_a_form_that_people_can_read():
    first = Lockfile().add(name("b.b.b.b"), entry()).add(name("a.a.a.a"), entry(b"x"))
    second = Lockfile().add(name("a.a.a.a"), entry(b"x")).add(name("b.b.b.b"), entry())
    assert first.content() == second.content()
    lines = first.content().decode().splitlines()
    assert lines[0] == "{"
    assert lines[3] == f'    "a.a.a.a.{integrity_of(b"x")[7:11]}": {{'


@pytest.mark.parametrize(
    ("content", "line", "column", "fact"),
    [
        (b"", 1, 1, "is empty"),
        (b"\n\n", 3, 1, "is empty"),
        (b'{"version": 1,\n "entries": {', 2, 14, "but the file ends"),
        (b'{"version": 1, "entries": {}}{', 1, 30, "nothing may follow"),
        (b'{"version": 1, "version": 1, "entries": {}}', 1, 16, "already there"),
        (b"<<<<<<< HEAD\n{}", 1, 1, "a value is needed"),
        (b"[]", 1, 1, "an object is needed"),
        (b"{}", 1, 1, "`version` is missing"),
        (b'{"version": 1}', 1, 1, "`entries` is missing"),
        (b'{"version": 1, "entries": []}', 1, 27, "an object is needed"),
        (b'{"version": 1, "entries": {}, "updatedAt": 1}', 1, 31, "unknown key"),
        (b"\xff\xfe{}", 1, 1, "not UTF-8"),
        (b"[" * 60, 1, 51, "nested deeper"),
    ],
)
def test_a_file_that_is_cut_or_damaged_is_an_error_with_its_place(content, line, column, fact):
    with pytest.raises(LockfileInvalidError) as caught:
        parse(content, FILE)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    assert fact in error.message
    assert str(FILE) in error.message
    assert error.hint


@pytest.mark.parametrize("version", [0, 2, -1, "1", 1.0, True, None])
def test_another_version_of_the_format_is_an_error(version):
    with pytest.raises(LockfileVersionError) as caught:
        parse(text(version=version), FILE)
    assert caught.value.code == "lockfile_version"
    assert ("newer" in (caught.value.hint or "")) is (version == 2)


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (one(integrity=None), "`integrity` is missing"),
        (one(fetchedAt=None), "`fetchedAt` is missing"),
        (one(approved=True), "unknown key"),
        (one(integrity="sha256-a7f3"), "64 hexadecimal"),
        (one(integrity="tool:a7f3"), "64 hexadecimal"),
        (one(integrity=HASH.upper()), "64 hexadecimal"),
        (one(integrity=3), "a string is needed"),
        (one(fetchedAt="yesterday"), "not a time"),
        (one(fetchedAt="2026-13-07T12:00:00Z"), "not a time"),
        (one(fetchedAt="2026-01-07T12:00:00+02:00"), "not a time"),
        (one(type="wasm"), "a type is one of"),
        (one(routing="edge"), "not `client`"),
        (one(metadata="x"), "64 hexadecimal"),
        (one(package="npm:x"), "not a package"),
        (one(package="npm:x@1 --registry=y"), "not a package"),
        (one(definitions=[]), "an object is needed"),
        (one(definitions={"": HASH}), "1 to 128"),
        (one(definitions={"x" * 129: HASH}), "1 to 128"),
        (one(definitions={"x": "y"}), "64 hexadecimal"),
        (one(permissions="*"), "a list is needed"),
        (one(permissions=["*"]), "`server:tool`"),
        (one(url="ftp://x"), "not an address"),
        (one(url="http://registry.example"), "https://"),
        (text({NAME: []}), "an object is needed"),
        (text({"fs:read_json": ENTRY}), "no name in a registry"),
        (text({"casys.pml.fs.read_json": ENTRY}), "hash in this name"),
        (text({"casys.pml.fs.read_json.b2c4": ENTRY}), "hash in this name"),
        (text({NAME: ENTRY, "casys.pml.fs.read_json.b2c4": ENTRY | {"integrity": "sha256-b2c4" + "0" * 60}}), "locked twice"),
    ],
)  # fmt: skip
def test_an_entry_that_is_not_what_pml_writes_is_an_error(content, fact):
    with pytest.raises(LockfileInvalidError) as caught:
        parse(content, FILE)
    assert fact in caught.value.message


def test_two_entries_that_were_exchanged_do_not_pass():
    """Attack: two good entries under each other's names."""
    other = ENTRY | {"integrity": "sha256-b2c4" + "0" * 60}
    with pytest.raises(LockfileInvalidError):
        parse(text({NAME: other, "a.b.c.d.b2c4": ENTRY}), FILE)


def test_a_name_that_would_obey_the_terminal_is_shown_escaped():
    with pytest.raises(LockfileInvalidError) as caught:
        parse(text({"\x1b[31m\u202eevil": ENTRY}), FILE)
    assert "\x1b" not in caught.value.message
    assert "\u202e" not in caught.value.message


GOOD = (
    Lockfile()
    .add(name("casys.pml.fs.read_json"), entry(definitions={"x": HASH}, permissions=("fs:read",)))
    .content()
)


@given(st.integers(0, len(GOOD) - 2))
def test_a_file_cut_short_anywhere_is_an_error(length):
    with pytest.raises(LockfileInvalidError):
        parse(GOOD[:length], FILE)
