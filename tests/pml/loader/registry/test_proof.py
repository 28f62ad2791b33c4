"""A `VerifiedCode` proves that its hash was compared: nobody else may make one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
MAKER = ROOT / "pml" / "loader" / "verified.py"


def makings(tree: ast.AST) -> Iterator[int]:
    """Give the lines on which code makes a `VerifiedCode`, or gives it a name that hides it."""
    return (getattr(node, "lineno", 0) for node in ast.walk(tree) if makes(node))


def makes(node: ast.AST) -> bool:
    match node:
        case ast.Call(
            func=ast.Name(id="replace") | ast.Attribute(attr="replace"), args=[changed, *_]
        ):
            return "code" in ast.unparse(changed).lower()  # types are not known here
        case ast.Call(func=maker) | ast.Attribute(value=maker):
            return named(maker)
        case ast.Assign(value=value) | ast.NamedExpr(value=value):
            return named(value)
        case ast.ClassDef(bases=bases):
            return any(named(base) for base in bases)
        case ast.alias(name="VerifiedCode", asname=str()):
            return True
    return False


def named(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and (
        ast.unparse(node).rpartition(".")[2] == "VerifiedCode"
    )


def test_only_after_the_hash_is_code_verified() -> None:
    files = [file for file in (ROOT / "pml").rglob("*.py") if file != MAKER]
    assert len(files) > 50
    found = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in files
        for line in makings(ast.parse(file.read_bytes()))
    ]
    assert found == []
    assert list(makings(ast.parse(MAKER.read_bytes())))


@pytest.mark.parametrize(
    "code",
    ["VerifiedCode(name, source, integrity)", "verified.VerifiedCode(*facts)",
     "from pml.loader.verified import VerifiedCode as V", "replace(code, source=other)",
     "make = VerifiedCode", "VerifiedCode.__new__(VerifiedCode)", "class Mine(VerifiedCode): pass"],
)  # fmt: skip
def test_the_walk_finds(code: str) -> None:
    assert list(makings(ast.parse(code)))
