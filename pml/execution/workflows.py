"""Suspended runs on disk: each in a folder of the user's state, for the user alone.

    <state>/runs/<id>/run.json         what it is and what it waits for, keyed against forgery
    <state>/runs/<id>/<n>.snapshot     the program, frozen for the n-th time
    <state>/runs/<id>/<n>.journal      the calls since then
    <state>/runs/<id>/<question>.verdict   the human's word, made once
    <state>/runs/<id>/outcome.json     of one that ended elsewhere: what its client will collect

Whoever carries a run out holds its lock; only the holder writes `run.json`, and a new generation
counts from the moment that file names it. A verdict is a file of its own, so that it can be given
while another process waits. Nothing here decides and nothing here asks.
"""

import base64
import contextlib
import dataclasses
import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import blake3

from pml.execution.approvals import Approval, Verdict, approval_of
from pml.execution.errors import (
    ApprovalAnsweredError,
    ApprovalExpiredError,
    ApprovalUnknownError,
    TooManyWorkflowsError,
    VerdictUnfitError,
    WorkflowBrokenError,
    WorkflowBusyError,
    WorkflowError,
    WorkflowExpiredError,
    WorkflowTooLargeError,
    WorkflowUnknownError,
)
from pml.execution.journal import Journal
from pml.places import private_folder, write_private

MOST_RUNS = 100
"""Waiting at once in one workspace: more questions than anyone answers, so the oldest go."""

MOST_OUTCOMES = 100
"""Kept for clients that have not collected them."""

MOST_SNAPSHOT_BYTES = 64 << 20
LIFETIME_SECONDS = 7 * 24 * 3600.0
"""A run that nobody asked for in a week is not waited for."""

_ID = re.compile(r"[a-z2-7]{10}")
_ID_CHARACTERS = 10  # 50 random bits
_OUTCOME = "outcome.json"


def fresh_id() -> str:
    """Give a name that nobody guesses and that is easily typed."""
    random = base64.b32encode(secrets.token_bytes(_ID_CHARACTERS))
    return random[:_ID_CHARACTERS].decode().lower()


@dataclasses.dataclass(frozen=True, slots=True)
class StoredRun:
    """A run that waits."""

    id: str
    generation: int
    created: float
    expires: float
    code_hash: str
    name: str
    """The file, or `-e`."""

    request: Mapping[str, Any]
    """Limits and mounts, to be granted again when it goes on."""

    pending: tuple[Approval, ...]
    snapshot_hash: str = ""
    collectable: bool = False
    """Its outcome is kept for whoever began it."""

    def facts(self) -> dict[str, Any]:
        """Give it as JSON."""
        facts = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**facts, "pending": [one.facts() for one in self.pending]}


