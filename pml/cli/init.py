"""`pml init`: a workspace and its client, ready to use.

Asks on the terminal itself; what a human sees there and agrees to is trusted as by `pml trust`.
No key is ever printed: what is shown of a file is what is added to it, with variables for keys.
"""

import datetime
import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.console import Console, shown
from pml.cli.exits import APPROVAL, DONE, FAILED, INTERRUPTED, process_environment
from pml.cli.opening import here, is_terminal
from pml.cli.setup_words import facts, hints, listed, offered, print_additions, print_files
from pml.cli.trust import answer_to
from pml.errors import TerminalNeededError

if TYPE_CHECKING:
    from pml.onboarding import Cloud, Found, SetupPlan, Surroundings, Wishes

_MOST_KEY_CHARACTERS = 4096
_ADDRESS = "address of a PML cloud, Enter for none (all that is local works without): "
_KEY = "key for {url}, Enter for none (not shown): "

ClientName = Annotated[
    str, typer.Option("--client", metavar="NAME", help="claude, cursor, vscode or codex.")
]


def init(  # noqa: PLR0913 - one parameter per option is typer's way
    context: typer.Context,
    *,
    client: ClientName = "claude",
    take_over: Annotated[
        bool, typer.Option("--import", help="Take over the servers of your clients.")
    ] = False,
    cloud: Annotated[
        str | None, typer.Option(metavar="URL", help="Use this cloud; asks for its key.")
    ] = None,
    key_from_stdin: Annotated[
        bool, typer.Option("--api-key-stdin", help="Read the cloud's key from stdin.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before writing.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print data for machines.")] = False,
) -> int:
    """Set this workspace up: .pml.json, the client's own file, .gitignore.

    A client's file keeps all that is in it; what changes is backed up beside it. --import takes
    over servers of Claude Code, Claude Desktop, Cursor, VS Code and Codex; their keys go to .env,
    which git ignores. What you agree to in a terminal is trusted; with --yes, servers and clouds
    wait for pml trust, and so does always what came with the workspace. Running it again changes
    nothing. Exit code 3 if something waits for your trust.
    """
    console: Console = context.obj
    from pml.onboarding import Cloud, plan_setup  # noqa: PLC0415 - `--help` does not pay for it

    around, wishes = _wishes(console, client)
    given = Cloud(cloud, _key_from_stdin() if key_from_stdin else None)
    plan = plan_setup(around, _with(wishes, given, take_over=take_over))
    if dry_run:
        print_additions(console, plan, as_json=as_json)
        return DONE
    if yes or not (plan.is_needed or cloud):
        return _carry_out(console, plan, human=False, as_json=as_json)
    if not is_terminal():
        raise TerminalNeededError("init")
    try:
        plan, agreed = _asked(console, plan)
    except KeyboardInterrupt:
        return INTERRUPTED
    if not agreed:
        console.error("nothing was written")
        return FAILED
    return _carry_out(console, plan, human=True, as_json=as_json)


def _asked(console: Console, plan: "SetupPlan") -> "tuple[SetupPlan, bool]":
    """Ask what was not said on the command line; give the plan, and whether it is wanted."""
    from pml.onboarding import plan_setup  # noqa: PLC0415 - as above

    wishes, seen = plan.wishes, None if plan.wishes.take_over else plan.found
    take_over = wishes.take_over or _wants_servers(console, plan)
    cloud = wishes.cloud
    if plan.config.before is None or cloud.url:
        cloud = _asked_cloud(console, cloud)
    plan = plan_setup(plan.around, _with(wishes, cloud, take_over=take_over))
    return plan, _agreed(console, plan, seen)


def _wishes(console: Console, client: str) -> "tuple[Surroundings, Wishes]":
    from pml.onboarding import Client, Surroundings, Wishes, find_program  # noqa: PLC0415 - as above

    if client not in list(Client):
        raise typer.BadParameter(f"{client} is none of {', '.join(Client)}")  # noqa: TRY003
    environ = process_environment()
    workspace = here(environ)
    if workspace.warning:
        console.warning(workspace.warning)
    around = Surroundings(workspace.path, environ, Path.home(), sys.platform)
    program = find_program(sys.argv[0], sys.executable, environ)
    return around, Wishes(Client(client), program)


def _with(wishes: "Wishes", cloud: "Cloud", *, take_over: bool) -> "Wishes":
    from pml.onboarding import Wishes  # noqa: PLC0415 - as above

    return Wishes(wishes.client, wishes.program, take_over, cloud)


def _key_from_stdin() -> str | None:
    """Read a key; as an argument, every program on the machine could read it."""
    return sys.stdin.read(_MOST_KEY_CHARACTERS).strip() or None


def _wants_servers(console: Console, plan: "SetupPlan") -> bool:
    if not plan.found.taken:
        return False
    question = "\n".join([*offered(plan.found), "take these servers over? [y/N] "])
    return _is_yes(answer_to(console, question))


def _asked_cloud(console: Console, given: "Cloud") -> "Cloud":
    """Ask for a cloud and its key, as far as they were not given."""
    from pml.onboarding import Cloud  # noqa: PLC0415 - as above

    url = given.url or (None if given.key else answer_to(console, _ADDRESS).strip() or None)
    if url is None or given.key:
        return Cloud(url, given.key)
    try:
        key = getpass.getpass(shown(_KEY.format(url=url))).strip()
    except (EOFError, OSError):
        key = ""
    return Cloud(url, key or None)


def _agreed(console: Console, plan: "SetupPlan", seen: "Found | None") -> bool:
    """Ask; Enter means yes only where no file is changed and no program could start."""
    if not plan.is_needed:
        return True
    lines = listed(plan, seen)
    choice = "[y/N]" if plan.is_careful else "[Y/n]"
    said = answer_to(console, "\n".join([*lines, f"write these files? {choice} "]))
    # nothing at all is no answer: nobody was there
    return _is_yes(said) or (said.strip() == "" and said != "" and not plan.is_careful)


def _is_yes(said: str) -> bool:
    return said.strip().lower() in ("y", "yes")


def _carry_out(console: Console, plan: "SetupPlan", *, human: bool, as_json: bool) -> int:
    from pml.onboarding import prepare_trust, trust_written, write_all  # noqa: PLC0415 - as above

    prepare_trust(plan, human=human)
    write_all(plan.changes)
    trust_written(plan, datetime.datetime.now(datetime.UTC), human=human)
    waiting = _waiting(plan)
    if as_json:
        console.document(facts(plan, waiting))
    else:
        print_files(console, plan)
    _warn_of_readers(console, plan)
    hints(console, plan, waiting)
    return APPROVAL if waiting else DONE


def _warn_of_readers(console: Console, plan: "SetupPlan") -> None:
    """Tell of a `.env` that others can read, if keys were added to it."""
    from pml.keys import Keys  # noqa: PLC0415 - as above

    if any(one.is_written and one.path.name == ".env" for one in plan.changes):
        for warning in Keys(plan.around.environ, plan.around.workspace).warnings:
            console.warning(warning)


def _waiting(plan: "SetupPlan") -> tuple[str, ...]:
    """Give what of the configuration waits for the human: servers, rules and the like."""
    from pml.keys import Keys, environ_with  # noqa: PLC0415 - as above
    from pml.trust import load_trusted  # noqa: PLC0415

    around = plan.around
    keys = Keys(around.environ, around.workspace)
    _, effect = load_trusted(around.workspace, environ_with(keys), around.home, keys)
    found = (".".join(change.path.split(".")[:2]) for change in effect.waiting)
    return tuple(dict.fromkeys(found))
