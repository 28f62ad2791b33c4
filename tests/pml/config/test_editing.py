"""Always: one rule is added, every other byte stays."""

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.config import ConfigError, load_config
from pml.config.editing import allow_always, with_allowed, write_whole

TOOL = "github:create_issue"

CASES = {
    "{}": '{"permissions": {"allow": ["github:create_issue"]}}',
    "{}\n": '{"permissions": {"allow": ["github:create_issue"]}}\n',
    '{"version":1}': '{"version":1,"permissions":{"allow":["github:create_issue"]}}',
    '{"permissions": {}}': '{"permissions": {"allow": ["github:create_issue"]}}',
    '{"permissions": {"allow": []}}': '{"permissions": {"allow": ["github:create_issue"]}}',
    '{"permissions": {"allow": ["a:b"]}}': '{"permissions": {"allow": ["a:b", "github:create_issue"]}}',
    '{"permissions":{"allow":["a:b"]}}': '{"permissions":{"allow":["a:b","github:create_issue"]}}',
    '{"permissions": {"allow": ["a:b","c:d"]}}': '{"permissions": {"allow": ["a:b","c:d","github:create_issue"]}}',
    '{\n  "version": 1\n}\n': '{\n  "version": 1,\n  "permissions": {\n    "allow": ["github:create_issue"]\n  }\n}\n',
    '{\r\n\t"version": 1\r\n}': '{\r\n\t"version": 1,\r\n\t"permissions": {\r\n\t\t"allow": ["github:create_issue"]\r\n\t}\r\n}',
    '{\n  "permissions": {\n    "deny": ["*"]\n  }\n}': '{\n  "permissions": {\n    "deny": ["*"],\n    "allow": ["github:create_issue"]\n  }\n}',
    '{\n  "permissions": {\n    "allow": [\n      "a:b"\n    ]\n  }\n}': (
        '{\n  "permissions": {\n    "allow": [\n      "a:b",\n      "github:create_issue"\n    ]\n  }\n}'
    ),
    '{\n  "permissions": {\n    "allow": [\n    ]\n  }\n}': (
        '{\n  "permissions": {\n    "allow": [\n      "github:create_issue"\n    ]\n  }\n}'
    ),
    '{\n}\n': '{\n  "permissions": {"allow": ["github:create_issue"]}\n}\n',
}  # fmt: skip


@pytest.mark.parametrize("before", CASES)
def test_the_rule_is_written_in_the_style_of_the_file(before: str) -> None:
    assert with_allowed(before, TOOL) == CASES[before]


def test_a_rule_that_is_there_changes_nothing() -> None:
    text = '{"permissions": {"allow": ["github:\\u0063reate_issue"]}}'
    assert with_allowed(text, TOOL) == text


@pytest.mark.parametrize("tool", ["*", "github", "github:*", "git?:a", "github:", "a:b:c", 'a:b"'])
def test_only_one_exact_tool_is_ever_added(tool: str) -> None:
    """Attack: a server names a tool `*`; Always would allow all that it has."""
    with pytest.raises(ConfigError):
        with_allowed("{}", tool)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"permissions": []}', '{"permissions": {"allow": "*"}}', '{"a": 1, "a": 2}', "\ufeff{}"],
)  # fmt: skip
def test_a_file_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        with_allowed(text, TOOL)


# --- any file --------------------------------------------------------------------------------------

space = st.text(" \t\n\r", max_size=4)
words = st.text('ab:*é\U0001f600"\\[]{}, \n', max_size=6)


@st.composite
def written(draw: st.DrawFn, value: object) -> str:
    """Some way to write a value as JSON."""

    def between() -> str:
        return draw(space)

    if isinstance(value, dict):
        parts = [
            f"{between()}{json.dumps(k)}{between()}:{between()}{draw(written(v))}{between()}"
            for k, v in value.items()
        ]
        return "{" + (",".join(parts) or between()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(f"{between()}{draw(written(v))}{between()}" for v in value) or between()) + "]"  # fmt: skip
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


