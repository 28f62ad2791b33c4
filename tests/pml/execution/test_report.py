import json

from pml.errors import SourceUnreadableError
from pml.execution.report import error_report, run_report
from pml.execution.runner import Run
from sandbox_host import CallRecord, Completed, Failed, Log, NothingToWaitFor


def test_a_success_is_its_result_and_its_history() -> None:
    call = CallRecord(1, "a:b", "ok", 1.23456, 2, 3)
    run = Run(
        Completed({"x": None}, (Log("info", "hi"),), (call,)), ("/w/.git (protected: .git)",)
    )
    assert run_report(run) == {
        "status": "success",
        "result": {"x": None},
        "logs": [{"level": "info", "text": "hi"}],
        "calls": [
            {
                "id": 1,
                "tool": "a:b",
                "outcome": "ok",
                "milliseconds": 1.235,
                "line": 2,
                "column": 3,
            }
        ],
        "refusedFiles": ["/w/.git (protected: .git)"],
    }


def test_a_failure_has_the_same_keys_before_and_during_a_run() -> None:
    during = run_report(Run(Failed(NothingToWaitFor())))
    before = error_report(SourceUnreadableError("a.ts", "gone"))
    assert during.keys() == before.keys()
    assert (during["status"], during["code"]) == ("error", "deadlock")
    assert (before["status"], before["code"]) == ("error", "source_unreadable")
    json.dumps([during, before])
