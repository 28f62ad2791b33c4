"""The guest: whether it computes, and whether it holds, by attacking it.

A program and a WebAssembly module of their own try what would be a way out of a mounted folder,
and beside it what is granted: a guest in which nothing works at all would refuse everything too.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pml.diagnosis.bait import ATTEMPTS, Bait, laid_out
from pml.diagnosis.finding import Finding, error, of_problem, ok
from sandbox_host import Call, Completed, Limits, Mount, Outcome, Sandbox
from sandbox_host.engine.runtime import shared_runtimes

LIMITS = Limits(wall_seconds=10.0, cpu_seconds=2.0)
"""For programs that take milliseconds."""

PROGRAM = """
const read = [];
for (const path of [args.secret, "../secret", "link"])
    try { read.push(await Deno.readTextFile(path)) } catch {}
for (const path of [args.target, "../target"])
    try { await Deno.writeTextFile(path, "x") } catch {}
try { await fetch(args.url) } catch {}
await Deno.writeTextFile("written", "x");
return {granted: await Deno.readTextFile("granted"), read: read.join()};
"""

MODULE = bytes.fromhex(
    "0061736d0100000001140360057f7f7f7f7f017f60037f7f7f017f6000000256"
    "0216776173695f736e617073686f745f70726576696577310c706174685f7379"
    "6d6c696e6b000016776173695f736e617073686f745f70726576696577311570"
    "6174685f6372656174655f6469726563746f7279000103020102050301000107"
    "1002066d656d6f727902000372756e00020a1a01180041004109410341094107"
    "10001a41034110410410011a0b0b1a010041000b142e2e2f736563726574706c"
    "616e7465646d616465"
)
"""Asks WASI for a link `planted` to `../secret` and for a folder `made`; a test has its text.

JavaScript has no function for links, so a program in it would prove nothing.
"""

_DANGER = "run no program of others here, and report this as a bug of pml"
_BROKEN = "install the package again: pip install --force-reinstall pml"
_LINK = "planting a link that leads out"
_TRIED = (*(words for name, words in ATTEMPTS.items() if name != "see"), _LINK)


async def attack() -> tuple[Finding, ...]:
    """Compute something in a fresh guest, then try to get out of one."""
    async with Sandbox(limits=LIMITS) as sandbox:
        outcome = await sandbox.run("1 + 1", host=_nothing)
    if not isinstance(outcome, Completed) or outcome.value != 1 + 1:
        return (_failed("guest program", outcome),)
    image = len(shared_runtimes().javascript.image())
    works = ok("guest program", f"1 + 1 is 2, in a fresh guest from an image of {image >> 10} KiB")
    async with laid_out() as bait:
        folder = bait.folder / "mount"
        folder.mkdir()
        return works, *await escapes(bait, folder)


async def escapes(bait: Bait, folder: Path) -> tuple[Finding, ...]:
    """Mount a folder and try to get at the bait from there."""
    (folder / "granted").write_text("granted")
    (folder / "link").symlink_to("../secret")
    told = {
        "secret": str(bait.secret),
        "target": str(bait.target),
        "url": f"http://127.0.0.1:{bait.port}/",
    }
    async with Sandbox(limits=LIMITS, mounts=[Mount(folder, writable=True)]) as sandbox:
        outcome = await sandbox.run(PROGRAM, host=_nothing, args=told)
        planted = await sandbox.run_wasm(MODULE, host=_nothing)
    if not isinstance(outcome, Completed):
        return (_failed("guest escapes", outcome),)
    if not isinstance(planted, Completed):
        return (_failed("guest escapes", planted),)
    return tuple(_judged(bait, folder, outcome.value))


def _judged(bait: Bait, folder: Path, value: Any) -> Iterator[Finding]:
    """Say what came of the attempts, by what is on the disk now."""
    granted = (folder / "written").exists() and (folder / "made").is_dir()
    if not granted or value["granted"] != "granted":
        fact = "nothing is proved: what was granted does not work either"
        yield error("guest escapes", fact, _BROKEN)
        return
    through = [ATTEMPTS[name] for name in sorted(bait.taken(value["read"]))]
    if (folder / "planted").is_symlink():
        through.append(_LINK)
    for words in through:
        yield error("guest escapes", f"not refused: {words}", _DANGER)
    if not through:
        yield ok("guest escapes", f"tried and refused: {', '.join(_TRIED)}")


def _failed(subject: str, outcome: Outcome) -> Finding:
    problem = getattr(outcome, "error", None)
    if problem is None:
        return error(subject, "the program gave something else than it should", _BROKEN)
    return of_problem(subject, problem, _BROKEN)


async def _nothing(call: Call) -> None:
    """Answer the calls of programs that make none."""
