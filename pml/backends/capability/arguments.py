"""Whether arguments fit a schema that a stranger wrote, and if not, where and why.

A schema of the plain kind is checked by `pml.backends.std.arguments`. Any other is JSON Schema,
with a library that takes a tenth of a second to import: only then. A stranger's schema must not
hold us up or reach out: the steps of a check are counted, nothing is fetched for a `$ref`, and
what could take for ever is left unchecked: `pattern`, `patternProperties`, `format`,
`unevaluated*`, `$dynamicRef`. Checking is a courtesy to the caller; what may happen is decided
elsewhere.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pml.backends.std.arguments import KEYWORDS, fault
from sandbox_host.errors import printable

MOST_STEPS = 10_000
"""Keywords that are looked at in one check: a tenth of a second, far more than a form needs."""

_UNUSABLE = "its own parametersSchema cannot be used"
_SHOWN = 300  # characters of what is wrong
_LEFT_OUT = frozenset(
    {"pattern", "patternProperties", "format", "unevaluatedItems", "unevaluatedProperties",
     "$dynamicRef"}
)  # fmt: skip
_KINDS = frozenset({"string", "boolean", "number", "integer", "array", "object", "null"})
_FITTING = {
    "minimum": {"number", "integer"}, "maximum": {"number", "integer"}, "minLength": {"string"},
    "maxLength": {"string"}, "minItems": {"array"}, "maxItems": {"array"},
}  # fmt: skip

Check = Callable[[Mapping[str, Any]], str | None]
"""Says what is wrong with arguments, None if nothing is."""


def checker(schema: Mapping[str, Any]) -> Check:
    """Give the check for a schema; one that is no schema lets nothing pass."""
    try:
        is_plain = _is_plain(schema)
    except RecursionError:
        return lambda _: _UNUSABLE
    if is_plain:
        return lambda arguments: _short(fault(arguments, schema))
    return _full_checker(schema)


def _short(wrong: str | None) -> str | None:
    """Give a complaint that repeats names of a stranger's schema and arguments."""
    return None if wrong is None else printable(wrong, _SHOWN)


def _is_plain(schema: object) -> bool:
    """Whether the short checker understands every word of it."""
    if not isinstance(schema, Mapping) or not schema.keys() <= KEYWORDS:
        return False
    kinds = schema.get("type", [])
    named = [kinds] if isinstance(kinds, str) else kinds
    if not isinstance(named, list) or not all(isinstance(kind, str) for kind in named):
        return False
    return (
        set(named) <= _KINDS
        and all(
            _is_bound(schema[word], named, fits)
            for word, fits in _FITTING.items()
            if word in schema
        )
        and isinstance(schema.get("enum", []), list)
        and isinstance(schema.get("additionalProperties", True), bool)
        and _are_names(schema.get("required", []))
        and _are_plain(schema.get("properties", {}))
        and ("items" not in schema or _is_plain(schema["items"]))
    )


def _is_bound(value: object, kinds: list[str], fits: set[str]) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and bool(kinds) and set(kinds) <= fits


def _are_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _are_plain(value: object) -> bool:
    return isinstance(value, Mapping) and all(_is_plain(one) for one in value.values())


class _TooLongError(Exception):
    """A check took too many steps."""


def _full_checker(schema: Mapping[str, Any]) -> Check:
    from jsonschema import exceptions  # noqa: PLC0415 - 0.1 s, only for this
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 - with it

    try:
        make = _validator(schema)
    except (exceptions.SchemaError, RecursionError):
        return lambda _: _UNUSABLE

    def check(arguments: Mapping[str, Any]) -> str | None:
        try:
            first = next(make().iter_errors(dict(arguments)), None)
        except (_TooLongError, RecursionError):
            return f"{_UNUSABLE}: a check takes too long"
        except Unresolvable:
            return f"{_UNUSABLE}: it refers to what is not in it"
        if first is None:
            return None
        return printable(f"`{first.json_path.removeprefix('$.')}`: {first.message}", _SHOWN)

    return check


def _validator(schema: Mapping[str, Any]) -> Callable[[], Any]:
    """Give what makes a validator with all its steps before it; raises `SchemaError`.

    The library's own registry would fetch what a `$ref` names; an empty one fetches nothing.
    """
    import referencing  # noqa: PLC0415 - with `jsonschema`
    from jsonschema import Draft202012Validator, validators  # noqa: PLC0415

    plain = json.loads(json.dumps(dict(schema)))
    kind: Any = validators.validator_for(plain, default=Draft202012Validator)
    kind.check_schema(plain)

    def make() -> Any:
        steps = iter(range(MOST_STEPS))
        words = {
            word: _unchecked if word in _LEFT_OUT else functools.partial(_counted, rule, steps)
            for word, rule in (*kind.VALIDATORS.items(), *_OURS.items())
        }
        return validators.extend(kind, words)(plain, registry=referencing.Registry())

    return make


def _counted(rule: Any, steps: Iterator[int], *about: Any) -> Iterator[Any]:
    if next(steps, None) is None:
        raise _TooLongError
    yield from rule(*about) or ()


def _unchecked(*_: Any) -> Iterator[Any]:
    return iter(())


def _additional(validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
    """As the standard says, without the patterns that the library would search with."""
    from jsonschema import ValidationError  # noqa: PLC0415 - imported long before

    if not isinstance(value, dict) or "patternProperties" in schema:
        return
    for name in value.keys() - schema.get("properties", {}).keys():
        if allowed is False:
            yield ValidationError(f"{name!r} is not known")
        else:
            yield from validator.descend(value[name], allowed, path=name)


def _unique(_: Any, wanted: Any, value: Any, __: Any) -> Iterator[Any]:
    """As the standard says, in one pass."""
    from jsonschema import ValidationError  # noqa: PLC0415 - imported long before

    if wanted and isinstance(value, list):
        texts = [json.dumps(one, sort_keys=True) for one in value]
        if len(set(texts)) < len(texts):
            yield ValidationError("the same item is there twice")


_OURS = {"additionalProperties": _additional, "uniqueItems": _unique}
