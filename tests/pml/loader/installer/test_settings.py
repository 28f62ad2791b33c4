"""The user's own settings reach the package manager; nothing else of the user's does."""

import dataclasses
from pathlib import Path

import pytest

from pml.confinement import Level, Support
from pml.loader.installer.settings import Machine, Settings, settings_of


@pytest.fixture
def user(tmp_path: Path) -> Machine:
    home = tmp_path / "user"
    home.mkdir()
    return Machine({}, home, Support(Level.OFF), tmp_path / "packages")


def settings(user: Machine, manager: str, **environ: str) -> Settings:
    return settings_of(manager, dataclasses.replace(user, environ=environ))


def test_only_variables_that_say_where_packages_come_from_are_handed_on(user: Machine) -> None:
    found = settings(
        user, "npm",
        NPM_CONFIG_REGISTRY="https://mirror", npm_config_cafile="/none", HTTPS_PROXY="http://p:3128",
        npm_config_prefix="/usr", npm_config_script_shell="/evil", npm_config_ignore_scripts="false",
        OPENAI_API_KEY="sk", NODE_OPTIONS="--require x", PIP_INDEX_URL="https://other",
    )  # fmt: skip
    assert set(found.environment) == {"NPM_CONFIG_REGISTRY", "npm_config_cafile", "HTTPS_PROXY"}


def test_pip_and_uv_get_their_own(user: Machine) -> None:
    given = {"PIP_INDEX_URL": "https://a", "PIP_TARGET": "/x", "UV_INDEX": "b", "UV_PYTHON": "3"}
    assert set(settings(user, "pip", **given).environment) == {"PIP_INDEX_URL"}
    assert set(settings(user, "uv", **given).environment) == {"UV_INDEX"}


def test_a_token_that_the_settings_name_is_handed_on_and_no_other(user: Machine) -> None:
    text = "//mirror/:_authToken=${MIRROR_TOKEN}\n"
    (user.user_home / ".npmrc").write_text(text, encoding="utf-8")
    found = settings(user, "npm", MIRROR_TOKEN="t", OTHER_TOKEN="o")
    assert dict(found.environment) == {"MIRROR_TOKEN": "t"}
    assert found.links == {".npmrc": user.user_home / ".npmrc"}


def test_ports_of_mirrors_and_proxies_are_opened(user: Machine) -> None:
    text = "registry=http://mirror.example:4873/npm/\n@a:registry=https://u:8080@host:99/\n"
    (user.user_home / ".npmrc").write_text(text, encoding="utf-8")
    found = settings(user, "npm", HTTPS_PROXY="http://proxy:3128")
    assert found.ports == ("*:3128", "*:4873", "*:99")


def test_files_that_settings_name_can_be_read(user: Machine, tmp_path: Path) -> None:
    mirror, authority = tmp_path / "mirror" / "simple", tmp_path / "ca.pem"
    mirror.mkdir(parents=True)
    authority.touch()
    config = user.user_home / ".config" / "pip"
    config.mkdir(parents=True)
    (config / "pip.conf").write_text(
        f"[global]\nindex-url = file://{mirror}\ncert={authority}\n", encoding="utf-8"
    )
    reads = settings(user, "pip").reads
    assert {mirror.parent, authority, config / "pip.conf"} <= set(reads)


def test_settings_cannot_open_the_home_or_the_machine(user: Machine) -> None:
    text = f"cafile={user.user_home}\nprefix=/\ncache=/proc/self\nx={user.user_home.parent}\n"
    (user.user_home / ".npmrc").write_text(text, encoding="utf-8")
    assert settings(user, "npm").reads == (user.user_home / ".npmrc",)


def test_the_desktop_may_say_where_settings_are(user: Machine, tmp_path: Path) -> None:
    (tmp_path / "xdg" / "uv").mkdir(parents=True)
    file = tmp_path / "xdg" / "uv" / "uv.toml"
    file.touch()
    found = settings(user, "uv", XDG_CONFIG_HOME=str(tmp_path / "xdg"))
    assert found.links == {".config/uv/uv.toml": file}
