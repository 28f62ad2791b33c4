"""The arguments of our own tools, read from a model's JSON: checked, or an error says what."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from pml.gateway.definitions import EXECUTE
from pml.gateway.errors import ToolArgumentsError
from sandbox_host.errors import printable

Check = Callable[[Any], bool]


@dataclasses.dataclass(frozen=True, slots=True)
class Execution:
    """What `execute` was asked for."""

    code: str
    args: Any = None
    timeout_seconds: float | None = None
    dry_run: bool = False


def is_text(value: Any) -> bool:
    """Say whether it is a text."""
    return isinstance(value, str)


def is_flag(value: Any) -> bool:
    """Say whether it is true or false."""
    return isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Say whether it is a number above 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def is_count(value: Any) -> bool:
    """Say whether it is a whole number above 0."""
    return isinstance(value, int) and is_number(value)


def is_anything(_: Any) -> bool:
    """Take all JSON."""
    return True


_WORDS: Mapping[Check, str] = {
    is_text: "a string", is_flag: "true or false", is_number: "a number above 0",
    is_count: "a whole number above 0",
}  # fmt: skip


def checked(
    tool: str, arguments: Mapping[str, Any], checks: Mapping[str, Check], *required: str
) -> Mapping[str, Any]:
    """Give the arguments; null counts as not given. Raises `ToolArgumentsError`."""
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in given:
        if name not in checks:
            takes = ", ".join(checks)
            raise ToolArgumentsError(
                tool, f"there is no argument `{printable(name, 60)}`: it takes {takes}"
            )
    for name in required:
        if name not in given:
            raise ToolArgumentsError(tool, f"`{name}` is missing")
    for name, value in given.items():
        if not checks[name](value):
            raise ToolArgumentsError(tool, f"`{name}` must be {_WORDS[checks[name]]}")
    return given


def execution(arguments: Mapping[str, Any]) -> Execution:
    """Read the arguments of `execute`."""
    checks = {"code": is_text, "args": is_anything, "timeoutSeconds": is_number, "dryRun": is_flag}
    given = checked(EXECUTE, arguments, checks, "code")
    return Execution(
        given["code"], given.get("args"), given.get("timeoutSeconds"), given.get("dryRun", False)
    )
