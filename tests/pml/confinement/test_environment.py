"""Which variables pass."""

from pathlib import Path

import pytest

from pml.confinement import VariableRefusedError
from pml.confinement.environment import child_environment, search_path

HOME, TMP = Path("/private/home"), Path("/private/tmp")


def environment(gateway: dict[str, str], declared: dict[str, str] | None = None) -> dict[str, str]:
    return child_environment(gateway, declared or {}, home=HOME, tmp=TMP)


def test_only_language_zone_and_path_are_taken_from_the_gateway() -> None:
    gateway = {
        "PATH": "/usr/bin", "LANG": "de_DE.UTF-8", "LC_TIME": "C", "TZ": "UTC", "HOME": "/home/me", "USER": "me",
        "PML_API_KEY": "x", "SSH_AUTH_SOCK": "/x", "LD_PRELOAD": "/x", "NODE_OPTIONS": "-r x", "PYTHONPATH": "/x",
    }  # fmt: skip
    assert environment(gateway) == {
        "PATH": "/usr/bin", "LANG": "de_DE.UTF-8", "LC_TIME": "C", "TZ": "UTC",
        "HOME": str(HOME), "TMPDIR": str(TMP),
    }  # fmt: skip


def test_declared_variables_are_added() -> None:
    assert environment({}, {"TOKEN": "x", "PYTHONUNBUFFERED": "1"}).items() >= {
        ("TOKEN", "x"), ("PYTHONUNBUFFERED", "1"),
    }  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "NODE_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME",
        "PYTHONINSPECT", "GLIBC_TUNABLES", "GCONV_PATH", "BASH_ENV", "HOME", "TMPDIR", "PATH", "", "A=B", "A\0B",
    ],
)  # fmt: skip
def test_variables_that_load_code_or_are_ours_are_refused(name: str) -> None:
    with pytest.raises(VariableRefusedError) as caught:
        environment({}, {name: "secret"})
    assert caught.value.code == "env_refused"
    assert "secret" not in str(caught.value)


def test_path_entries_that_depend_on_the_folder_are_left_out() -> None:
    """Attack: `PATH=./node_modules/.bin` makes a cloned repository choose our programs."""
    assert search_path({"PATH": "./bin:node_modules/.bin::/usr/bin:.:/bin"}) == "/usr/bin:/bin"
    assert search_path({"PATH": "."}) == "/usr/local/bin:/usr/bin:/bin"
    assert search_path({}) == "/usr/local/bin:/usr/bin:/bin"
