import os
import threading
from pathlib import Path

import pytest

from pml.config import MissingVariablesError, load_config
from pml.keys import (
    EnvFileError,
    EnvFileInvalidError,
    EnvFileUnreadableError,
    EnvFileUnsafeError,
    Keys,
    SystemKeyring,
    environ_with,
    lookup,
    system,
)


class Store:
    """A keyring that remembers what it was asked."""

    def __init__(self, **keys: str) -> None:
        self.keys = keys
        self.asked: list[str] = []

    def get(self, name: str) -> str | None:
        self.asked.append(name)
        return self.keys.get(name)


def dotenv(workspace: Path, text: str, mode: int = 0o600) -> Path:
    path = workspace / ".env"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def test_the_environment_comes_first_then_the_file_then_the_keyring(tmp_path: Path) -> None:
    dotenv(tmp_path, "ONE=file\nTWO=file")
    keys = Keys({"ONE": "environ"}, tmp_path, Store(ONE="ring", TWO="ring", THREE="ring"))
    found = [keys.lookup(name) for name in ("ONE", "TWO", "THREE", "FOUR")]
    assert [one and (one.value, one.source) for one in found] == [
        ("environ", "environment"),
        ("file", ".env"),
        ("ring", "keyring"),
        None,
    ]


@pytest.mark.parametrize("value", ["", " ", "your-key-here", "changeme"])
def test_dotenv_never_overrides_the_environment_not_even_an_empty_one(
    tmp_path: Path, value: str
) -> None:
    dotenv(tmp_path, "KEY=file")
    keys = Keys({"KEY": value}, tmp_path, Store(KEY="ring"))
    assert keys.lookup("KEY") is None
    assert environ_with(keys)["KEY"] == value


@pytest.mark.parametrize("value", ["", "xxx", "'<your key>'", "changeme"])
def test_a_placeholder_in_the_file_counts_as_missing(tmp_path: Path, value: str) -> None:
    dotenv(tmp_path, f"KEY={value}")
    assert Keys({}, tmp_path, Store()).lookup("KEY") is None
    found = Keys({}, tmp_path, Store(KEY="ring")).lookup("KEY")
    assert found is not None
    assert found.source == "keyring"


def test_values_are_hidden(tmp_path: Path) -> None:
    dotenv(tmp_path, "KEY=hunter2")
    keys = Keys({"OTHER": "hunter2"}, tmp_path, Store())
    shown = f"{keys!r}{keys.lookup('KEY')!r}{keys.lookup('OTHER')!r}{environ_with(keys)!r}"
    assert "hunter2" not in shown


def test_the_process_is_not_changed(tmp_path: Path) -> None:
    dotenv(tmp_path, "PML_TEST_ONLY_HERE=1\nONLY_HERE_TOO=1")
    before = dict(os.environ)
    dict(environ_with(Keys(dict(before), tmp_path, Store())))
    assert dict(os.environ) == before


def test_the_keyring_is_asked_once_and_only_for_what_is_nowhere_else(tmp_path: Path) -> None:
    dotenv(tmp_path, "TWO=file")
    store = Store()
    keys = Keys({"ONE": "environ"}, tmp_path, store)
    environ = environ_with(keys)
    for name in ("ONE", "TWO", "THREE", "THREE", "PATH", "LANG", "LC_ALL", "XDG_STATE_HOME"):
        environ.get(name)
    assert list(environ) == ["ONE", "TWO"]
    assert len(environ) == 2
    assert store.asked == ["THREE"]


def test_a_configuration_is_filled_in_from_all_of_them(tmp_path: Path) -> None:
    dotenv(tmp_path, "B=file\nEMPTY=xxx")
    (tmp_path / ".pml.json").write_text(
        """{"mcpServers": {
            "one": {"command": "c", "args": ["${A}", "${B}", "${C}"]},
            "two": {"command": "c", "args": ["${EMPTY}", "${NONE}"]}}}""",
        encoding="utf-8",
    )
    keys = Keys({"A": "environ"}, tmp_path, Store(C="ring"))
    config = load_config(tmp_path, environ_with(keys), tmp_path)
    assert config.servers[0].name == "one"
    assert getattr(config.servers[0], "args", None) == ("environ", "file", "ring")
    assert keys.used == {"A": "environ", "B": "file", "C": "ring", "EMPTY": "xxx"}
    problem = config.unusable["two"]
    assert isinstance(problem, MissingVariablesError)
    assert [(one.name, one.reason) for one in problem.missing] == [
        ("EMPTY", "placeholder"),
        ("NONE", "unset"),
    ]


@pytest.mark.parametrize(
    "name",
    ["PML_STATE", "XDG_CONFIG_HOME", "xdg_config_home", "LD_PRELOAD", "NODE_OPTIONS", "PYTHONPATH", "PATH",
     "HOME", "https_proxy", "GIT_SSH_COMMAND"],
)  # fmt: skip
def test_a_workspace_cannot_steer_pml_or_other_programs(tmp_path: Path, name: str) -> None:
    """Attack: a cloned repository's `.env` points PML at another user configuration or state."""
    dotenv(tmp_path, f"{name}=/evil\nKEY=fine")
    keys = Keys({}, tmp_path, Store(**{name: "/evil"}))
    assert keys.lookup(name) is None
    assert dict(environ_with(keys)) == {"KEY": "fine"}
    assert keys.warnings == (f"{tmp_path}/.env cannot set {name}: only the environment can",)


