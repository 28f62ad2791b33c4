"""A `Decision` proves that the policy was asked: nobody else may make one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def makings(tree: ast.AST) -> Iterator[int]:
    """Give the lines on which code makes a `Decision`, or gives it a name that hides it."""
    return (getattr(node, "lineno", 0) for node in ast.walk(tree) if makes(node))


def makes(node: ast.AST) -> bool:
    match node:
        case ast.Call(
            func=ast.Name(id="replace") | ast.Attribute(attr="replace"), args=[changed, *_]
        ):
            return "decision" in ast.unparse(changed).lower()  # types are not known here
        case ast.Call(func=maker) | ast.Attribute(value=maker):  # or Decision.__new__
            return named(maker)
        case ast.Assign(value=value) | ast.NamedExpr(value=value):
            return named(value)
        case ast.ClassDef(bases=bases):
            return any(named(base) for base in bases)
        case ast.alias(name="Decision", asname=str()):
            return True
    return False


def named(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and (
        ast.unparse(node).rpartition(".")[2] == "Decision"
    )


def test_only_the_policy_makes_decisions() -> None:
    files = [
        file
        for package in ("pml", "sandbox_host", "benches", "examples")
        for file in (ROOT / package).rglob("*.py")
        if not file.is_relative_to(ROOT / "pml" / "policy")
    ]
    assert len(files) > 50
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in files
        for line in makings(ast.parse(file.read_bytes()))
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "Decision('a:b', Outcome.ALLOW)",
        "model.Decision('a:b', x)",
        "pml.model.Decision('a:b', x)",
        "from pml.model import Decision as D",
        "dataclasses.replace(decision, outcome=Outcome.ALLOW)",
        "replace(self.decision, rule=None)",
        "make = Decision",
        "(make := model.Decision)('a:b', x)",
        "Decision.__new__(Decision)",
        "class Mine(Decision): pass",
    ],
)
def test_the_walk_finds(code: str) -> None:
    assert list(makings(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    ["def f(decision: Decision) -> None: ...", "isinstance(x, Decision)", "text.replace('a', 'b')",
     "dataclasses.replace(run, outcome=outcome)",
     "from pml.model import Decision", "x: list[Decision] = []"],
)  # fmt: skip
def test_the_walk_lets_use(code: str) -> None:
    assert not list(makings(ast.parse(code)))
