"""What `.pml.json` may say: every rule with the place, the class and the next step."""

import json
from typing import Any

import pytest

from pml.config import ConfigError, Permissions, SeveralConfigErrors
from pml.config.errors import (
    ConfigSyntaxError,
    DuplicateKeyError,
    InvalidValueError,
    MissingKeyError,
    TwoSpellingsError,
    UnknownKeyError,
    UnusableJsonError,
    WrongTypeError,
)

from .conftest import Folder


def server(**keys: Any) -> str:
    return json.dumps({"mcpServers": {"s": keys}})


def sandbox(**keys: Any) -> str:
    return server(command="c", sandbox=keys)


def place(error: ConfigError) -> tuple[int | None, int | None]:
    return error.line, error.column


def test_all_errors_are_told_at_once_in_the_order_of_the_file(folder: Folder) -> None:
    text = """{
  "limits": {"idleSeconds": "long"},
  "permisions": {},
  "mcpServers": {
    "github": {
      "command": "npx",
      "args": ["-y", 5],
      "env": {"A": "1", "A": "2"},
      "sandbox": {"net": ["https://x"], "limits": {"procs": NaN}}
    },
    "old": {"type": "sse", "url": "https://example.com/sse"}
  },
  "expose": [null]
}"""
    errors = folder.errors(text)
    assert [(place(error), type(error)) for error in errors] == [
        ((2, 29), WrongTypeError),
        ((3, 3), UnknownKeyError),
        ((7, 22), WrongTypeError),
        ((8, 25), DuplicateKeyError),
        ((9, 27), InvalidValueError),
        ((9, 61), UnusableJsonError),
        ((11, 21), InvalidValueError),
        ((13, 14), WrongTypeError),
    ]
    assert [error.message.split("`")[1] for error in errors] == [
        "limits.idleSeconds", "permisions", "mcpServers.github.args[1]", "mcpServers.github.env.A",
        "mcpServers.github.sandbox.net[0]", "mcpServers.github.sandbox.limits.procs",
        "mcpServers.old.type", "expose[0]",
    ]  # fmt: skip


def test_several_errors_are_one_exception_with_the_first_place(folder: Folder) -> None:
    with pytest.raises(SeveralConfigErrors) as caught:
        folder.load('{"a": 1,\n "b": 2}')
    assert place(caught.value) == (1, 2)
    assert caught.value.message.count("unknown key") == 2
    assert f"{folder.file}:2:2: `b`: unknown key" in caught.value.message


def test_of_very_many_errors_the_message_shows_the_first(folder: Folder) -> None:
    with pytest.raises(SeveralConfigErrors, match="and 10 more$"):
        folder.load(json.dumps({f"k{n}": 1 for n in range(30)}))


@pytest.mark.parametrize("text", ["[]", '"x"', "1", "null", "true"])
def test_the_file_is_an_object(folder: Folder, text: str) -> None:
    error = folder.error(text)
    assert isinstance(error, WrongTypeError)
    assert place(error) == (1, 1)


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ('{"permissions": []}', "permissions", "an object is needed, not a list"),
        ('{"permissions": {"allow": "x"}}', "permissions.allow", "a list is needed, not a string"),
        ('{"env": {"A": 1}}', "env.A", "a string is needed, not a number"),
        ('{"version": "1"}', "version", "a whole number is needed, not a string"),
        ('{"version": true}', "version", "a whole number is needed, not true or false"),
        ('{"version": 1.0}', "version", "a whole number is needed, not a number"),
        ('{"limits": {"memoryMb": 64.5}}', "limits.memoryMb", "a whole number is needed"),
        ('{"limits": {"cpuSeconds": true}}', "limits.cpuSeconds", "a number is needed"),
        ('{"mcpServers": []}', "mcpServers", "an object is needed, not a list"),
        ('{"mcpServers": {"s": "npx"}}', "mcpServers.s", "an object is needed, not a string"),
        ('{"cloud": null}', "cloud", "a value is needed, not null"),
        ('{"$schema": 1}', "$schema", "a string is needed"),
        (sandbox(spawn="yes"), "mcpServers.s.sandbox.spawn", "true or false is needed"),
        (sandbox(net="x"), "mcpServers.s.sandbox.net", "true, false or a list of hosts is needed"),
        (sandbox(net=[1]), "mcpServers.s.sandbox.net[0]", "a string is needed, not a number"),
        (sandbox(fs_read=[1]), "mcpServers.s.sandbox.fs_read[0]", "a string is needed"),
        (sandbox(fsRead={}), "mcpServers.s.sandbox.fsRead", "a list is needed, not an object"),
    ],
)
def test_wrong_types(folder: Folder, text: str, path: str, words: str) -> None:
    error = folder.error(text)
    assert isinstance(error, WrongTypeError)
    assert f"`{path}`: {words}" in error.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{"permision": {}}', "did you mean `permissions`?"),
        ('{"mcpservers": {}}', "did you mean `mcpServers`?"),
        ('{"mcp_server": {}}', "did you mean `mcpServers`?"),
        ('{"limits": {"callTimeout": 1}}', "did you mean `callTimeoutSeconds`?"),
        ('{"limits": {"zzz": 1}}', "known here: callTimeoutSeconds, cpuSeconds"),
        ('{"apiKey": "x"}', "it is `cloud.apiKey`"),
        (server(command="x", cwd="/"), "servers run in the workspace"),
        (server(url="https://x", sandbox={}), "a remote server runs elsewhere"),
        (sandbox(limits={"memoryMB": 1}), "did you mean `memoryMb`?"),
        ('{"' + "k" * 100_000 + '": 1}', "known here"),
    ],
)
def test_unknown_keys_have_a_next_step(folder: Folder, text: str, hint: str) -> None:
    error = folder.error(text)
    assert isinstance(error, UnknownKeyError)
    assert hint in (error.hint or "")
    assert len(error.message) < 500


