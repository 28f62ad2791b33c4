"""Names of a registry, tool ids, names in code: every way between them and back."""

import contextlib
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.fqdn import (
    Fqdn,
    FqdnInvalidError,
    IntegrityInvalidError,
    ToolNameInvalidError,
    checked_integrity,
    code_to_tool_id,
    content_hash,
    integrity_of,
    short_hash,
    split_tool_id,
    tool_id_to_code,
)

PART = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
NAMESPACE = PART.filter(lambda text: "__" not in text)
HASH = st.from_regex(r"[0-9a-f]{4}", fullmatch=True)
TOOL = st.from_regex(r"[A-Za-z0-9_./-]{1,128}", fullmatch=True)
NAMES = st.builds(Fqdn, PART, PART, NAMESPACE, PART, st.none() | HASH)


# --- the examples of the stories -------------------------------------------------------------------


def test_a_name_of_five_parts_is_read():
    name = Fqdn.parse("casys.pml.fs.read_json.a7f3")
    assert (name.org, name.project, name.namespace, name.action) == (
        "casys",
        "pml",
        "fs",
        "read_json",
    )
    assert name.hash == "a7f3"
    assert name.base == "casys.pml.fs.read_json"
    assert str(name) == "casys.pml.fs.read_json.a7f3"


def test_a_name_of_four_parts_means_the_current_version():
    name = Fqdn.parse("casys.pml.filesystem.read_file")
    assert name.hash is None
    assert str(name) == name.base == "casys.pml.filesystem.read_file"


def test_a_registry_name_becomes_a_tool_id_and_a_name_in_code():
    name = Fqdn.parse("casys.pml.filesystem.read_file")
    assert name.tool_id == "filesystem:read_file"
    assert name.code_name == "mcp.filesystem.read_file"
    assert code_to_tool_id("mcp.filesystem.read_file()") == "filesystem:read_file"


def test_a_name_that_javascript_cannot_write_with_a_dot_stands_in_brackets():
    assert tool_id_to_code("internal-db:query") == 'mcp["internal-db"].query'
    assert tool_id_to_code("a:b.c/d") == 'mcp.a["b.c/d"]'
    assert tool_id_to_code("1st:2nd") == 'mcp["1st"]["2nd"]'


def test_the_names_of_built_ins_servers_and_projects():
    assert Fqdn.of_standard("filesystem", "read_file").base == "pml.std.filesystem.read_file"
    server = Fqdn.of_server("serena")
    assert server.base == "pml.mcp.serena.server"
    assert server.is_server
    assert not Fqdn.of_standard("filesystem", "server").is_server
    assert Fqdn.of_tool("fs:read_json", "casys", "pml").base == "casys.pml.fs.read_json"


def test_the_hash_in_a_name_is_the_beginning_of_the_sha256_of_the_content():
    content = b"export const run = () => 1\n"
    whole = hashlib.sha256(content).hexdigest()
    assert content_hash(content) == whole
    assert integrity_of(content) == f"sha256-{whole}"
    name = Fqdn.of_standard("a", "b").with_hash(content_hash(content))
    assert name.hash == whole[:4]
    assert name.fits(integrity_of(content))
    assert not name.fits(integrity_of(content + b" "))
    assert name.without_hash().fits(integrity_of(content + b" "))


def test_what_a_stranger_asks_for_may_have_a_hash_that_is_none():
    name, stated = Fqdn.split("pml.std.filesystem.read_file.xxxx")
    assert (name.base, stated) == ("pml.std.filesystem.read_file", "xxxx")
    assert Fqdn.split("a.b.c.d") == (Fqdn("a", "b", "c", "d"), None)
    with pytest.raises(FqdnInvalidError):
        Fqdn.split("a.b.c.d.<script>")


# --- what is no name -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "1 parts"),
        ("a.b.c", "3 parts"),
        ("a.b.c.d.abcd.e", "6 parts"),
        ("a..c.d", "project"),
        ("a.b.c.", "action"),
        ("a.b.c:x.d", "namespace"),
        ("a.b.my__server.d", "`__`"),
        ("a.b.c.d.ABCD", "hash"),
        ("a.b.c.d.abc", "hash"),
        ("a.b.c.d.abcde", "hash"),
        ("a.b.c.d.xxxx", "hash"),
        ("a.b.c.d\n", "action"),
        ("../b.c.d", "org"),
        ("é.b.c.d", "org"),
        (f"{'a' * 65}.b.c.d", "org"),
        (f"a.b.c.{'d' * 129}", "action"),
    ],
)
def test_what_is_no_name_is_refused_with_the_reason(text, reason):
    with pytest.raises(FqdnInvalidError) as caught:
        Fqdn.parse(text)
    assert reason in caught.value.message
    assert caught.value.code == "fqdn_invalid"


def test_a_name_that_would_obey_the_terminal_is_shown_escaped_and_cut():
    with pytest.raises(FqdnInvalidError) as caught:
        Fqdn.parse("\x1b[31m\u202e" + "x" * 5000)
    assert "\x1b" not in caught.value.message
    assert "\u202e" not in caught.value.message
    assert len(caught.value.message) < 400


def test_a_name_cannot_be_built_around_the_check():
    with pytest.raises(FqdnInvalidError):
        Fqdn("a", "b", "c", "../../etc")
    with pytest.raises(FqdnInvalidError):
        Fqdn("a", "b", "c", "d").with_hash("ZZZZ")


@pytest.mark.parametrize(
    "text", ["", "a", ":b", "a:", "a b:c", "mcp.a", "mcp.a.b.c", 'mcp["a"', "mcp.a.b(1)", "x.a.b"]
)
def test_what_names_no_tool_is_refused(text):
    with pytest.raises(ToolNameInvalidError):
        code_to_tool_id(text)
    with pytest.raises(ToolNameInvalidError):
        split_tool_id(text)


@pytest.mark.parametrize(
    "text",
    ["", "sha256-", "sha256-" + "a" * 63, "sha256-" + "A" * 64, "sha512-" + "a" * 64, "a" * 64],
)
def test_what_is_no_whole_hash_is_refused(text):
    with pytest.raises(IntegrityInvalidError):
        checked_integrity(text)
    with pytest.raises(IntegrityInvalidError):
        short_hash(text)


# --- for all names ---------------------------------------------------------------------------------


@given(NAMES)
def test_a_name_written_and_read_is_the_same(name):
    assert Fqdn.parse(str(name)) == name
    assert Fqdn.split(str(name)) == (name.without_hash(), name.hash)
    assert Fqdn.parse(name.base) == name.without_hash()


@given(NAMESPACE, TOOL)
def test_a_tool_id_goes_to_code_and_back(server, tool):
    tool_id = f"{server}:{tool}"
    assert code_to_tool_id(tool_id_to_code(tool_id)) == tool_id
    assert split_tool_id(tool_id) == (server, tool)


@given(NAMES)
def test_a_name_and_its_tool_id_name_the_same_tool(name):
    assert Fqdn.of_tool(name.tool_id, name.org, name.project) == name.without_hash()
    assert code_to_tool_id(name.code_name) == name.tool_id


@given(st.text(max_size=80))
def test_any_text_is_refused_or_is_the_name_that_it_says(text):
    with contextlib.suppress(FqdnInvalidError):
        assert str(Fqdn.parse(text)) == text


@given(st.binary(max_size=200), NAMES)
def test_content_fits_only_names_with_the_beginning_of_its_hash(content, name):
    assert name.fits(integrity_of(content)) is (name.hash in (None, content_hash(content)[:4]))
