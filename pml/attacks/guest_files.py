"""Programs that reach for files outside their mounted folder, or for those that tools obey.

Each is a list of steps. They are made by a real program in a real guest; and, to show that they
would do harm, by a host that joins paths as they come.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pml.attacks.attack import Attack, Risk, Stage, Tried, refused, through
from pml.secret_files import is_secret_path
from sandbox_host import Call, Completed, Failed, Limits, Mount, Sandbox

LIMITS = Limits(wall_seconds=10.0, cpu_seconds=2.0)

PROGRAM = """
const told = [];
let problem;
const doing = {
    read: (path) => Deno.readTextFile(path),
    list: async (path) => {
        const names = [];
        for await (const entry of Deno.readDir(path)) names.push(entry.name);
        return names.join();
    },
    write: (path) => Deno.writeTextFile(path, args.token),
    rename: (path, to) => Deno.rename(path, to),
    mkdir: (path) => Deno.mkdir(path, {recursive: true}),
    remove: (path) => Deno.remove(path, {recursive: true}),
};
for (const [what, ...paths] of args.steps)
    try { told.push(await doing[what](...paths) ?? "") } catch (error) { problem ??= error.name }
return {told: told.join(), problem: problem ?? "nothing"};
"""
"""Makes the steps one after the other, whatever becomes of each."""

Step = tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class World:
    """`mount` is what the program is given; beside it lies what it wants."""

    folder: Path
    token: str

    @property
    def mount(self) -> Path:
        """The folder that the program may use."""
        return self.folder / "mount"

    @property
    def target(self) -> Path:
        """What must not be made."""
        return self.folder / "target"

    def laid_out(self) -> "World":
        """Make folders and files; some of those in the mount came with a hostile repository."""
        for name in ("mount/sub", "mount/.git/hooks", "mount/repo/.git", "mount_evil", "outside"):
            (self.folder / name).mkdir(parents=True)
        secret = ("secret", "mount_evil/secret", "outside/secret", "mount/.env", "mount/keys.pem")
        for name in secret:
            (self.folder / name).write_text(self.token)
        for name in (".git/config", "repo/.git/config", ".mcp.json", "plain.txt"):
            (self.mount / name).write_text("as it was")
        for name, to in {"link": "../secret", "folder": "../outside", "hop": "folder/secret",
                         "alias": ".git", "harmless.txt": ".env", "out": "../target"}.items():  # fmt: skip
            (self.mount / name).symlink_to(to)
        return self

    def filled(self, step: Step) -> Step:
        """Put the folder into a step that names an absolute path."""
        return tuple(part.replace("{folder}", str(self.folder)) for part in step)


def _read(world: World, told: str) -> str | None:
    return "read the secret" if world.token in told else None


def _listed(_: World, told: str) -> str | None:
    return f"listed {told}" if "secret" in told else None


def _environment(_: World, told: str) -> str | None:
    return "read the host's environment" if told.strip(", ") else None


def _made(world: World, _: str) -> str | None:
    return "made a file outside" if os.path.lexists(world.target) else None


def _gone(world: World, _: str) -> str | None:
    return None if (world.folder / "secret").exists() else "removed a file outside"


def _changed(*names: str) -> Callable[[World, str], str | None]:
    """Look whether a file of the mount is there with other content, or is gone."""

    def look(world: World, _: str) -> str | None:
        for name in names:
            path = world.mount / name
            if not path.is_file() or path.read_text() != "as it was":
                return f"changed {name}"
        return None

    return look


def _planted(*names: str) -> Callable[[World, str], str | None]:
    def look(world: World, _: str) -> str | None:
        found = [name for name in names if os.path.lexists(world.mount / name)]
        return f"planted {found[0]}" if found else None

    return look


Judge = Callable[[World, str], str | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Reach:
    """One way to get at a file."""

    name: str
    risk: Risk
    title: str
    steps: Sequence[Step]
    judge: Judge
    """Says what was taken, if something was."""

    writable: bool = True


REACHES = (
    Reach("parent", Risk.SCOPE, "reads `../secret`", [("read", "../secret")], _read),
    Reach("absolute", Risk.SCOPE, "reads an absolute path", [("read", "{folder}/secret")], _read),
    Reach("detour", Risk.SCOPE, "leaves a folder of the mount by `..`", [("read", "sub/../../secret")], _read),
    Reach("sibling", Risk.SCOPE, "reads a folder whose name begins like the mount's", [("read", "{folder}/mount_evil/secret")], _read),
    Reach("link", Risk.SCOPE, "reads through a link that came with the repository", [("read", "link")], _read),
    Reach("folder-link", Risk.SCOPE, "reads below a linked folder", [("read", "folder/secret")], _read),
    Reach("link-chain", Risk.SCOPE, "reads through a link to a link", [("read", "hop")], _read),
    Reach("trailing-slash", Risk.SCOPE, "lists a linked folder by a path that ends in a slash", [("list", "folder/")], _listed),
    Reach("list-parent", Risk.SCOPE, "lists the folder above", [("list", "..")], _listed),
    Reach("proc-environ", Risk.SECRETS, "reads the host's environment from /proc", [("read", "/proc/self/environ")], _environment),
    Reach("write-parent", Risk.SCOPE, "writes `../target`", [("write", "../target")], _made),
    Reach("write-link", Risk.SCOPE, "writes through a link that leads out", [("write", "out")], _made),
    Reach("move-out", Risk.SCOPE, "moves a file out of the mount", [("rename", "plain.txt", "../target")], _made),
    Reach("move-in", Risk.SCOPE, "moves a file from outside into the mount", [("rename", "../secret", "taken"), ("read", "taken")], _read),
    Reach("make-folder", Risk.SCOPE, "makes a folder outside", [("mkdir", "../target")], _made),
    Reach("remove", Risk.SCOPE, "removes a file outside", [("remove", "../secret")], _gone),
    Reach("read-only", Risk.SCOPE, "writes in a mount that is only to be read", [("write", "plain.txt")], _changed("plain.txt"), writable=False),
    Reach("read-only-move", Risk.SCOPE, "replaces a file of a read-only mount by another", [("rename", ".git/config", "plain.txt"), ("remove", "plain.txt")], _changed("plain.txt"), writable=False),
    Reach("client-file", Risk.SHADOW, "adds a server to the client's `.mcp.json`", [("write", ".mcp.json")], _changed(".mcp.json")),
    Reach("own-rules", Risk.AUTHORISATION, "writes itself permissions in `.pml.json`", [("write", ".pml.json")], _planted(".pml.json")),
    Reach("moved-rules", Risk.AUTHORISATION, "moves a file of its own to `.pml.json`", [("write", "m"), ("rename", "m", "sub/../.pml.json")], _planted(".pml.json")),
    Reach("hook", Risk.INJECTION, "plants a git hook, which runs at the next commit", [("write", ".git/hooks/pre-commit")], _planted(".git/hooks/pre-commit")),
    Reach("hook-by-link", Risk.INJECTION, "plants it through another name of `.git`", [("write", "alias/hooks/pre-commit")], _planted(".git/hooks/pre-commit")),
    Reach("hook-by-moving", Risk.INJECTION, "moves the repository's folder, then changes its git settings", [("rename", "repo", "r2"), ("write", "r2/.git/config"), ("rename", "r2", "repo")], _changed("repo/.git/config")),
    Reach("swapped-git", Risk.INJECTION, "takes `.git` away, to put its own in its place", [("rename", ".git", "g"), ("mkdir", ".git"), ("write", ".git/config")], _changed(".git/config")),
    Reach("other-case", Risk.INJECTION, "writes `.VSCode/tasks.json`, the same file elsewhere", [("mkdir", ".VSCode"), ("write", ".VSCode/tasks.json")], _planted(".VSCode/tasks.json")),
    Reach("two-halves", Risk.INJECTION, "puts a shell's start-up folder together from halves", [("mkdir", "c/fish"), ("write", "c/fish/config.fish"), ("rename", "c", ".config")], _planted(".config/fish/config.fish")),
    Reach("env-file", Risk.SECRETS, "reads the workspace's `.env`", [("read", ".env")], _read),
    Reach("env-by-link", Risk.SECRETS, "reads it through a link with a harmless name", [("read", "harmless.txt")], _read),
    Reach("env-by-moving", Risk.SECRETS, "moves it to a harmless name, then reads it", [("rename", ".env", "a.txt"), ("read", "a.txt")], _read),
    Reach("private-key", Risk.SECRETS, "reads a private key in the workspace", [("read", "keys.pem")], _read),
)  # fmt: skip


def _attack(reach: Reach) -> Attack:
    async def unprotected(stage: Stage) -> Tried:
        world = World(stage.folder, stage.token).laid_out()
        told = [_naively(world, step) for step in reach.steps]
        taken = reach.judge(world, ",".join(told))
        return through(taken) if taken else refused("the host did nothing")

    async def protected(stage: Stage) -> Tried:
        world = World(stage.folder, stage.token).laid_out()
        return await _in_guest(world, reach)

    name = f"guest-files/{reach.name}"
    return Attack(name, reach.risk, f"a program {reach.title}", unprotected, protected)


ATTACKS = tuple(_attack(reach) for reach in REACHES)


def _naively(world: World, step: Step) -> str:
    """Do what a host does that joins paths and looks at nothing."""
    what, *names = world.filled(step)
    path, *rest = (world.mount / name for name in names)
    try:
        match what:
            case "read":
                return path.read_text(errors="replace")
            case "list":
                return ",".join(one.name for one in path.iterdir())
            case "write":
                path.write_text(world.token)
            case "rename":
                path.rename(rest[0])
            case "mkdir":
                path.mkdir(parents=True, exist_ok=True)
            case "remove":
                path.unlink()
    except OSError:
        return ""
    return ""


async def _in_guest(world: World, reach: Reach) -> Tried:
    mount = Mount(
        world.mount, writable=reach.writable, guest_path="/mount", conceals=is_secret_path
    )
    told: Any = {"steps": [list(world.filled(step)) for step in reach.steps], "token": world.token}
    async with Sandbox(limits=LIMITS, mounts=[mount]) as sandbox:
        outcome = await sandbox.run(PROGRAM, host=_nobody, args=told)
    if isinstance(outcome, Failed):
        raise outcome.error
    value = outcome.value if isinstance(outcome, Completed) else {}
    taken = reach.judge(world, value["told"])
    return through(taken) if taken else refused(value["problem"])


async def _nobody(call: Call) -> None:
    """Answer the calls of programs that make none."""
