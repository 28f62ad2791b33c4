"""A `VerifiedPackage` proves that its tree was compared with its hash: nobody else may make one."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[4]
MAKER = ROOT / "pml" / "loader" / "installer" / "installing.py"
PROOF = "VerifiedPackage"


def makes(node: ast.AST) -> bool:
    """Say whether code makes the proof, derives from it, or gives it a name that hides it."""
    match node:
        case ast.Call(func=used) | ast.Assign(value=used) | ast.Attribute(value=used):
            return ast.unparse(used).rpartition(".")[2] == PROOF
        case ast.ClassDef(bases=bases):
            return any(ast.unparse(base).endswith(PROOF) for base in bases)
        case ast.alias(name=name, asname=str()):
            return name == PROOF
    return False


def test_only_after_its_hash_was_compared_may_a_package_be_started() -> None:
    makers = {
        file
        for file in (ROOT / "pml").rglob("*.py")
        if any(makes(node) for node in ast.walk(ast.parse(file.read_bytes())))
    }
    assert makers == {MAKER}
