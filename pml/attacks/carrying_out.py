"""Carries attacks out, one after the other, and judges each; none can hang or end the whole.

An attack that crashes the harness is `broken`, one that does not end in time too: neither is ever
counted as refused.
"""

import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import anyio

from pml.attacks.attack import Attack, Attempt, Outcome, Stage, Tried, UnprovableError, Verdict
from pml.confinement import Level, Support, probe
from pml.diagnosis import Surroundings
from pml.diagnosis.bounded import bounded, on_a_thread
from pml.diagnosis.finding import Finding
from sandbox_host.errors import printable

ATTEMPT_SECONDS = 20.0
"""For one attempt; the slowest takes about two seconds."""

_MOST_WORDS = 160

Attempted = Tried | UnprovableError | str
"""What came of it, why it cannot be proved here, or what broke it."""


async def carried_out(attacks: Iterable[Attack], around: Surroundings) -> AsyncIterator[Outcome]:
    """Make each attack twice and say what it has shown, in their order."""
    found = await bounded("os sandbox", lambda: on_a_thread(lambda: probe(around.environ)))
    support = Support(Level.OFF, reason=found.fact) if isinstance(found, Finding) else found
    for attack in attacks:
        yield await _shown(attack, around, support)


async def _shown(attack: Attack, around: Surroundings, support: Support) -> Outcome:
    free = await _tried(attack.unprotected, around, support)
    held = await _tried(attack.protected, around, support)
    return judged(attack, free, held)


def judged(attack: Attack, free: Attempted, held: Attempted) -> Outcome:
    """Say what two attempts mean; text stands for one that broke. Pure."""
    told = _words(free), _words(held)
    if isinstance(held, Tried) and held.got_through:
        return Outcome(attack, Verdict.THROUGH, *told)
    if isinstance(free, str) or isinstance(held, str):
        return Outcome(attack, Verdict.BROKEN, *told)
    proved = isinstance(free, Tried) and free.got_through and isinstance(held, Tried)
    return Outcome(attack, Verdict.REFUSED if proved else Verdict.NOT_PROVED, *told)


def _words(tried: Attempted) -> str:
    text = tried.words if isinstance(tried, Tried) else str(tried)
    return printable(" ".join(text.split()), _MOST_WORDS)


async def _tried(attempt: Attempt, around: Surroundings, support: Support) -> Attempted:
    """Make one attempt on a stage of its own; give what broke it as text."""
    folder = _private_folder()
    stage = Stage(folder, secrets.token_hex(16), support, around.environ, around.home)
    try:
        with anyio.fail_after(ATTEMPT_SECONDS):
            return await attempt(stage)
    except UnprovableError as problem:
        return problem
    except TimeoutError:
        return f"it did not end within {ATTEMPT_SECONDS:g} s"
    except Exception as problem:  # noqa: BLE001 - an outcome, whatever it is
        return f"{type(problem).__name__}: {problem}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _private_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="pml-attack-")).resolve()
