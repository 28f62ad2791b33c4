"""What the capabilities of one namespace offer, as far as it is known.

One that cannot be described (its registry is away and nothing is kept, its code was changed) costs
itself and no other; it is tried again the next time. A tool that two of them offer is offered by
none: whoever adds a second one must not decide which of them is meant.
"""

from collections.abc import Sequence
from typing import Protocol

from pml.backends.errors import ToolTwiceError, ToolUnknownError
from pml.backends.listing import listing_of
from pml.errors import PmlError
from pml.fqdn import Fqdn
from pml.loader.capabilities import Found
from pml.loader.metadata import Metadata
from pml.model import Listing, SkippedTool, Tool


class _Finder(Protocol):
    async def find(self, name: Fqdn) -> Found: ...


class Shelf:
    """The capabilities of one namespace."""

    def __init__(self, namespace: str, names: Sequence[Fqdn]) -> None:
        """Know their names alone."""
        self._namespace = namespace
        self._names = tuple(names)
        self._described: dict[Fqdn, Metadata] = {}
        self._problems: dict[Fqdn, PmlError] = {}
        self._tools: dict[str, tuple[Fqdn, Tool]] = {}
        self._twins: dict[str, list[str]] = {}
        self.listing = Listing()

    @property
    def count(self) -> int | None:
        """How many tools there are, if that was looked at."""
        return len(self._tools) if self._described else None

    def add(self, name: Fqdn) -> None:
        """Know one more name."""
        if name not in self._names:
            self._names = (*self._names, name)

    async def fill(self, finder: _Finder) -> None:
        """Describe what is not described yet."""
        missing = [name for name in self._names if name not in self._described]
        for name in missing:
            try:
                self._described[name] = (await finder.find(name)).metadata
                self._problems.pop(name, None)
            except PmlError as problem:
                self._problems[name] = problem
        if missing:
            self._arrange()

    def offered(self, tool: str) -> tuple[Fqdn, Tool]:
        """Give a tool and whose it is; raises why there is none."""
        known = self._tools.get(tool)
        if known is not None:
            return known
        if tool in self._twins:
            raise ToolTwiceError(f"{self._namespace}:{tool}", self._twins[tool])
        for name, problem in self._problems.items():
            if name.action == tool or not self._tools:
                raise problem
        raise ToolUnknownError(f"{self._namespace}:{tool}", [])

    def named(self, tool: str) -> Fqdn | None:
        """Give whose a tool is, as far as its name tells; described or not."""
        known = self._tools.get(tool)
        if known is not None:
            return known[0]
        return next((name for name in self._names if name.action == tool), None)

    def _arrange(self) -> None:
        owners: dict[str, list[Fqdn]] = {}
        for name, metadata in self._described.items():
            for definition in metadata.offered():
                owners.setdefault(definition["name"], []).append(name)
        self._twins = {
            tool: [str(one) for one in those] for tool, those in owners.items() if len(those) > 1
        }
        definitions = [
            dict(definition)
            for metadata in self._described.values()
            for definition in metadata.offered()
            if definition["name"] not in self._twins
        ]
        found = listing_of(self._namespace, definitions)
        self._tools = {tool.name: (owners[tool.name][0], tool) for tool in found.tools}
        self.listing = Listing(found.tools, (*found.skipped, *self._skipped()))

    def _skipped(self) -> list[SkippedTool]:
        twice = [
            SkippedTool(self._namespace, tool, ToolTwiceError(tool, those).message)
            for tool, those in self._twins.items()
        ]
        unknown = [
            SkippedTool(self._namespace, name.action, problem.message)
            for name, problem in self._problems.items()
        ]
        return twice + unknown
