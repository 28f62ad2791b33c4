"""Every criterion of the stories has a test that exists, or a reason why it has none."""

import ast
import functools
from pathlib import Path

import pytest

from .requirements import CRITERIA, DECIDED, TESTS

ROOT = Path(__file__).parent.parent


@functools.cache
def functions(file: Path) -> frozenset[str]:
    """Give the tests of a file, those of a class as `Class::test`."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        for one in inner:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(f"{prefix}{one.name}")
    return frozenset(found)


@pytest.mark.parametrize("criterion", sorted(CRITERIA))
def test_each_criterion_is_tested_or_decided_otherwise(criterion: str) -> None:
    assert bool(TESTS.get(criterion)) is not bool(DECIDED.get(criterion)), CRITERIA[criterion]


def test_nothing_is_held_that_no_story_asks_for() -> None:
    assert {*TESTS, *DECIDED} <= set(CRITERIA)


@pytest.mark.parametrize("node", sorted({node for nodes in TESTS.values() for node in nodes}))
def test_each_named_test_exists(node: str) -> None:
    file, _, test = node.partition("::")
    assert test.rpartition("::")[2].startswith("test_")
    assert test in functions(ROOT / file)
