"""Takes known secrets out of a run before anyone sees it. Pure.

A server may give a key back, in a result or an error; the program may log it. Whoever reads the
outcome may be a model.
"""

import dataclasses
from collections.abc import Sequence

from pml.execution.runner import Run
from pml.redaction import Redactor
from sandbox_host import Completed, Failed, Log, Suspended


def masked(run: Run, redactor: Redactor) -> Run:
    """Give the same run without secrets."""
    match run.outcome:
        case Completed() as done:
            value, logs = redactor.value(done.value), _logs(done.logs, redactor)
            return dataclasses.replace(run, outcome=Completed(value, logs, done.calls))
        case Failed() as failed:
            error = failed.error
            error.message = redactor.text(error.message)
            logs = _logs(failed.logs, redactor)
            return dataclasses.replace(run, outcome=Failed(error, logs, failed.calls))
        case Suspended() as waiting:
            logs = _logs(waiting.logs, redactor)
            return dataclasses.replace(
                run, outcome=Suspended(waiting.calls, logs, waiting.answered)
            )


def _logs(logs: Sequence[Log], redactor: Redactor) -> tuple[Log, ...]:
    return tuple(Log(log.level, redactor.text(log.text)) for log in logs)
