"""The OS sandbox: which level this machine gives, and whether it holds, by attacking it.

The same program makes the same attempts twice. Without a sandbox they must succeed, or the probe
proves nothing; confined as a server without grants they must fail, as far as the level promises.
"""

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import anyio

from pml.backends.stdio.process import opened
from pml.confinement import Confined, Grants, Level, Places, Program, Support, confine
from pml.diagnosis import attempts
from pml.diagnosis.bait import ATTEMPTS, CONNECT, SEE, Bait, laid_out
from pml.diagnosis.errors import SandboxUntriedError
from pml.diagnosis.finding import Finding, error, ok, warning

_PROMISED: Mapping[Level, frozenset[str]] = {
    Level.FULL: frozenset(ATTEMPTS),
    Level.LANDLOCK: frozenset(ATTEMPTS),
    Level.PARTIAL: frozenset({CONNECT}),
    Level.OFF: frozenset(),
}
_MOST_BYTES = 1 << 16  # of what the attempts print
_END_SECONDS = 5.0  # for a process whose output has ended
_KERNEL = "boot Linux 5.13 or newer with `landlock` among the `lsm=` of its command line"
_NOTHING = "run pml on Linux, on x86_64 or aarch64"
_DANGER = "start no server here: set `sandbox.require` to `full`, and report this as a bug of pml"
_PARTIAL = "get a better level, as said above"


def look_at_level(support: Support) -> Finding:
    """Say which level there is, and how to get a better one."""
    made_of = f"bubblewrap: {support.bwrap_version or 'no'}"
    fact = f"{support.best} ({made_of}, Landlock ABI: {support.landlock_abi or 'no'})"
    if support.best is not Level.FULL:
        told = f"{fact}, not full: {support.reason}"
        if support.landlock_abi == 0 and support.best is Level.PARTIAL:
            return warning("os sandbox", told, f"{support.hint}; or {_KERNEL}")
        return warning("os sandbox", told, support.hint or _NOTHING)
    if support.landlock_abi == 0:
        return warning("os sandbox", f"{fact}: no second line of defence", _KERNEL)
    return ok("os sandbox", fact)


async def attack(
    support: Support, environ: Mapping[str, str], home: Path, level: Level | None = None
) -> tuple[Finding, ...]:
    """Try to get out of a sandbox of a level, the best one if none is named."""
    chosen = level or support.best
    if chosen is Level.OFF:
        return ()  # nothing is promised, and `look_at_level` has said so
    async with laid_out() as bait:
        free = await _unconfined(bait)
        held = await _confined(bait, _sandboxed(bait, support, environ, home, chosen))
    return tuple(judged(chosen, free, held))


def judged(level: Level, free: Collection[str], held: Collection[str]) -> Iterator[Finding]:
    """Say what attempts that went through without a sandbox, and in it, mean. Pure."""
    subject = f"escapes ({level})"
    promised = _PROMISED[level]
    proved = [words for name, words in ATTEMPTS.items() if name in free and name not in held]
    if proved:
        yield ok(subject, f"tried and refused: {', '.join(proved)}")
    for name, words in ATTEMPTS.items():
        if name in held and name in promised:
            yield error(subject, f"not refused: {words}", _DANGER)
        elif name in held:
            yield warning(subject, f"not refused at this level: {words}", _PARTIAL)
        elif name not in free:
            fact = f"not proved, as it fails without a sandbox too: {words}"
            yield warning(subject, fact, "run `pml doctor` outside of any other sandbox")


def _command(bait: Bait) -> tuple[str, ...]:
    code = Path(attempts.__file__).read_text(encoding="utf-8")
    told = (str(bait.secret), str(bait.target), str(bait.port), bait.token)
    return (os.path.realpath(sys.executable), "-I", "-S", "-c", code, *told)


def _sandboxed(
    bait: Bait, support: Support, environ: Mapping[str, str], home: Path, level: Level
) -> Confined:
    command, *arguments = _command(bait)
    workspace, private, tmp = (bait.folder / name for name in ("workspace", "home", "tmp"))
    for folder in (workspace, private, tmp):
        folder.mkdir(mode=0o700)
    places = Places(workspace, private, tmp, home)
    program = Program(command, tuple(arguments))
    return confine(
        program, Grants(), places, support=support, environ=environ, level=level, floor=level
    )


async def _unconfined(bait: Bait) -> frozenset[str]:
    done = await anyio.run_process(_command(bait), stderr=subprocess.DEVNULL, env={}, check=False)
    return _taken(bait, done.stdout)


async def _confined(bait: Bait, confined: Confined) -> frozenset[str]:
    told = b""
    async with opened("doctor", confined) as process:
        async for chunk in process.stdout:
            told = (told + chunk)[:_MOST_BYTES]
        await process.wait(_END_SECONDS)
        words = "; ".join(process.last_words) or process.end_reason()
    if not told:
        raise SandboxUntriedError(words)
    return _taken(bait, told)


def _taken(bait: Bait, told: bytes) -> frozenset[str]:
    report = json.loads(told)
    return bait.taken(str(report["read"]), {SEE} if report[SEE] else ())