class RunStore:
    """The suspended runs of one workspace."""

    def __init__(self, folder: Path, key: bytes, clock: Callable[[], float] = time.time) -> None:
        """Name the folder; nothing is made before something waits."""
        self._folder = folder
        self._key = key
        self._clock = clock

    @contextlib.contextmanager
    def hold(self, run: str) -> Iterator[None]:
        """Have a run to oneself; raise `WorkflowBusyError` if another process has it."""
        descriptor = os.open(
            private_folder(self._path(run)) / "lock", os.O_RDWR | os.O_CREAT, 0o600
        )
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise WorkflowBusyError(run) from None
            yield
        finally:
            os.close(descriptor)

    def save(
        self, run: StoredRun, snapshot: bytes, *, let_go: Callable[[str], None] | None = None
    ) -> StoredRun:
        """Write the next generation of a run; the one before counts until this is whole.

        `let_go` hears of runs that nobody answered and that made room for this one.
        """
        if len(snapshot) > MOST_SNAPSHOT_BYTES:
            raise WorkflowTooLargeError(len(snapshot), MOST_SNAPSHOT_BYTES)
        if run.generation == 0:
            for gone in self._make_room():
                if let_go is not None:
                    let_go(gone)
        saved = dataclasses.replace(
            run,
            generation=run.generation + 1,
            snapshot_hash=blake3.blake3(snapshot).hexdigest(),
        )
        folder = private_folder(self._path(run.id))
        write_private(folder / f"{saved.generation}.snapshot", snapshot)
        write_private(folder / "run.json", self._sealed(saved.facts()))
        for old in (f"{run.generation}.snapshot", f"{run.generation}.journal"):
            (folder / old).unlink(missing_ok=True)
        return saved

    def load(self, run: str) -> StoredRun:
        """Read a run, with the verdicts that came meanwhile."""
        stored = self._read(run)
        if self._clock() >= stored.expires:
            raise WorkflowExpiredError(run)
        return dataclasses.replace(
            stored, pending=tuple(self._with_verdict(one) for one in stored.pending)
        )

    def snapshot(self, run: StoredRun) -> bytes:
        """Read the frozen program."""
        try:
            content = (self._path(run.id) / f"{run.generation}.snapshot").read_bytes()
        except OSError as error:
            raise WorkflowBrokenError(run.id, error.strerror or "its snapshot") from None
        if blake3.blake3(content).hexdigest() != run.snapshot_hash:
            raise WorkflowBrokenError(run.id, "its snapshot was changed")
        return content

    def journal(self, run: StoredRun) -> Journal:
        """Open what happened since the snapshot."""
        return Journal(self._path(run.id) / f"{run.generation}.journal", self._key)

    def all(self) -> tuple[tuple[StoredRun, ...], dict[str, WorkflowError]]:
        """Give the runs that wait, oldest first, and why others cannot be used."""
        runs: list[StoredRun] = []
        problems: dict[str, WorkflowError] = {}
        for name in self._ids():
            try:
                runs.append(self.load(name))
            except WorkflowError as problem:
                problems[name] = problem
        return tuple(sorted(runs, key=lambda run: run.created)), problems

    def find(self, approval: str) -> tuple[StoredRun, Approval]:
        """Find a question among the runs that wait."""
        for run in self.all()[0]:
            for one in run.pending:
                if one.id == approval:
                    return run, one
        raise ApprovalUnknownError(approval)

    def answer(self, approval: str, verdict: Verdict, value: Any = None) -> Approval:
        """Write the human's word, once."""
        run, one = self.find(approval)
        if one.verdict is not None:
            raise ApprovalAnsweredError(approval)
        if one.is_expired(self._clock()):
            raise ApprovalExpiredError(approval)
        if not one.takes(verdict):
            raise VerdictUnfitError(verdict, approval)
        path = self._path(run.id) / f"{approval}.verdict"
        facts = {**_identity(one), "verdict": verdict, "value": value}
        draft = path.with_name(f".{approval}-{secrets.token_hex(4)}")
        write_private(draft, self._sealed(facts))
        try:
            os.link(draft, path)  # never over an answer that came first
        except FileExistsError:
            raise ApprovalAnsweredError(approval) from None
        finally:
            draft.unlink(missing_ok=True)
        if not (path.parent / "run.json").exists():  # it was let go, or ended, that very moment
            raise ApprovalUnknownError(approval)
        return one.answered(verdict, value)

    def keep(self, run: StoredRun, report: Mapping[str, Any]) -> None:
        """Keep the outcome of a run that has ended, for as long as the run would have waited."""
        self._prune()
        facts = {"id": run.id, "expires": run.expires, "report": report}
        write_private(self._path(run.id) / _OUTCOME, self._sealed(facts))

    def collect(self, run: str) -> Mapping[str, Any] | None:
        """Give the outcome that was kept, once; None if there is none."""
        path = self._path(run) / _OUTCOME
        try:
            content = path.read_bytes()
        except OSError:
            return None
        facts = self._opened(content)
        if facts is None or facts.get("id") != run:
            raise WorkflowBrokenError(run, "its outcome was changed")
        shutil.rmtree(self._path(run), ignore_errors=True)
        if self._clock() >= facts["expires"]:
            raise WorkflowExpiredError(run)
        report: Mapping[str, Any] = facts["report"]
        return report

    def remove(self, run: str) -> None:
        """Forget a run: its description first, so that half of it never goes on.

        An outcome that was kept stays.
        """
        folder = self._path(run)
        (folder / "run.json").unlink(missing_ok=True)
        if not (folder / _OUTCOME).exists():
            shutil.rmtree(folder, ignore_errors=True)
            return
        for path in folder.iterdir():
            if path.name != _OUTCOME:
                path.unlink(missing_ok=True)

    def _prune(self) -> None:
        """Let go of outcomes that nobody collects, the oldest first."""
        kept = sorted(self._folder.glob(f"*/{_OUTCOME}"), key=lambda path: path.stat().st_mtime)
        for path in kept[: max(0, len(kept) + 1 - MOST_OUTCOMES)]:
            if not (path.parent / "run.json").exists():
                shutil.rmtree(path.parent, ignore_errors=True)

    def clean(self) -> int:
        """Forget what has expired; say how many."""
        expired = [
            name for name, problem in self.all()[1].items()
            if isinstance(problem, WorkflowExpiredError)
        ]  # fmt: skip
        for name in expired:
            self.remove(name)
        return len(expired)

    def _make_room(self) -> Iterator[str]:
        """Let the oldest runs go that nobody answered; give each. Raises if none can go."""
        excess = len(self._ids()) + 1 - MOST_RUNS
        if excess <= 0:
            return
        excess -= self.clean()
        for run in self.all()[0]:
            if excess <= 0:
                return
            if self._is_let_go(run.id):
                excess -= 1
                yield run.id
        if excess > 0:
            raise TooManyWorkflowsError(MOST_RUNS)

    def _is_let_go(self, run: str) -> bool:
        """Forget a run, unless it has an answer or somebody holds it; say whether."""
        try:
            with self.hold(run):
                if any(one.verdict is not None for one in self.load(run).pending):
                    return False
                self.remove(run)
        except WorkflowError:  # held; or it has ended meanwhile
            return False
        return True

    def exists(self, run: str) -> bool:
        """Say whether there is such a folder."""
        return bool(_ID.fullmatch(run)) and self._path(run).is_dir()

    def _ids(self) -> Sequence[str]:
        try:
            paths = list(self._folder.iterdir())
        except FileNotFoundError:
            return ()
        # a folder without a description is one whose process died before it was written
        names = (path.name for path in paths if (path / "run.json").exists())
        return sorted(name for name in names if _ID.fullmatch(name))

    def _path(self, run: str) -> Path:
        if not _ID.fullmatch(run):
            raise WorkflowUnknownError(run)
        return self._folder / run

    def _read(self, run: str) -> StoredRun:
        try:
            content = (self._path(run) / "run.json").read_bytes()
        except OSError:
            raise WorkflowUnknownError(run) from None
        facts = self._opened(content)
        if facts is None or facts.get("id") != run:
            raise WorkflowBrokenError(run, "its description was changed")
        try:
            pending = tuple(approval_of(one) for one in facts["pending"])
            return StoredRun(**{**facts, "pending": pending})
        except (TypeError, KeyError, ValueError):
            raise WorkflowBrokenError(run, "another version of PML wrote it") from None

    def _with_verdict(self, approval: Approval) -> Approval:
        path = self._path(approval.run) / f"{approval.id}.verdict"
        try:
            content = path.read_bytes()
        except OSError:
            return approval
        facts = self._opened(content)
        if facts is None or any(facts.get(k) != v for k, v in _identity(approval).items()):
            raise WorkflowBrokenError(approval.run, f"the verdict on `{approval.id}` is forged")
        return approval.answered(Verdict(facts["verdict"]), facts["value"])

    def _sealed(self, facts: Mapping[str, Any]) -> bytes:
        body = json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()
        return blake3.blake3(body, key=self._key).hexdigest().encode() + b"\n" + body + b"\n"

    def _opened(self, content: bytes) -> dict[str, Any] | None:
        mac, _, body = content.partition(b"\n")
        body = body.removesuffix(b"\n")
        if not secrets.compare_digest(
            mac, blake3.blake3(body, key=self._key).hexdigest().encode()
        ):
            return None
        facts: dict[str, Any] = json.loads(body)
        return facts


def _identity(approval: Approval) -> dict[str, Any]:
    """Give what a verdict is bound to."""
    return {
        "approval": approval.id,
        "run": approval.run,
        "call": approval.call,
        "tool": approval.tool,
        "argumentHash": approval.argument_hash,
    }
