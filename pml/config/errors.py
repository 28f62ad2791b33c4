"""What can be wrong with a configuration, one class per situation a caller can act on.

    ConfigError (PmlError)
    ├── ConfigUnreadableError     config_unreadable: the file cannot be opened, or is no file
    ├── ConfigTooLargeError       config_too_large
    ├── ConfigNotTextError        config_not_text: no UTF-8, or a byte order mark
    ├── ConfigSyntaxError         config_syntax: no JSON
    │   ├── DuplicateKeyError         config_duplicate_key
    │   ├── TooDeepError              config_too_deep
    │   └── UnusableJsonError         config_unusable_json: NaN, 1e999, half a character
    ├── ConfigContentError        config_content: JSON, but not what PML understands
    │   ├── UnknownKeyError           config_unknown_key
    │   ├── TwoSpellingsError         config_two_spellings: `fsRead` and `fs_read` side by side
    │   ├── MissingKeyError           config_missing_key
    │   ├── WrongTypeError            config_wrong_type
    │   └── InvalidValueError         config_invalid_value
    ├── MissingVariablesError     missing_variables: what one server needs is not there
    └── SeveralConfigErrors       config_several: all that is wrong, in the order of the file

Every one names its place. None repeats a value of the file or of the environment, and none
carries the source line: either may hold a secret. Show `errors` one by one.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal

from pml.config.spots import Spot, dotted, shown
from pml.errors import PmlError

_SHOWN_ERRORS = 20  # in the message of several; `errors` has all


class ConfigError(PmlError):
    """A configuration cannot be used as it is."""

    code = "config"

    def __init__(self, fact: str, spot: Spot, *, hint: str | None = None) -> None:
        """Keep the fact and its place; the message has both."""
        super().__init__(f"{spot}: {fact}", hint=hint, line=spot.line, column=spot.column)
        self.fact = fact
        self.spot = spot

    @property
    def errors(self) -> "tuple[ConfigError, ...]":
        """Give every single error; of a single one, itself."""
        return (self,)


class ConfigUnreadableError(ConfigError):
    """The file cannot be opened, or is no file."""

    code = "config_unreadable"

    def __init__(self, spot: Spot, reason: str) -> None:
        """Name the reason."""
        super().__init__(f"cannot be read: {reason}", spot)


class ConfigTooLargeError(ConfigError):
    """The file is larger than any configuration."""

    code = "config_too_large"

    def __init__(self, spot: Spot, most_bytes: int) -> None:
        """Name the bound."""
        super().__init__(f"is larger than {most_bytes >> 20} MiB", spot)


class ConfigNotTextError(ConfigError):
    """The file is no UTF-8, or begins with a byte order mark."""

    code = "config_not_text"

    def __init__(self, spot: Spot, *, has_mark: bool) -> None:
        """Say which of the two it is."""
        super().__init__(
            "begins with a byte order mark" if has_mark else "is not UTF-8 text",
            spot,
            hint="save it as UTF-8 without a byte order mark",
        )


class ConfigSyntaxError(ConfigError):
    """The file is no JSON."""

    code = "config_syntax"


class DuplicateKeyError(ConfigSyntaxError):
    """A key stands twice in one object: readers disagree on which one counts."""

    code = "config_duplicate_key"

    def __init__(self, spot: Spot, first_line: int) -> None:
        """Name where the first one is."""
        super().__init__(
            f"this key is already there, on line {first_line}", spot, hint="remove one of the two"
        )


class TooDeepError(ConfigSyntaxError):
    """Objects and lists are nested deeper than any configuration."""

    code = "config_too_deep"

    def __init__(self, spot: Spot, most: int) -> None:
        """Name the bound."""
        super().__init__(f"nested deeper than {most} levels", spot)


class UnusableJsonError(ConfigSyntaxError):
    """A value that parsers let pass and nobody can use."""

    code = "config_unusable_json"


class ConfigContentError(ConfigError):
    """JSON, but not what PML understands."""

    code = "config_content"


class UnknownKeyError(ConfigContentError):
    """A key that means nothing here."""

    code = "config_unknown_key"

    def __init__(self, spot: Spot, known: Sequence[str], *, hint: str | None) -> None:
        """Name the nearest key, or those that there are."""
        super().__init__(
            "unknown key", spot, hint=hint or f"known here: {', '.join(sorted(known))}"
        )


class TwoSpellingsError(ConfigContentError):
    """The same key in both of its spellings."""

    code = "config_two_spellings"

    def __init__(self, spot: Spot, other: str) -> None:
        """Name the other one."""
        super().__init__(f"the same key as `{shown(other)}`, which is also there", spot)


class MissingKeyError(ConfigContentError):
    """A key that must be there."""

    code = "config_missing_key"

    def __init__(self, spot: Spot, what: str) -> None:
        """Name the key."""
        super().__init__(f"{what} is missing", spot)


class WrongTypeError(ConfigContentError):
    """A value of another kind than the key has."""

    code = "config_wrong_type"

    def __init__(self, spot: Spot, needed: str, found: str) -> None:
        """Name both kinds, never the value."""
        hint = "leave the key out to have its default" if found == "null" else None
        super().__init__(f"{needed} is needed, not {found}", spot, hint=hint)


class InvalidValueError(ConfigContentError):
    """A value of the right kind that cannot work."""

    code = "config_invalid_value"


Reason = Literal["unset", "empty", "placeholder", "unfilled"]

_REASONS: Mapping[Reason, str] = {
    "unset": "is not set",
    "empty": "is empty",
    "placeholder": "is set to a placeholder, not to a real value",
    "unfilled": "has a placeholder in the file, not a real value",
}


@dataclasses.dataclass(frozen=True, slots=True)
class MissingVariable:
    """A variable that a server needs, and why it counts as missing."""

    name: str
    reason: Reason
    spot: Spot
    """The value in the file that asks for it."""

    def __str__(self) -> str:
        """Give one line."""
        place = f"`{dotted(self.spot.path)}`, {self.spot.line}:{self.spot.column}"
        return f"{shown(self.name)} {_REASONS[self.reason]} ({place})"


class MissingVariablesError(ConfigError):
    """What one server needs is not in the environment; others are not concerned."""

    code = "missing_variables"

    def __init__(self, owner: str, missing: Sequence[MissingVariable]) -> None:
        """Name all of them, with their places."""
        names = tuple(dict.fromkeys(variable.name for variable in missing))
        lines = "".join(f"\n  {variable}" for variable in missing)
        super().__init__(
            f"{owner} requires {', '.join(map(shown, names))}{lines}",
            missing[0].spot,
            hint=_missing_hint(missing),
        )
        self.owner = owner
        self.missing = tuple(missing)
        self.names = names


def _missing_hint(missing: Sequence[MissingVariable]) -> str:
    unset = dict.fromkeys(one.name for one in missing if one.reason != "unfilled")
    steps = [f"set {', '.join(unset)} where pml is started"] if unset else []
    if any(one.reason == "unfilled" for one in missing):
        steps.append("write `${NAME}` in place of the placeholder and set that variable")
    return f"{'; '.join(steps)}; then start pml again"


class SeveralConfigErrors(ConfigError):  # noqa: N818 - more than one of them
    """All that is wrong with a file, or with one server."""

    code = "config_several"

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        """List the first ones; the place is that of the first."""
        more = len(errors) - _SHOWN_ERRORS
        lines = [f"\n{error.message}" for error in errors[:_SHOWN_ERRORS]]
        lines += [f"\nand {more} more"] if more > 0 else []
        super().__init__(f"{len(errors)} errors{''.join(lines)}", errors[0].spot)
        self._errors = tuple(errors)

    @property
    def errors(self) -> tuple[ConfigError, ...]:
        """Give every single error, in the order of the file."""
        return self._errors


def as_one(errors: Sequence[ConfigError]) -> ConfigError:
    """Give one error to raise for one or more."""
    return errors[0] if len(errors) == 1 else SeveralConfigErrors(errors)
