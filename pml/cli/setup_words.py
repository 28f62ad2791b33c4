"""What `pml init` shows of a plan: files, servers with their command lines, what to do next.

All that comes from a client's file is escaped; of a key only its variable is shown.
"""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pml.cli.console import Console, shown

if TYPE_CHECKING:
    from pml.onboarding import Found, Left, SetupPlan, Taken

_MOST_CHARACTERS = 500
_WAITS = "comes with the workspace: waits for pml trust"
_TWICE = (
    "the clients still have the servers that were taken over: remove them there, or their tools"
    " are offered twice and without PML's questions"
)
_GRANTS = (
    "servers start confined: what one needs beside its own program (files, network) is granted in"
    " its `sandbox`; pml doctor and pml servers tell"
)


def listed(plan: "SetupPlan", seen: "Found | None") -> list[str]:
    """Say which files become what, and which servers are taken over; `seen` was shown before."""
    lines = [f"  {change.action:9}  {_line(str(change.path))}" for change in plan.changes]
    lines += [f"  backup     {_line(str(one.backup))}" for one in plan.changes if one.backup]
    cloud = plan.wishes.cloud.url
    lines += [f"  cloud      {_line(cloud)}"] if cloud else []
    if plan.taken and plan.found == seen:
        return [*lines, f"  servers    {', '.join(one.name for one in plan.taken)}"]
    return [*lines, *(offered(plan.found) if plan.wishes.take_over else [])]


def offered(found: "Found") -> list[str]:
    """Show servers with all that would be started, and those that stay where they are."""
    lines = ["servers of your clients:"] if found.taken else []
    for one in found.taken:
        lines += _server(one)
    lines += ["left alone:"] if found.left else []
    return [*lines, *(f"  {words}" for words in map(_left, found.left))]


def print_files(console: Console, plan: "SetupPlan") -> None:
    """Tell what was done."""
    for change in plan.changes:
        console.text(f"{change.action:9}  {_line(str(change.path))}")
    for one in plan.taken:
        console.text(f"{'taken':9}  {one.name}: {_line(str(one.place))}")
    if plan.wishes.take_over:
        for left in plan.found.left:
            console.text(f"{'left':9}  {_left(left)}")


def print_additions(console: Console, plan: "SetupPlan", *, as_json: bool) -> None:
    """Show what would be added to each file."""
    if as_json:
        console.document(facts(plan, None))
        return
    for change in plan.changes:
        if change.is_written:
            lines = [f"+{_line(line)}" for line in change.added.splitlines()]
            console.text("\n".join([f"+++ {_line(str(change.path))}", *lines]))
    if plan.wishes.take_over:
        for line in offered(plan.found):
            console.text(line)
    if not plan.is_needed:
        console.text("nothing to do")


def hints(console: Console, plan: "SetupPlan", waiting: tuple[str, ...]) -> None:
    """Say what the user should know, and what to do next."""
    from pml.onboarding import next_step  # noqa: PLC0415 - `--help` does not pay for it

    if plan.wishes.program.note:
        console.warning(plan.wishes.program.note)
    if plan.note:
        console.warning(plan.note)
    if plan.unset:
        console.warning(f"neither in .env nor in the environment: {', '.join(plan.unset)}")
        console.hint("write them into .env, or keep them in the keyring: keyring set pml NAME")
    if plan.taken:
        console.hint(_TWICE)
        console.hint(_GRANTS)
    elif plan.found.taken:
        names = ", ".join(one.name for one in plan.found.taken)
        console.hint(f"servers of your clients that pml init --import takes over: {names}")
    if waiting:
        what = ", ".join(waiting)
        console.warning(f"{plan.config.path}: not used before you have looked at it: {what}")
        console.hint("pml trust")
        return
    console.hint(next_step(plan.wishes.client, plan.around.workspace))


def facts(plan: "SetupPlan", waiting: tuple[str, ...] | None) -> dict[str, Any]:
    """Give all of it as data; no key is in it. None waits where nothing was written."""
    return {
        "workspace": str(plan.around.workspace),
        "files": [
            {
                "path": str(change.path),
                "action": change.action,
                "backup": str(change.backup) if change.backup else None,
            }
            for change in plan.changes
        ],
        "servers": [_server_facts(one) for one in plan.found.taken],
        "leftAlone": [
            {"name": one.name, "file": str(one.place.path), "reason": one.reason}
            for one in plan.found.left
        ],
        "imported": plan.wishes.take_over,
        "unset": list(plan.unset),
        "waiting": list(waiting or ()),
        "trusted": waiting == (),
    }


def _server_facts(taken: "Taken") -> dict[str, Any]:
    return {
        "name": taken.name,
        "client": taken.place.client,
        "file": str(taken.place.path),
        "own": taken.place.is_own,
        "entry": dict(taken.entry),
    }


def _server(taken: "Taken") -> Iterator[str]:
    entry = taken.entry
    words = [entry["url"]] if "url" in entry else [entry["command"], *entry["args"]]
    line = shlex.join(words)
    # of what the yes to come does not cover, `pml trust` shows the rest
    is_cut = not taken.place.is_own and len(line) > _MOST_CHARACTERS
    yield f"  {taken.name}: {_line(line[:_MOST_CHARACTERS] if is_cut else line)}{'…' * is_cut}"
    for block in ("env", "headers"):
        for name, text in entry.get(block, {}).items():
            yield f"    {block:7} {_line(name)}: {_line(text)}"
    if "sandbox" in entry:
        yield "    sandbox network, may start other programs"
    yield f"    from    {_line(', '.join(map(str, (taken.place, *taken.also))))}"
    if not taken.place.is_own:
        yield f"    {_WAITS}"


def _left(left: "Left") -> str:
    name = f"{left.name}: " if left.name else ""
    return _line(f"{name}{left.reason} ({left.place})")


def _line(text: str) -> str:
    """Show on one line: a line break of a file must not begin a line of ours."""
    return shown(text).replace("\n", "\\n").replace("\t", " ")