def test_an_unknown_key_is_told_at_the_key_not_at_the_value(folder: Folder) -> None:
    assert place(folder.error('{\n  "version": 1,\n    "wat" :\n 5}')) == (3, 5)


def test_a_key_cannot_disturb_a_terminal(folder: Folder) -> None:
    message = folder.error('{"\\u001b[31m\\u202e": 1}').message
    assert message.isprintable()
    assert '["\\u{1b}[31m\\u{202e}"]' in message


@pytest.mark.parametrize(
    "text",
    [
        sandbox(fsRead=[], fs_read=[]),
        sandbox(fs_read=[], fsRead=[]),
        '{"mcpServers": {}, "mcp_servers": {}}',
        '{"limits": {"memory_mb": 64, "memoryMb": 64}}',
    ],
)
def test_both_spellings_of_a_key_are_one_too_many(folder: Folder, text: str) -> None:
    assert isinstance(folder.error(text), TwoSpellingsError)


def test_snake_case_is_read_everywhere(folder: Folder) -> None:
    text = """{
      "mcp_servers": {"a": {"command": "c", "sandbox": {"fs_read": ["x"], "fs_write": ["y"],
        "limits": {"memory_mb": 16, "open_files": 16}}}},
      "private_mcps": {"b": {"type": "stdio",
        "install": {"command": "c", "env_required": ["KEY"]}, "tools": ["b:t"]}},
      "cloud": {"url": "https://x", "api_key": "k"},
      "limits": {"call_timeout_seconds": 1, "start_timeout_seconds": 2, "idle_seconds": 3,
        "wall_seconds": 4, "cpu_seconds": 5, "memory_mb": 6}}"""
    snake = folder.load(text, KEY="k")
    keys = ("mcp_servers fs_read fs_write memory_mb open_files private_mcps env_required api_key"
            " call_timeout_seconds start_timeout_seconds idle_seconds wall_seconds cpu_seconds")  # fmt: skip
    for key in keys.split():
        first, *rest = key.split("_")
        text = text.replace(key, first + "".join(word.title() for word in rest))
    assert "_" not in text
    assert folder.load(text, KEY="k") == snake
    assert (snake.limits.idle_seconds, snake.limits.memory_mb) == (3, 6)


@pytest.mark.parametrize("number", [0, 2, -1])
def test_another_version_is_refused(folder: Folder, number: int) -> None:
    assert "version 1" in folder.error(json.dumps({"version": number})).message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("callTimeoutSeconds", 0), ("callTimeoutSeconds", -1), ("idleSeconds", 86_401),
        ("wallSeconds", 0), ("cpuSeconds", 0), ("memoryMb", 3), ("memoryMb", 4097),
    ],
)  # fmt: skip
def test_limits_that_cannot_work_are_refused(folder: Folder, key: str, value: float) -> None:
    error = folder.error(json.dumps({"limits": {key: value}}))
    assert isinstance(error, InvalidValueError)
    assert "must be " in error.fact


@pytest.mark.parametrize(
    "pattern",
    ["*", "github", "github:*", "github:get_issue", "filesystem:read_*", "git*:?et", "a:b/c.d-e"],
)
def test_patterns(folder: Folder, pattern: str) -> None:
    for key in ("allow", "ask", "deny"):
        config = folder.load(json.dumps({"permissions": {key: [pattern]}}))
        assert getattr(config.permissions, key) == (pattern,)


@pytest.mark.parametrize(
    "pattern",
    ["", ":", "a:", ":b", "a:b:c", "a b", "github.get_issue", "github__get_issue", "mcp__a__b",
     "a:[bc]", "a:{b}", "é:x", "a:b\n", "x" * 65],
)  # fmt: skip
def test_a_pattern_that_would_silently_match_nothing_is_refused(
    folder: Folder, pattern: str
) -> None:
    error = folder.error(json.dumps({"permissions": {"deny": ["ok", pattern]}}))
    assert isinstance(error, InvalidValueError)
    assert error.spot.path == ("permissions", "deny", 1)


@pytest.mark.parametrize("name", ["github.get", "a:b c", "", "github__get"])
def test_what_is_no_pattern_of_tools_cannot_be_exposed(folder: Folder, name: str) -> None:
    assert isinstance(folder.error(json.dumps({"expose": [name]})), InvalidValueError)


