"""Sources made to exhaust the analysis: each ends, and says so if it is not whole."""

import json

import pytest

from pml.analysis import analyse
from pml.analysis.drawing import MOST_DRAWN, as_data, mermaid, tree
from pml.analysis.spotting import MOST_STEPS

DEEP = 5_000  # Python's own stack ends at a thousand


@pytest.mark.parametrize(
    "code",
    [
        "(" * DEEP + "mcp.a.b()" + ")" * DEEP,
        "[" * DEEP + "mcp.a.b()" + "]" * DEEP,
        "mcp.a.b(" * DEEP + ")" * DEEP,
        "if (x) {" * DEEP + "mcp.a.b()" + "}" * DEEP,
        "if (x) mcp.a.b(); else " * DEEP + ";",
        "() => " * DEEP + "mcp.a.b()",
        "function f() {" * DEEP + "mcp.a.b()" + "}" * DEEP,
        "{ let m = mcp; " * DEEP + "m.a.b()" + "}" * DEEP,
        "x.map(y => " * DEEP + "mcp.a.b()" + ")" * DEEP,
        "Promise.all([mcp.a.b(), " * DEEP + "1" + "])" * DEEP,
        "mcp.a.b() + " * DEEP + "1",
        "mcp.a.b().then(x => " * DEEP + "1" + ")" * DEEP,
        "mcp.a.b(" + "{a: " * DEEP + "1" + "}" * DEEP + ")",
        "c ? mcp.a.b() : " * DEEP + "1",
        "await " * DEEP + "mcp.a.b()",
    ],
    ids=lambda code: code[:24],
)
def test_depth_is_no_matter(code: str) -> None:
    found = analyse(code)
    assert found.tools == ("a:b",)
    assert found == analyse(code)  # comparing, printing and writing it do not recurse too far
    assert repr(found)
    assert json.dumps(as_data(found.shape))
    assert len(tree(found.shape, {})) <= MOST_DRAWN + 1
    assert mermaid(found.shape, {}).startswith("flowchart TD\n")


@pytest.mark.parametrize(
    "code",
    [
        "mcp" + ".a" * DEEP,
        "mcp" + "[a]" * DEEP,
        "let " + "{a: " * DEEP + "x" + "}" * DEEP + " = mcp",
        "c ? mcp : " * DEEP + "1",
        "{(" * DEEP,
        "`${" * DEEP,
        "\x00mcp\u2028" * DEEP,
    ],
    ids=lambda code: code[:16],
)
def test_any_source_ends(code: str) -> None:
    assert analyse(code) == analyse(code)


def test_many_writes_to_one_name_are_all_seen() -> None:
    code = "let s;" + "".join(f"s = mcp.s{n % 9}; s.x();" for n in range(3000))
    assert set(analyse(code).tools) == {f"s{n}:x" for n in range(9)}


def test_a_name_that_may_be_very_many_is_dynamic() -> None:
    code = "let s;" + "".join(f"if (q) s = mcp.s{n};" for n in range(40)) + "s.x()"
    found = analyse(code)
    assert (found.calls, [spot.reason for spot in found.dynamic]) == ((), ["computed"])


def test_a_chain_of_aliases_is_followed_to_its_end() -> None:
    links = "".join(f"const x{n + 1} = x{n};" for n in range(5000))
    assert analyse(f"const x0 = mcp;{links}x5000.a.b()").tools == ("a:b",)


def test_too_many_calls_are_cut_and_it_is_told() -> None:
    found = analyse("mcp.a.b();" * (MOST_STEPS + 1))
    assert len(found.calls) == MOST_STEPS
    assert found.problem is not None
    assert str(MOST_STEPS) in found.problem.message


def test_too_many_parts_are_cut_and_it_is_told() -> None:
    found = analyse("mcp.a.b();" + "a;" * 200_000)
    assert found.tools == ("a:b",)
    assert found.problem is not None
    assert "too many parts" in found.problem.message
