"""One question, two presenters: the client's human is asked in the way of the protocol's era.

2025: `elicitation/create` while the call is open, one question after the other. 2026: the call is
answered with what is needed (`input_required`), the run waits on disk, and the client's retry
brings the verdicts. In both, only a form that was accepted with `yes` or `always` in it allows
anything; declined is no; cancelled, nonsense or silence is no answer, and the run goes on waiting.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from pml.execution.approvals import Approval, Verdict
from pml.execution.wording import described

Context = ServerRequestContext[Any, Any]
Verdicts = Mapping[str, tuple[Verdict, Any]]

_FIELD = "verdict"
_CALL_WORDS = {"yes": Verdict.YES, "always": Verdict.ALWAYS, "no": Verdict.NO}
_UNCERTAIN_WORDS = {"retry": Verdict.YES, "end": Verdict.NO}
_MEANINGS = {
    "yes": "this call",
    "always": "this call, and this tool from now on",
    "no": "refuse it",
    "retry": "make the call again",
    "end": "end the run",
}


def is_modern(context: Context) -> bool:
    """Say whether the client speaks the stateless era."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def can_ask(context: Context) -> bool:
    """Say whether the client says that it can show a form to its human."""
    capabilities = context.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities else None
    if elicitation is None:
        return False
    return elicitation.form is not None or elicitation.url is None  # an empty one means forms


def is_open(question: Approval) -> bool:
    """Say whether the human can answer it here; a key that is missing is no question."""
    return question.verdict is None and question.kind != "keys"


class ElicitingHuman:
    """Asks through the open call of a 2025 client."""

    def __init__(self, context: Context) -> None:
        """Ask beside this request."""
        self._context = context

    async def ask(self, questions: Sequence[Approval]) -> Verdicts:
        """Put each question that has no answer; one that stays open ends the asking."""
        said: dict[str, tuple[Verdict, Any]] = {}
        for question in questions:
            if not is_open(question):
                continue
            try:
                answer = await self._context.session.elicit_form(
                    _message(question), _schema(question), self._context.request_id
                )
            except (MCPError, ValidationError):  # it was not shown, or the answer is none
                break
            verdict = _verdict(question, answer.action, answer.content)
            if verdict is None:
                break
            said[question.id] = verdict, None
        return said


class AnsweredHuman:
    """Has answered already, in the retry of a 2026 client; or nobody has, and gives nothing."""

    def __init__(self, responses: Mapping[str, Any] | None) -> None:
        """Take the client's `inputResponses` as they came: untrusted JSON."""
        self._responses = responses if isinstance(responses, Mapping) else {}

    async def ask(self, questions: Sequence[Approval]) -> Verdicts:
        """Give the verdicts to questions that were really asked."""
        said: dict[str, tuple[Verdict, Any]] = {}
        for question in questions:
            response = self._responses.get(question.id)
            if is_open(question) and isinstance(response, Mapping):
                verdict = _verdict(question, response.get("action"), response.get("content"))
                if verdict is not None:
                    said[question.id] = verdict, None
        return said


class ModelHuman:
    """The model's word, where the user's own configuration says that its client confirms calls."""

    def __init__(self, *, approved: bool) -> None:
        """Take it."""
        self._verdict = Verdict.YES if approved else Verdict.NO

    async def ask(self, questions: Sequence[Approval]) -> Verdicts:
        """Give it to each open question."""
        return {one.id: (self._verdict, None) for one in questions if is_open(one)}


def input_required(questions: Sequence[Approval], run: str) -> dict[str, Any]:
    """Give the interim result that asks a 2026 client; its state is sealed on its way out.

    `workflowId` is for one that loses it: `continue_workflow` goes on with the run all the same.
    """
    return {
        "resultType": "input_required",
        "inputRequests": {
            question.id: {
                "method": "elicitation/create",
                "params": {
                    "mode": "form",
                    "message": _message(question),
                    "requestedSchema": _schema(question),
                },
            }
            for question in questions
            if is_open(question)
        },
        "requestState": run,
        "_meta": {"workflowId": run},
    }


def _message(question: Approval) -> str:
    return f"A program of the agent waits for your word.\n{described(question)}"


def _words(question: Approval) -> Mapping[str, Verdict]:
    if question.kind == "uncertain":
        return _UNCERTAIN_WORDS
    return {word: verdict for word, verdict in _CALL_WORDS.items() if question.takes(verdict)}


def _schema(question: Approval) -> dict[str, Any]:
    words = list(_words(question))
    return {
        "type": "object",
        "properties": {
            _FIELD: {
                "type": "string",
                "title": "Allow?",
                "description": "; ".join(f"{word}: {_MEANINGS[word]}" for word in words),
                "enum": words,
            }
        },
        "required": [_FIELD],
    }


def _verdict(question: Approval, action: Any, content: Any) -> Verdict | None:
    """Read an answer; in doubt there is none."""
    if action == "decline":
        return Verdict.NO if question.kind != "uncertain" else None
    if action != "accept" or not isinstance(content, Mapping):
        return None
    word = content.get(_FIELD)
    return _words(question).get(word) if isinstance(word, str) else None