def test_tools_are_exposed_by_pattern(folder: Folder) -> None:
    assert folder.load('{"expose": ["github:get_*", "time"]}').expose == ("github:get_*", "time")


@pytest.mark.parametrize(
    ("given", "chosen"),
    [("true", None), ("false", ()), ('["shell", "json"]', ("json", "shell")), ("[]", ())],
)
def test_built_ins_can_be_chosen(folder: Folder, given: str, chosen: object) -> None:
    assert folder.load(f'{{"builtins": {given}}}').builtins == chosen


def test_an_unknown_built_in_is_an_error_with_its_place(folder: Folder) -> None:
    error = folder.error('{"builtins": ["json", "jason"]}')
    assert error.spot.path == ("builtins", 1)
    assert "there are filesystem, json" in str(error.hint)


@pytest.mark.parametrize(
    "address",
    ["x", "ftp://x", "http://example.com", "https://", "https://u:p@x", "https://a b", "//x",
     "https://x:99999", "https://[::1", "https://é", "file:///etc/passwd"],
)  # fmt: skip
def test_registries_and_the_cloud_need_a_safe_address(folder: Folder, address: str) -> None:
    text = json.dumps({"registries": [address], "cloud": {"url": address}})
    assert [error.spot.path for error in folder.errors(text)] == [
        ("registries", 0), ("cloud", "url"),
    ]  # fmt: skip


def test_this_machine_needs_no_tls(folder: Folder) -> None:
    addresses = ["http://localhost:8080/r", "http://127.0.0.1", "http://[::1]:1/", "https://x.y/z"]
    assert folder.load(json.dumps({"registries": addresses})).registries == tuple(addresses)


def test_a_workspace_file_cannot_let_the_model_approve(folder: Folder) -> None:
    # attack: a server writes `"approvals": "model"` into the workspace
    error = folder.error('{"approvals": "model"}')
    assert "only your own file" in error.message
    assert "config.json" in (error.hint or "")
    assert folder.load('{"approvals": "human"}').approvals == "human"


@pytest.mark.parametrize("level", ["full", "landlock", "partial"])
def test_levels(folder: Folder, level: str) -> None:
    assert folder.load(json.dumps({"sandbox": {"require": level}})).require == level


@pytest.mark.parametrize(
    "text", ['{"sandbox": {"require": "off"}}', sandbox(require="off"), sandbox(mode="maybe")]
)
def test_other_levels_and_modes_are_refused(folder: Folder, text: str) -> None:
    assert "must be `" in folder.error(text).message


def test_missing_keys_are_told_at_the_object_that_lacks_them(folder: Folder) -> None:
    error = folder.error('{\n "cloud":\n  {}}')
    assert isinstance(error, MissingKeyError)
    assert place(error) == (3, 3)
    assert "`url` is missing" in error.message


@pytest.mark.parametrize("workspace", ["..", "/", "/etc", "nowhere", "link", "file", ""])
def test_the_file_cannot_widen_the_workspace(folder: Folder, workspace: str) -> None:
    (folder.path / "link").symlink_to(folder.home)
    (folder.path / "file").touch()
    error = folder.error(json.dumps({"version": 1, "workspace": workspace}))
    assert error.spot.path == ("workspace",)


def test_the_file_can_narrow_the_workspace(folder: Folder) -> None:
    (folder.path / "src").mkdir()
    config = folder.load(
        '{"workspace": "src", "mcpServers": {"s": {"command": "c", "args": ["${workspace}"]}}}'
    )
    assert config.workspace == folder.path / "src"
    assert config.servers[0].args == (str(folder.path / "src"),)  # type: ignore[union-attr]
    assert folder.load('{"workspace": "."}').workspace == folder.path


def test_comments_are_no_json(folder: Folder) -> None:
    error = folder.error('{\n  // mine\n  "version": 1\n}')
    assert isinstance(error, ConfigSyntaxError)
    assert place(error) == (2, 3)


def test_each_rule_knows_where_it_stands(folder: Folder) -> None:
    text = """{
  "permissions": {
    "deny": ["github:delete_*",
             "shell"],
    "allow": ["shell", "github", "shell"]
  }
}"""
    permissions = folder.load(text).permissions
    found = {key: (spot.line, spot.column) for key, spot in permissions.places.items()}
    assert found == {
        ("deny", "github:delete_*"): (3, 14),
        ("deny", "shell"): (4, 14),
        ("allow", "shell"): (5, 15),  # the first of two
        ("allow", "github"): (5, 24),
    }
    assert all(spot.file == folder.file for spot in permissions.places.values())


def test_where_rules_stand_is_no_part_of_what_they_say(folder: Folder) -> None:
    one = folder.load('{"permissions": {"allow": ["a"]}}').permissions
    assert one == folder.load('{\n\n"permissions": {"allow": ["a"]}}').permissions
    assert hash(one) == hash(Permissions(allow=("a",)))
