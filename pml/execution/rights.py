"""What the calls of a run may be, who carries them out, and why one waits. Values alone.

Made in `pml.assembly`; `gate.py` decides with them.
"""

import dataclasses
from collections.abc import Awaitable, Callable

from pml.model import Decision, Need
from pml.ports import Composer, Provisions, Recorder, ToolCaller


@dataclasses.dataclass(frozen=True, slots=True)
class Rights:
    """Who carries calls out, and what they may be."""

    tools: ToolCaller
    decide: Callable[[str], Decision]
    audit: Recorder
    remember: Callable[[str], None]
    """Makes a verdict of Always last."""

    yes: bool = False
    """The human said yes to every question of this run beforehand."""

    composer: Composer | None = None
    """Carries out the tools that are programs themselves, if there are any."""

    provisions: Provisions | None = None
    """Who brings what a call lacks; without it such a call fails."""

    check_tool: Callable[[str], Awaitable[None]] | None = None
    """Raises if a server whose tools are known has no such tool: the human is not asked."""


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """Why a call waits for the human."""

    decision: Decision | None = None
    reason: str | None = None
    need: Need | None = None
