"""Names that programs use are sent to registries seldom, few, and only if a rule speaks of them."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from pml.assembly.lookups import Lookups
from pml.config import Permissions
from pml.errors import PmlError
from pml.fqdn import Fqdn
from pml.loader.errors import NotInRegistryError, RegistryOfflineError
from pml.loader.lockfile import Lockfile


@dataclasses.dataclass
class Shop:
    """A registry that has one server, a clock, and rules."""

    has: str = "pml.mcp.memory.server"
    rules: Permissions = dataclasses.field(default_factory=Permissions)
    problem: PmlError | None = None
    now: float = 0.0
    asked: list[str] = dataclasses.field(default_factory=list)

    async def described(self, name: Fqdn) -> tuple[Any, None]:
        self.asked.append(str(name))
        if self.problem is not None:
            raise self.problem
        if str(name) != self.has:
            raise NotInRegistryError(str(name), [])
        return name, None

    def lookups(self) -> Lookups:
        store = SimpleNamespace(load=Lockfile)
        access: Any = SimpleNamespace(loader=self, locking=SimpleNamespace(store=store))
        return Lookups(access, self.rules, lambda: self.now)


async def test_a_server_goes_before_a_capability() -> None:
    shop = Shop()
    assert str(await shop.lookups().find("memory:read")) == shop.has
    assert shop.asked == [shop.has]
    shop = Shop(has="pml.std.memory.read")
    assert str(await shop.lookups().find("memory:read")) == shop.has
    assert shop.asked == ["pml.mcp.memory.server", "pml.std.memory.read"]


async def test_a_name_is_asked_for_once_a_minute_whatever_came_of_it() -> None:
    shop = Shop(problem=RegistryOfflineError("https://r.example", "no route"))
    lookups = shop.lookups()
    for _ in range(3):
        with pytest.raises(RegistryOfflineError):
            await lookups.find("memory:read")
    assert len(shop.asked) == 1
    shop.now, shop.problem = 60.0, None
    assert await lookups.find("memory:read") is not None
    assert len(shop.asked) == 2


async def test_a_program_cannot_tell_a_registry_stories() -> None:
    # Attack: a program spells what it has read as names that nobody has.
    shop = Shop()
    lookups = shop.lookups()
    for number in range(100):
        assert await lookups.find(f"secret{number}:x") is None
    assert len(shop.asked) == 2 * 10


@pytest.mark.parametrize("tool", ["memory:read", "__proto__:x", "a__b:c", "x" * 99 + ":y"])
async def test_what_no_rule_speaks_of_and_what_is_no_name_is_not_sent(tool: str) -> None:
    shop = Shop(rules=Permissions(allow=("git:*", "a*", "x*", "_*")))
    assert await shop.lookups().find(tool) is None
    assert shop.asked == []