rules = st.lists(words | st.just(TOOL), max_size=4)
others = st.dictionaries(
    words, st.integers() | words | st.lists(words, max_size=2) | st.dictionaries(words, words, max_size=2), max_size=3
)  # fmt: skip


@st.composite
def files(draw: st.DrawFn) -> str:
    value: dict[str, object] = dict(draw(others))
    if draw(st.booleans()):
        inner: dict[str, object] = dict(draw(others))
        inner.pop("allow", None)
        if draw(st.booleans()):
            inner["allow"] = draw(rules)
        value["permissions"] = dict(draw(st.permutations(list(inner.items()))))
    ordered = dict(draw(st.permutations(list(value.items()))))
    return draw(space) + draw(written(ordered)) + draw(space)


@given(files())
def test_only_the_rule_is_added_and_the_rest_stays_byte_for_byte(text: str) -> None:
    after = with_allowed(text, TOOL)
    expected = json.loads(text)
    allow = expected.setdefault("permissions", {}).setdefault("allow", [])
    if TOOL in allow:
        assert after == text
    else:
        allow.append(TOOL)
    assert json.loads(after) == expected
    assert list(json.loads(after)) == list(expected)  # the order of keys too
    added = len(after) - len(text)
    assert any(after[:at] + after[at + added :] == text for at in range(len(text) + 1))
    assert with_allowed(after, TOOL) == after


# --- the file itself -------------------------------------------------------------------------------


def test_the_file_keeps_its_mode_and_no_temporary_file_is_left(tmp_path: Path) -> None:
    file = tmp_path / ".pml.json"
    file.write_bytes(b"{}\r\n")
    file.chmod(0o640)
    allow_always(file, TOOL, b"{}\r\n")
    assert file.read_bytes() == b'{"permissions": {"allow": ["github:create_issue"]}}\r\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [one.name for one in tmp_path.iterdir()] == [".pml.json"]
    assert load_config(tmp_path, {}, tmp_path / "home").permissions.allow == (TOOL,)


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    allow_always(tmp_path / ".pml.json", TOOL, None)
    assert json.loads((tmp_path / ".pml.json").read_text()) == {"permissions": {"allow": [TOOL]}}


@pytest.mark.parametrize(
    ("found", "expected"), [("{ }", b"{}"), ("{}x", b"{}"), ("", b"{}"), ("{}", None), (None, b"{}")]
)  # fmt: skip
def test_a_file_that_changed_meanwhile_is_left_alone(
    tmp_path: Path, found: str | None, expected: bytes | None
) -> None:
    file = tmp_path / ".pml.json"
    if found is not None:
        file.write_text(found)
    with pytest.raises(ConfigError) as caught:
        allow_always(file, TOOL, expected)
    assert caught.value.code == "config_changed"
    assert (file.read_text() if file.exists() else None) == found
    assert not list(tmp_path.glob("..*"))


def test_a_link_is_refused_and_its_target_untouched(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.json"
    target.write_text("{}")
    (tmp_path / ".pml.json").symlink_to(target)
    with pytest.raises(ConfigError) as caught:
        allow_always(tmp_path / ".pml.json", TOOL, b"{}")
    assert caught.value.code == "config_not_editable"
    assert target.read_text() == "{}"


def test_a_pipe_in_place_of_the_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".pml.json")
    with pytest.raises(ConfigError) as caught:
        allow_always(tmp_path / ".pml.json", TOOL, b"{}")
    assert caught.value.code == "config_not_editable"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    if os.getuid() == 0:
        pytest.skip("root may write everywhere")
    file = tmp_path / ".pml.json"
    file.write_text("{}")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ConfigError) as caught:
            allow_always(file, TOOL, b"{}")
    finally:
        tmp_path.chmod(0o700)
    assert caught.value.code == "config_not_editable"
    assert file.read_text() == "{}"


def test_a_new_file_is_never_put_over_another(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "file", b"other", 0o600, new=True)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