def test_a_workspace_cannot_name_the_users_own_configuration(tmp_path: Path) -> None:
    """Attack: `approvals: "model"` is the user's to say; a repository brings its own such file."""
    (tmp_path / "evil" / "pml").mkdir(parents=True)
    (tmp_path / "evil" / "pml" / "config.json").write_text('{"approvals": "model"}')
    dotenv(tmp_path, f"XDG_CONFIG_HOME={tmp_path}/evil")
    keys = Keys({}, tmp_path, Store())
    assert load_config(tmp_path, environ_with(keys), tmp_path / "home").approvals == "human"


def test_no_file_or_a_folder_of_that_name_means_no_keys(tmp_path: Path) -> None:
    assert dict(environ_with(Keys({}, tmp_path, Store()))) == {}
    (tmp_path / ".env").mkdir()
    assert dict(environ_with(Keys({}, tmp_path, Store()))) == {}


def test_a_file_that_others_can_read_is_used_with_a_warning(tmp_path: Path) -> None:
    path = dotenv(tmp_path, "KEY=value", 0o644)
    keys = Keys({}, tmp_path, Store())
    assert keys.lookup("KEY") is not None
    assert keys.warnings == (f"other users can read {path}: chmod 600 {path}",)


def test_a_file_that_everybody_can_change_is_refused(tmp_path: Path) -> None:
    dotenv(tmp_path, "KEY=value", 0o666)
    with pytest.raises(EnvFileUnsafeError, match="everybody can change it"):
        Keys({}, tmp_path, Store()).lookup("KEY")


def test_a_link_out_of_the_workspace_is_refused_and_one_within_is_followed(tmp_path: Path) -> None:
    """Attack: a server plants a link to another project's keys, to be given them."""
    workspace = tmp_path / "app"
    (workspace / "config").mkdir(parents=True)
    dotenv(tmp_path, "KEY=other")
    (workspace / ".env").symlink_to(tmp_path / ".env")
    with pytest.raises(EnvFileUnsafeError, match="it leads out of the workspace"):
        Keys({}, workspace, Store()).lookup("KEY")
    (workspace / ".env").unlink()
    dotenv(workspace / "config", "KEY=own")
    (workspace / ".env").symlink_to("config/.env")
    found = Keys({}, workspace, Store()).lookup("KEY")
    assert found is not None
    assert found.value == "own"


@pytest.mark.parametrize("kind", ["pipe", "large", "dangling", "binary"])
def test_what_cannot_be_read_is_told(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ".env"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "large":
        dotenv(tmp_path, "#" * (lookup.MOST_BYTES + 1))
    elif kind == "dangling":
        path.symlink_to("nowhere")
    else:
        path.write_bytes(b"KEY=\xff")
        path.chmod(0o600)
    with pytest.raises(EnvFileUnreadableError):
        Keys({}, tmp_path, Store()).lookup("KEY")


def test_a_broken_file_does_not_concern_what_the_environment_has(tmp_path: Path) -> None:
    dotenv(tmp_path, "nonsense")
    keys = Keys({"KEY": "environ"}, tmp_path, Store())
    assert keys.lookup("KEY") is not None
    with pytest.raises(EnvFileError):
        keys.lookup("OTHER")


def test_a_value_that_cannot_be_meant_is_told_only_to_whoever_asks_for_it(tmp_path: Path) -> None:
    dotenv(tmp_path, "A=${B}\nB=fine")
    keys = Keys({}, tmp_path, Store())
    assert keys.lookup("B") is not None
    assert list(environ_with(keys)) == ["B"]
    with pytest.raises(EnvFileInvalidError, match="are not filled in here"):
        keys.lookup("A")


def test_a_keyring_that_does_not_answer_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    asked: list[str] = []

    def ask(name: str) -> str | None:
        asked.append(name)
        never.wait()
        return None

    monkeypatch.setattr(system, "_ask", ask)
    ring = SystemKeyring(seconds=0.01)
    assert ring.get("ONE") is None
    assert ring.get("TWO") is None
    assert asked == ["ONE"]
    assert ring.problem == "the keyring did not answer within 0.01 s"
    never.set()


def test_a_keyring_that_fails_has_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(name: str) -> str | None:
        raise RuntimeError(name)

    monkeypatch.setattr(system, "_ask", ask)
    ring = SystemKeyring()
    assert ring.get("ONE") is None
    assert ring.problem == "RuntimeError"


def test_the_packages_keyring_is_asked_for_our_service(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = pytest.importorskip("keyring")
    backend = pytest.importorskip("keyring.backend")

    class Memory(backend.KeyringBackend):  # type: ignore[misc,name-defined]
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return "from the ring" if (service, username) == ("pml", "ONE") else None

        def set_password(self, service: str, username: str, password: str) -> None: ...

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        ring = SystemKeyring()
        assert (ring.get("ONE"), ring.get("TWO"), ring.problem) == ("from the ring", None, None)
    finally:
        keyring.set_keyring(before)


def test_a_system_without_a_keyring_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = pytest.importorskip("keyring")
    fail = pytest.importorskip("keyring.backends.fail")
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    try:
        ring = SystemKeyring()
        assert ring.get("ONE") is None
        assert ring.problem == "this system has no keyring"
    finally:
        keyring.set_keyring(before)
