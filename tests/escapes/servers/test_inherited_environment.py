"""Attack: find the gateway's own secrets and loader options in the environment."""

import pytest

from pml.confinement import Grants, Level

EVERYWHERE = list(Level)
SECRETS = {
    "PML_API_KEY": "secret", "PML_ANYTHING": "secret", "SSH_AUTH_SOCK": "/x/agent", "GITHUB_TOKEN": "secret",
    "AWS_SECRET_ACCESS_KEY": "secret", "NODE_OPTIONS": "--no-warnings", "LD_PRELOAD": "", "LD_LIBRARY_PATH": "/x",
    "PYTHONPATH": "/x", "PYTHONSTARTUP": "/x/x", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x/bus",
    "XDG_RUNTIME_DIR": "/x", "BASH_ENV": "/x/x",
}  # fmt: skip


@pytest.mark.parametrize("language", ["python", "node"])
@pytest.mark.parametrize("level", EVERYWHERE)
def test_nothing_of_the_gateway_is_inherited(start, level, language) -> None:
    environ = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", **SECRETS}
    evil = start(level, language, environ=environ)
    found = [name for name in SECRETS if evil.ask("environment", name) != "ENOENT"]
    assert found == []
    assert evil.ask("environment", "PATH") == "OPEN"
    assert evil.ask("environment", "LANG") == "OPEN"
    assert evil.ask("environment", "HOME") == "OPEN"


@pytest.mark.parametrize("level", EVERYWHERE)
def test_a_declared_variable_is_there(start, level) -> None:
    """The canary: what is in the environment is found."""
    evil = start(level, grants=Grants(env={"GITHUB_TOKEN": "for this server"}))
    assert evil.ask("environment", "GITHUB_TOKEN") == "OPEN"


@pytest.mark.parametrize("level", EVERYWHERE)
def test_no_value_of_a_variable_is_on_a_command_line(start, level) -> None:
    """Attack: everyone on the machine can read command lines."""
    evil = start(level, grants=Grants(env={"GITHUB_TOKEN": "s3cr3t-value"}))
    line = "\0".join(evil.confined.argv)
    assert "s3cr3t-value" not in line
    assert b"s3cr3t-value".hex() not in line
    assert "s3cr3t-value" not in str(evil.confined.record())
