"""Which files are read, and that nothing but a `ConfigError` comes of any bytes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.config import (
    Config,
    ConfigError,
    LimitsConfig,
    MissingVariablesError,
    load_config,
    shapes,
)
from pml.config.errors import ConfigNotTextError, ConfigTooLargeError, ConfigUnreadableError
from pml.config.loading import MOST_BYTES
from pml.config.parsing import Surroundings, parse_approvals, parse_config

from .conftest import Folder

ROOT = Path(__file__).parents[3]
KEYS = st.sampled_from(
    ["version", "workspace", "cloud", "permissions", "mcpServers", "privateMcps", "registries",
     "env", "limits", "expose", "approvals", "sandbox", "command", "args", "url", "headers",
     "type", "install", "tools", "net", "fsRead", "fs_read", "mode", "allow", "memoryMb",
     "$schema", "a", "bool", "list", "[key]", ""]
)  # fmt: skip
LEAVES = (
    st.none() | st.booleans() | st.integers(-5, 5000) | st.floats() | st.text(max_size=8)
    | st.sampled_from(["${A}", "${", "stdio", "http", "sse", "~/x", "a:b", "https://x", "on"])
)  # fmt: skip
LIKELY = st.dictionaries(
    KEYS,
    st.recursive(LEAVES, lambda x: st.lists(x, max_size=3) | st.dictionaries(KEYS, x, max_size=4)),
    max_size=5,
)


def test_without_files_there_are_the_defaults(folder: Folder) -> None:
    config = folder.load()
    assert config == Config()
    assert (config.path, config.servers, config.require) == (None, (), "landlock")
    assert config.limits == LimitsConfig(60, 30, 300, None, None, None)
    assert (config.approvals, config.permissions.allow) == ("human", ())


def test_an_empty_object_has_the_defaults_too(folder: Folder) -> None:
    config = folder.load("{}")
    assert config == Config(path=folder.file)


def test_pydantic_is_imported_only_when_there_is_a_file(folder: Folder) -> None:
    code = (
        "import sys; from pathlib import Path; from pml.config import load_config;"
        "load_config(Path(sys.argv[1]), {}, Path(sys.argv[1])); print('pydantic' in sys.modules)"
    )
    for content, expected in ((None, "False"), ("{}", "True")):
        if content:
            folder.file.write_text(content)
        ran = subprocess.run(
            [sys.executable, "-c", code, str(folder.path)],
            capture_output=True, text=True, check=True, env=os.environ,
        )  # fmt: skip
        assert ran.stdout.strip() == expected


def test_a_link_that_leads_nowhere_is_not_the_default(folder: Folder) -> None:
    folder.file.symlink_to("nowhere")
    with pytest.raises(ConfigUnreadableError, match="No such file"):
        folder.load()


def test_a_folder_is_no_file(folder: Folder) -> None:
    folder.file.mkdir()
    with pytest.raises(ConfigUnreadableError, match="it is no file"):
        folder.load()


def test_a_named_pipe_does_not_make_us_wait(folder: Folder) -> None:
    # attack: a server replaces the file by a pipe that nobody writes to
    os.mkfifo(folder.file)
    with pytest.raises(ConfigUnreadableError, match="it is no file"):
        folder.load()


def test_an_endless_file_is_not_read_to_its_end(folder: Folder) -> None:
    with folder.file.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(ConfigTooLargeError, match="larger than 1 MiB"):
        folder.load()


def test_a_file_may_be_as_large_as_the_bound(folder: Folder) -> None:
    assert folder.load(b"{}".ljust(MOST_BYTES)).path == folder.file


def test_no_descriptor_is_left_open(folder: Folder) -> None:
    folder.file.mkdir()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with pytest.raises(ConfigError):
            folder.load()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_text_that_is_not_utf8_is_told_where(folder: Folder) -> None:
    error = folder.error('{\n "é": "'.encode() + b"\xff")
    assert isinstance(error, ConfigNotTextError)
    assert (error.line, error.column) == (2, 8)


def test_a_byte_order_mark_is_refused(folder: Folder) -> None:
    assert "byte order mark" in folder.error(b"\xef\xbb\xbf{}").message


def test_schema_is_for_editors(folder: Folder) -> None:
    assert folder.load('{"$schema": "https://x"}') == Config(path=folder.file)


def test_the_user_may_let_the_model_approve(folder: Folder) -> None:
    own = folder.home / ".config" / "pml" / "config.json"
    own.parent.mkdir(parents=True)
    own.write_text('{"approvals": "model"}')
    assert folder.load().approvals == "model"
    assert folder.load("{}").approvals == "model"
    assert folder.load('{"approvals": "human"}').approvals == "human"


def test_the_users_file_moves_with_xdg_config_home(folder: Folder, tmp_path: Path) -> None:
    own = tmp_path / "xdg" / "pml" / "config.json"
    own.parent.mkdir(parents=True)
    own.write_text('{"approvals": "model"}')
    assert folder.load("{}", XDG_CONFIG_HOME=str(tmp_path / "xdg")).approvals == "model"
    assert folder.load("{}", XDG_CONFIG_HOME="xdg").approvals == "human"


def test_a_broken_users_file_is_as_loud(folder: Folder) -> None:
    own = folder.home / ".config" / "pml" / "config.json"
    own.parent.mkdir(parents=True)
    own.write_text('{"approvals": "nobody", "mcpServers": {}}')
    with pytest.raises(ConfigError) as caught:
        folder.load()
    assert [error.spot.path for error in caught.value.errors] == [("approvals",), ("mcpServers",)]
    assert all(error.spot.file == own for error in caught.value.errors)


def test_a_missing_cloud_key_stops_nothing_local(folder: Folder) -> None:
    text = '{"cloud": {"url": "https://x", "apiKey": "${PML_API_KEY}"}}'
    cloud = folder.load(text).cloud
    assert cloud is not None
    assert (cloud.url, cloud.api_key) == ("https://x", None)
    assert isinstance(cloud.problem, MissingVariablesError)
    assert "the cloud requires PML_API_KEY" in cloud.problem.message
    there = folder.load(text, PML_API_KEY="k").cloud
    assert there is not None
    assert (there.api_key, there.problem) == ("k", None)


def errors_of(parse: Callable[[], object]) -> tuple[ConfigError, ...]:
    try:
        parse()
    except ConfigError as error:
        return error.errors
    return ()


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode()))
def test_any_bytes_are_a_configuration_or_a_config_error(content: bytes) -> None:
    file, around = Path("/w/f"), Surroundings(Path("/w"), {"A": "a"}, Path("/home"))
    found = errors_of(lambda: parse_config(content, file, around))
    found += errors_of(lambda: parse_approvals(content, file))
    assert all(error.line and error.column for error in found)


@given(LIKELY)
def test_any_json_is_a_configuration_or_errors_in_the_order_of_the_file(value: object) -> None:
    content = json.dumps(value, indent=1).encode()
    around = Surroundings(Path("/w"), {"A": "a"}, Path("/home"))
    found = errors_of(lambda: parse_config(content, Path("/w/f"), around))
    places = [(error.line or 0, error.column or 0) for error in found]
    assert places == sorted(set(places))


def test_the_documented_example_is_a_configuration(folder: Folder) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    [example] = page.split("```json\n")[1:]
    folder.file.write_text(example.split("```")[0])
    environ = {
        "WORK_GITHUB_TOKEN": "t", "SEARCH_KEY": "k", "DB_URL": "d", "PML_API_KEY": "p", "LANG": "C",
    }  # fmt: skip
    config = load_config(folder.path, environ, folder.home)
    assert not config.unusable
    assert [server.name for server in config.servers] == ["filesystem", "github", "search"]
    assert (config.limits.call_timeout_seconds, config.limits.memory_mb) == (60, 64)
    missing = load_config(folder.path, {"LANG": "C"}, folder.home).unusable["github"]
    shown = page.split("```text\n")[2].split("\n  hint: ")[0]
    assert shown.replace("/home/ada/shop", str(folder.path)) == missing.message


def test_every_key_is_documented() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for shape in vars(shapes).values():
        if isinstance(shape, type) and issubclass(shape, shapes.Shape):
            for field in shape.model_fields.values():
                assert f"`{field.alias}`" in page, (shape, field.alias)
