"""Carries checks out so that none of them can hang or break the whole.

What blocks runs on a thread of its own that does not keep the process alive: a dead network drive
or a keyring that waits for its password cannot be interrupted, only left behind.
"""

import contextlib
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel

from pml.diagnosis.finding import Finding, error, of_problem
from pml.errors import PmlError
from sandbox_host import SandboxError

Result = TypeVar("Result")

CHECK_SECONDS = 20.0
"""For one check; the slowest that starts no server takes about one second."""

_HANGS = "find out what it waits for: a network drive, a keyring, a machine under load"
_BUG = "this is a bug of pml: please report it"
_MEND = "mend what it names, then run `pml doctor` again"


async def bounded(
    subject: str, look: Callable[[], Awaitable[Result]], seconds: float = CHECK_SECONDS
) -> Result | Finding:
    """Give what a check gives; an error about itself if it does not end in time, or raises."""
    try:
        with anyio.fail_after(seconds):
            return await look()
    except TimeoutError:
        return error(subject, f"the check did not end within {seconds:g} s", _HANGS)
    except (PmlError, SandboxError) as problem:
        return of_problem(subject, problem, _MEND)
    except OSError as problem:
        where = f": {problem.filename}" if problem.filename else ""
        return error(subject, f"{problem.strerror or problem}{where}", _MEND)
    except Exception as problem:  # noqa: BLE001 - a finding, whatever it is
        return error(subject, f"the check failed: {type(problem).__name__}: {problem}", _BUG)


async def on_a_thread(work: Callable[[], Result]) -> Result:
    """Do what blocks; when cancelled, it is left alone."""
    ended = anyio.Event()
    results: list[Result] = []
    problems: list[BaseException] = []
    token = anyio.lowlevel.current_token()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as problem:  # noqa: BLE001 - raised below, where it is waited for
            problems.append(problem)
        with contextlib.suppress(anyio.RunFinishedError):
            anyio.from_thread.run_sync(ended.set, token=token)

    threading.Thread(target=run, name="pml-doctor", daemon=True).start()
    await ended.wait()
    if problems:
        raise problems[0]
    return results[0]
