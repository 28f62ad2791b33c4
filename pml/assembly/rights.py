"""What programs may call in a workspace, how questions are put, and which secrets are masked."""

import datetime
import json
from collections.abc import Mapping
from typing import Any

from pml.assembly.provisions import provisions_of
from pml.assembly.servers import Opened
from pml.assembly.setup import Setup
from pml.config.editing import allow_always
from pml.execution.rights import Rights
from pml.execution.workflows import RunStore
from pml.policy import decide
from pml.trust import store_of as trusted_store
from pml.trust import trust_always
from pml.trust.key import made_key
from pml.workspace import CONFIG_NAME

_ARGUMENT_CHARACTERS = 2000  # of a question


def rights_of(setup: Setup, opened: Opened, *, yes: bool = False) -> Rights:
    """Say what programs may call here."""
    permissions = setup.config.permissions
    return Rights(
        opened.servers,
        lambda tool: decide(tool, permissions),
        opened.audit,
        remember=lambda tool: _allow_always(setup, tool),
        yes=yes,
        composer=opened.capabilities,
        provisions=provisions_of(setup, opened),
    )


def _allow_always(setup: Setup, tool: str) -> None:
    """Add a tool to `allow`, in the file and in what is trusted of it."""
    loaded = setup.loaded
    if loaded is None:
        return
    allow_always(loaded.folder / CONFIG_NAME, tool, loaded.content)
    store = trusted_store(loaded.folder, setup.environ, setup.user_home)
    trust_always(store, loaded, tool, datetime.datetime.now(datetime.UTC))


def store_of(setup: Setup) -> RunStore:
    """Give the workspace's suspended runs."""
    return RunStore(setup.state / "runs", made_key(setup.state.parent.parent))


class QuestionWords:
    """How questions are put: arguments as JSON, capped; the level that holds the server."""

    def __init__(self, opened: Opened) -> None:
        """Know the servers and their keys."""
        self._servers = opened.servers
        self._redactor = opened.redactor

    def arguments(self, arguments: Mapping[str, Any]) -> str:
        """Give arguments as text."""
        text = json.dumps(self._redactor.value(arguments), ensure_ascii=False)
        more = len(text) - _ARGUMENT_CHARACTERS
        return f"{text[:_ARGUMENT_CHARACTERS]}… ({more} more characters)" if more > 0 else text

    def level(self, tool: str) -> str:
        """Give the level of the server's OS sandbox; of a built-in, what that leaves open, too."""
        name = tool.partition(":")[0]
        for status in self._servers.status():
            if status.name == name:
                missing = status.missing if status.kind == "builtin" else ()
                return "; ".join((str(status.level), *missing))
        return ""
