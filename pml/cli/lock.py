"""`pml lock`: whether what is locked is as it was, what would change, and changing it.

Only a human at a terminal changes a lock; there is no option that answers. Names and hashes of a
lockfile that others may have written are checked before they are shown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.console import Console
from pml.cli.exits import APPROVAL, DONE, FAILED, process_environment
from pml.cli.locked import Differences, entries, listed
from pml.cli.opening import here, is_terminal
from pml.cli.trust import answer_to
from pml.errors import PmlError, TerminalNeededError

if TYPE_CHECKING:
    from pml.assembly.locking import Locking
    from pml.loader.capabilities import CapabilityLoader
    from pml.loader.capabilities import Found as Current
    from pml.loader.lockfile import EntryChange, EntryState, Found, Lockfile

_Json = Annotated[bool, typer.Option("--json", help="As data for machines.")]


def app() -> typer.Typer:
    """Give the subcommands."""
    commands = typer.Typer(rich_markup_mode=None)
    commands.callback(invoke_without_command=True)(_lock)
    commands.command("check")(check)
    commands.command("diff")(diff)
    commands.command("update")(update)
    return commands


def _lock(context: typer.Context) -> int:
    """Show what is locked in this workspace: .pml/mcp.lock.

    Without a subcommand, `check`.
    """
    return check(context) if context.invoked_subcommand is None else DONE


def check(
    context: typer.Context,
    *,
    frozen: Annotated[
        bool, typer.Option("--frozen", help="For CI: it must be there and need no change.")
    ] = False,
    as_json: _Json = False,
) -> int:
    """Check that the lockfile is whole and ours, and what is kept here as it was locked.

    With --frozen it is taken as it is, whoever wrote it. Exit code 1 if something is damaged or
    missing, 3 if the lockfile waits for your trust.
    """
    from pml.loader.lockfile import states_of  # noqa: PLC0415 - `--help` does not pay for it

    console: Console = context.obj
    locking = _locking()
    found = locking.store.found()
    states = list(states_of(found.lockfile, locking.cache))
    problems = [*_damages(states), *_complaints(locking, found, frozen=frozen)]
    if as_json:
        console.document({
            "path": str(locking.store.path),
            "sha256": found.sha256,
            "trusted": locking.store.is_ours(found),
            "entries": [state.plain() for state in states],
            "problems": [{"code": one.code, "message": one.message} for one in problems],
        })  # fmt: skip
    else:
        there = found.sha256 is not None
        console.text("\n".join(listed(locking.store.path, states, there=there)))
    for problem in problems:
        console.error(problem.message, hint=problem.hint)
    if any(not problem.code.startswith("untrusted") for problem in problems):
        return FAILED
    return APPROVAL if problems else DONE


def diff(
    context: typer.Context,
    *,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not ask the registries what is current.")
    ] = False,
    as_json: _Json = False,
) -> int:
    """Show what is not as you trusted it, and what `pml lock update` would change.

    Exit code 3 if there is something to say yes or no to.
    """
    console: Console = context.obj
    locking = _locking()
    found = locking.store.found()
    ours = locking.store.is_ours(found)
    differences = Differences(
        ours,
        _edits(locking, found),
        _stale(found.lockfile, locking),
        _newer(console, locking, found.lockfile) if ours and not offline else (),
    )
    if as_json:
        console.document(differences.plain())
    else:
        console.text("\n".join(differences.lines()))
    return APPROVAL if differences else DONE


def update(context: typer.Context) -> int:
    """Lock what is current at the registries, asking about each change.

    Also takes a lockfile that somebody else wrote, such as a merged one, after showing how it
    differs, and removes what no rule speaks of any more. Asks on the terminal.
    """
    console: Console = context.obj
    if not is_terminal():
        error = TerminalNeededError("lock update")
        console.error(error.message, hint=error.hint)
        return APPROVAL
    locking = _locking(writes=True)
    found = locking.store.found()
    if not locking.store.is_ours(found):
        if not _asked(console, Differences(ours=False, edits=_edits(locking, found)), _TAKE):
            console.error("nothing was changed")
            return FAILED
        locking.store.adopt(found, lambda now: now)
    count = _drop(console, locking) + _renew(console, locking)
    console.text(f"{entries(count)} changed")
    return DONE


_TAKE = "take this lockfile as it is?"


def _drop(console: Console, locking: "Locking") -> int:
    """Ask whether to remove what no rule speaks of."""
    stale = _stale(locking.store.load(), locking)
    if not stale or not _asked(console, Differences(stale=stale), "remove it?"):
        return 0
    locking.store.load(locking.rules)
    return len(stale)


def _renew(console: Console, locking: "Locking") -> int:
    """Ask about each entry that is another one at its registry; give how many were changed."""
    import anyio  # noqa: PLC0415 - `--help` does not pay for it

    from pml.assembly.locking import opened_loader  # noqa: PLC0415

    async def renew() -> int:
        count = 0
        async with opened_loader(locking) as loader:
            for one in await _current(console, loader, locking.store.load()):
                asked = Differences(newer=(one,))
                if one.changed is not None and _asked(console, asked, "lock this version?"):
                    loader.accept(one.changed, one.kept)
                    count += 1
        return count

    return anyio.run(renew) if locking.config.registries else 0


def _newer(console: Console, locking: "Locking", lockfile: "Lockfile") -> "tuple[Current, ...]":
    import anyio  # noqa: PLC0415 - see above

    from pml.assembly.locking import opened_loader  # noqa: PLC0415

    async def ask() -> "tuple[Current, ...]":
        async with opened_loader(locking) as loader:
            return await _current(console, loader, lockfile)

    return anyio.run(ask) if locking.config.registries else ()


async def _current(
    console: Console, loader: "CapabilityLoader", lockfile: "Lockfile"
) -> "tuple[Current, ...]":
    """Ask for what is current of all that came from a registry; give what is another one."""
    found = []
    for name, entry in lockfile.named():
        if entry.url is None:
            continue
        console.status(f"asking for {name.base} ...")
        try:
            found.append(await loader.update(name))
        except PmlError as error:
            console.warning(f"{name.base}: {error.message}")
    console.status("")
    return tuple(one for one in found if one.changed is not None)


def _locking(*, writes: bool = False) -> "Locking":
    from pml.assembly.locking import locking_of  # noqa: PLC0415 - `--help` does not pay for it

    environ = process_environment()
    return locking_of(here(environ).path, environ, Path.home(), writes=writes)


def _stale(lockfile: "Lockfile", locking: "Locking") -> "tuple[EntryChange, ...]":
    from pml.loader.lockfile import compared  # noqa: PLC0415 - see above

    return compared(lockfile, lockfile.cleaned(locking.rules))


def _edits(locking: "Locking", found: "Found") -> "tuple[EntryChange, ...] | None":
    from pml.loader.lockfile import compared  # noqa: PLC0415 - see above

    last = locking.store.last_good()
    return None if last is None else compared(last, found.lockfile)


def _damages(states: "Sequence[EntryState]") -> list[PmlError]:
    from pml.loader.lockfile import LockfileError  # noqa: PLC0415 - see above

    return [
        LockfileError(state.problem, hint="nothing of it is run until it is what was locked")
        for state in states
        if state.problem is not None
    ]


def _complaints(locking: "Locking", found: "Found", *, frozen: bool) -> list[PmlError]:
    """Say what is wrong with the file as a whole."""
    from pml.loader import lockfile as errors  # noqa: PLC0415 - see above

    store, now = locking.store, found.lockfile
    if not frozen:
        ours = store.is_ours(found)
        return [] if ours else [store.untrusted(found)]
    if found.sha256 is None:
        return [errors.LockfileFrozenError(store.path, "there is none")]
    return [
        errors.LockfileFrozenError(store.path, f"no rule speaks of {change.name} any more")
        for change in errors.compared(now, now.cleaned(locking.stated))
    ]


def _asked(console: Console, differences: Differences, question: str) -> bool:
    lines = "\n".join(differences.lines())
    answer = answer_to(console, f"{lines}\n{question} [y/N] ")
    return answer.strip().lower() in ("y", "yes")
