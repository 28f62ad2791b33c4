"""Fills variables into text: `${NAME}`, `${NAME:-default}`, `${workspace}`; `$${` is a plain `${`.

Pure: the variables come in. What is missing is told by name and reason; the file and its
positions are the caller's. A value that was filled in is not looked at again.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping

from pml.config.errors import Reason
from pml.config.names import Complaint

WORKSPACE_NAMES = ("workspace", "workspaceFolder")
"""What stands for the workspace; the second is what editors write."""

_TOKEN = re.compile(
    r"(?P<plain>\$\$\{)"
    r"|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>(?:(?!\$\{)[^}])*))?\}"
    r"|(?P<broken>\$\{)"
)
_SCHEME = re.compile(r"(?:bearer|basic|token)\s+", re.IGNORECASE)  # before the key, in a header
_PLACEHOLDER = re.compile(
    r"xx+|<.*>|todo|change[-_ ]?me|placeholder|example|(?:test|fake)[-_ ]?key"
    r"|your[-_ ].*(?:key|token|secret|password).*|your[-_ ]?key.*"
    r"|(?:insert|add|put)[-_ ].*here|replace[-_ ]?me|replace[-_ ]with[-_ ].*",
    re.IGNORECASE | re.DOTALL,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Missing:
    """A variable without a value."""

    name: str
    reason: Reason
    through: str | None = None
    """The entry of the `env` block that asks for it, if it is not the text itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class Expansion:
    """The text with its variables filled in, and those that were not there."""

    text: str
    missing: tuple[Missing, ...] = ()


LookUp = Callable[[str], str | tuple[Missing, ...]]
"""Gives a variable's value, or what is missing instead."""


def expand(text: str, look_up: LookUp) -> Expansion:
    """Fill in every variable; of a missing one nothing is left in the text."""
    missing: list[Missing] = []

    def value(match: re.Match[str]) -> str:
        if match["name"] is None:
            return "${"
        found = look_up(match["name"])
        if match["default"] is not None:
            return found if isinstance(found, str) and found else match["default"]
        if isinstance(found, str):
            return found
        missing.extend(found)
        return ""

    return Expansion(_TOKEN.sub(value, text), tuple(missing))


def escape(text: str) -> str:
    """Give text that expands to `text`."""
    return text.replace("${", "$${")


def complaint(text: str) -> Complaint | None:
    """Check that every `${` begins a variable."""
    if not any(match["broken"] for match in _TOKEN.finditer(text)):
        return None
    return Complaint(
        "`${` that begins no variable",
        "`${NAME}` or `${NAME:-default}`, not one in another; `$${` is a plain `${`",
    )


def is_placeholder(value: str) -> bool:
    """Tell a value that somebody was to replace, such as `your-key-here`."""
    words = value.strip()
    return bool(_PLACEHOLDER.fullmatch(_SCHEME.sub("", words, count=1)))


def is_plain_placeholder(text: str) -> bool:
    """Tell one that stands in the file itself; what a variable gives is judged when looked up."""
    return "${" not in text and is_placeholder(text)


def environment(environ: Mapping[str, str], workspace: str) -> LookUp:
    """Look variables up in the gateway's environment; empty and placeholders count as missing."""

    def look_up(name: str) -> str | tuple[Missing, ...]:
        if name in WORKSPACE_NAMES:
            return workspace
        value = environ.get(name)
        if value is None:
            return (Missing(name, "unset"),)
        if not value.strip():
            return (Missing(name, "empty"),)
        return (Missing(name, "placeholder"),) if is_placeholder(value) else value

    return look_up


def overlaid(block: Mapping[str, str], below: LookUp) -> LookUp:
    """Look variables up in an `env` block, then below.

    The values of the block are filled in from below only, never from each other: `TOKEN` may be
    `${TOKEN}`, and nothing can go in a circle.
    """
    values = {name: _value(name, text, below) for name, text in block.items()}

    def look_up(name: str) -> str | tuple[Missing, ...]:
        if name in values and name not in WORKSPACE_NAMES:
            return values[name]
        return below(name)

    return look_up


def _value(name: str, text: str, below: LookUp) -> str | tuple[Missing, ...]:
    expansion = expand(text, below)
    if expansion.missing:
        return tuple(dataclasses.replace(one, through=name) for one in expansion.missing)
    if is_plain_placeholder(text):
        return (Missing(name, "unfilled", through=name),)
    return expansion.text
