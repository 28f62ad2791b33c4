import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.loader.installer import (
    InstallCommandError,
    InstallError,
    Kind,
    Package,
    PackageNameError,
    Wanted,
    wanted,
    wanted_in,
)

NPM, PYPI = Kind.NPM, Kind.PYPI


@pytest.mark.parametrize(
    ("text", "expected", "args"),
    [
        ("npx foo@1.2.3", Wanted(NPM, "foo", "1.2.3"), ()),
        ("npx -y @a/b@1.2.3 --port 1", Wanted(NPM, "@a/b", "1.2.3"), ("--port", "1")),
        ("npx --yes foo@^1.2 -y", Wanted(NPM, "foo", "^1.2"), ("-y",)),
        ("npx -p @a/b@latest prog x", Wanted(NPM, "@a/b", "latest", program="prog"), ("x",)),
        ("npx --package=foo -- prog", Wanted(NPM, "foo", program="prog"), ()),
        ("/usr/bin/npx foo", Wanted(NPM, "foo"), ()),
        ("npm exec --yes -- foo@2.0.0-beta.1 a", Wanted(NPM, "foo", "2.0.0-beta.1"), ("a",)),
        ("npm install -g foo@1.0.0", Wanted(NPM, "foo", "1.0.0"), ()),
        ("uvx foo", Wanted(PYPI, "foo"), ()),
        ("uvx Foo_Bar@1.2 --x", Wanted(PYPI, "foo-bar", "==1.2"), ("--x",)),
        ("uvx foo@latest", Wanted(PYPI, "foo"), ()),
        ("uvx --from 'foo[cli]==1.2' bar", Wanted(PYPI, "foo", "==1.2", "[cli]", "bar"), ()),
        ("uv tool run --from=foo bar", Wanted(PYPI, "foo", program="bar"), ()),
        ("pipx run --spec foo>=1,<2 bar", Wanted(PYPI, "foo", ">=1,<2", program="bar"), ()),
        ("pip install foo==1.0", Wanted(PYPI, "foo", "==1.0"), ()),
        ("python3 -m pip install -U foo~=1.0", Wanted(PYPI, "foo", "~=1.0"), ()),
    ],
)
def test_a_command_names_its_package_and_what_the_program_is_told(
    text: str, expected: Wanted, args: tuple[str, ...]
) -> None:
    found = wanted_in(text)
    assert found == expected
    assert found.args == args


@pytest.mark.parametrize(
    "text", ["node x.js", "./npx foo", "bin/uvx foo", "uv run x", "docker run x"]
)
def test_other_commands_are_not_touched(text: str) -> None:
    command, *args = text.split()
    assert wanted(command, args) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("npx", "names no program"),
        ("npx -c 'rm -rf x'", "the option -c is not understood"),
        ("npx --registry=http://evil foo", "the option --registry=http://evil is not understood"),
        ("npx -p a -p b prog", "more than one package"),
        ("npx -p foo", "names no program"),
        ("uvx --with evil foo", "the option --with is not understood"),
        ("pip install -i http://evil foo", "the option -i is not understood"),
        ("pip install a b", "exactly one package"),
        ("sh -c evil", "no command of npx"),
        ("npx 'foo", "no closing quotation"),
        ("", "no command of npx"),
    ],
)
def test_a_command_that_we_cannot_carry_out_is_an_error_that_says_why(
    text: str, words: str
) -> None:
    with pytest.raises(InstallCommandError) as caught:
        wanted_in(text)
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "npx github:user/repo", "npx git+ssh://host/x", "npx https://host/x.tgz", "npx ./folder",
        "npx ../up", "npx foo@npm:bar@1", "npx foo@file:../x", "npx @scope", "npx -p --yes x",
        "npx Foo", "npx a/b/c", "npx @a/../b", "uvx git+https://host/x", "uvx foo@git+https://x",
        "uvx 'foo; rm -rf x'", "uvx 'foo[a;b]'", "uvx --from ./x y", "npx " + "a" * 215,
    ],
)  # fmt: skip
def test_only_what_a_registry_serves_by_name_is_a_package(text: str) -> None:
    with pytest.raises(PackageNameError):
        wanted_in(text)


def test_a_letter_that_only_looks_latin_is_named() -> None:
    with pytest.raises(PackageNameError, match=r"U\+0435"):
        wanted_in("npx @modelcontextprotocol/server-m\u0435mory")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("npx foo@1.2.3", Package(NPM, "foo", "1.2.3")),
        ("npx foo@v1.2.3-rc.1", Package(NPM, "foo", "1.2.3-rc.1")),
        ("npx foo@1.2", None),
        ("npx foo@latest", None),
        ("npx foo@1.x", None),
        ("npx foo", None),
        ("uvx foo==1.2", Package(PYPI, "foo", "1.2")),
        ("uvx foo==1.*", None),
        ("uvx foo>=1.2", None),
        ("uvx foo", None),
    ],
)
def test_only_one_version_is_pinned(text: str, expected: Package | None) -> None:
    assert wanted_in(text).exact == expected


@given(st.text())
def test_any_text_is_a_package_or_an_error_of_ours(text: str) -> None:
    for runner in ("npx", "uvx", "npx -p", "uvx --from", "pip install", ""):
        try:
            found = wanted_in(f"{runner} {text}")
        except InstallError:
            continue
        assert found.name.isascii()
        assert not found.name.startswith("-")
        assert ":" not in str(found)
