"""Names in code that nobody here has, looked up in the registries: seldom, and nothing is changed.

What a program names must not install anything: what is found is a question to the human. A name is
sent to the registries only if a rule speaks of it (else it could not be locked), once a minute at
most, and few names a minute in all, so that a program cannot tell a registry stories.
"""

import dataclasses
import time
from collections.abc import Callable, Iterator

from pml.assembly.registry import Access
from pml.config import Permissions
from pml.errors import PmlError
from pml.fqdn import SERVER_ACTION, Fqdn, NamingError
from pml.loader.capabilities import Found
from pml.loader.errors import NotInRegistryError
from pml.loader.metadata import McpType
from pml.policy import rule_matches

_AGAIN_SECONDS = 60.0
_MOST_LOOKUPS = 10
"""In that time; a program with more unknown names than this has another problem."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Answer:
    at: float
    found: Found | None = None
    problem: PmlError | None = None

    def given(self) -> Found | None:
        if self.problem is not None:
            raise self.problem.with_traceback(None)  # or it grows each time it is raised
        return self.found


class Lookups:
    """Asks registries for what stands behind a tool id."""

    def __init__(
        self,
        access: Access,
        rules: Permissions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask nobody yet."""
        self._access = access
        self._rules = (*rules.allow, *rules.ask)
        self._clock = clock
        self._answers: dict[str, _Answer] = {}

    async def find(self, tool_id: str, *, servers: bool = True) -> Found | None:
        """Say what the first registry that has it has under a name; None if there is nothing.

        `servers`: a whole server of that name would do, too. Raises a `LoaderError`.
        """
        now = self._clock()
        answers = {name: one for name, one in self._answers.items() if _is_fresh(one, now)}
        self._answers = answers
        if tool_id not in answers:
            if len(answers) >= _MOST_LOOKUPS or not self._speaks_of(tool_id):
                return None
            answers[tool_id] = await self._asked(tool_id, now, servers=servers)
        return answers[tool_id].given()

    def forget(self, tool_id: str) -> None:
        """Ask again at the next call: what was found is locked by now."""
        self._answers.pop(tool_id, None)

    def _speaks_of(self, tool_id: str) -> bool:
        return not self._rules or any(rule_matches(rule, tool_id) for rule in self._rules)

    async def _asked(self, tool_id: str, now: float, *, servers: bool) -> _Answer:
        for name in self._names(tool_id, servers=servers):
            try:
                return _Answer(now, (await self._access.loader.described(name))[0])
            except NotInRegistryError:
                continue
            except PmlError as problem:
                return _Answer(now, problem=problem)
        return _Answer(now)

    def _names(self, tool_id: str, *, servers: bool) -> Iterator[Fqdn]:
        """Give what is locked under this name and not kept here, then what it would be called."""
        server = tool_id.partition(":")[0]
        for name, entry in self._access.locking.store.load().named() if servers else ():
            if name.namespace == server and entry.type == McpType.STDIO:
                yield name
        yield from _names(tool_id, servers=servers)


def _names(tool_id: str, *, servers: bool) -> Iterator[Fqdn]:
    server, _, tool = tool_id.partition(":")
    try:
        if servers:
            yield Fqdn.of_server(server)
        if tool != SERVER_ACTION:
            yield Fqdn.of_standard(server, tool)
    except NamingError:
        return  # no registry has such a name


def _is_fresh(one: _Answer, now: float) -> bool:
    return now - one.at < _AGAIN_SECONDS
