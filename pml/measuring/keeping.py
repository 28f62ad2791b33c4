"""Results as JSON, and back. What is read may be anybody's file: its shape is checked."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pml.measuring.errors import ResultsUnreadableError
from pml.measuring.figures import UNITS, Figure, Missing, Results
from pml.measuring.statistics import Ratio, Summary

FORMAT, VERSION = "pml bench", 1
MOST_BYTES = 4 << 20
"""Of a file of results: a thousand servers would fit."""

_FACTS = {"cores": int, "loadBefore": (int, float), "referenceSpread": (int, float)}
_SHAPES: Mapping[str, Any] = {"int": int, "float": (int, float), "str": str, "bool": bool}


def document(results: Results) -> dict[str, Any]:
    """Give the results for a file."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "quick": results.quick,
        "facts": dict(results.facts),
        "doubts": list(results.doubts),
        "figures": [dataclasses.asdict(one) for one in results.figures],
        "missing": [dataclasses.asdict(one) for one in results.missing],
    }


def read(path: Path) -> Results:
    """Read what `document` gave; raises `ResultsUnreadableError`."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ResultsUnreadableError(path, f"it is larger than {MOST_BYTES >> 20} MiB")
        return results_of(json.loads(content))
    except OSError as error:
        raise ResultsUnreadableError(path, error.strerror or str(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ResultsUnreadableError(path, "it does not hold results of `pml bench`") from None


def results_of(said: Any) -> Results:
    """Take a document apart; raises `ValueError`, `KeyError` or `TypeError` for any other."""
    if said["format"] != FORMAT or said["version"] != VERSION:
        raise ValueError(said["version"])
    facts = said["facts"]
    for name, kind in _FACTS.items():
        _check(facts[name], kind)
    figures = tuple(_figure(one) for one in said["figures"])
    missing = tuple(_made(Missing, one) for one in said["missing"])
    _check(said["quick"], bool)
    return Results(facts, said["quick"], figures, missing)


def _figure(said: Mapping[str, Any]) -> Figure:
    ratio = None if said["ratio"] is None else _made(Ratio, said["ratio"])
    made: Figure = _made(
        Figure, {**said, "summary": _made(Summary, said["summary"]), "ratio": ratio}
    )
    if made.unit not in UNITS:
        raise ValueError(made.unit)
    return made


def _made(kind: type[Any], said: Mapping[str, Any]) -> Any:
    """Make a value of plain fields; one that is missing, unknown or of another kind raises."""
    for field in dataclasses.fields(kind):
        name = getattr(field.type, "__name__", str(field.type))
        if name in _SHAPES:
            _check(said[field.name], _SHAPES[name])
    return kind(**said)


def _check(value: object, kind: Any) -> None:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(value)
