"""Trees and charts: what they show, and that nothing in a program can break out of them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from pml.analysis import Call, Dynamic, Function, Place, analyse
from pml.analysis.drawing import mermaid, tree

CODE = """
const [a, b] = await Promise.all([mcp.fs.read({}), mcp.time.now({})]);
for (const x of a) if (x) await mcp.fs.write({x});
const later = () => mcp[b].go();
"""


def test_a_tree() -> None:
    assert tree(analyse(CODE).shape, {"fs:write": "ask"}) == [
        "├─ Promise.all: together",
        "│  ├─ fs:read (line 2)",
        "│  └─ time:now (line 2)",
        "├─ for of: any number of times",
        "│  └─ if: perhaps",
        "│     └─ fs:write (line 3, ask)",
        "└─ function later: when called",
        "   └─ any tool: mcp[b].go() (line 4)",
    ]


def test_a_chart() -> None:
    assert mermaid(analyse(CODE).shape, {}).splitlines() == [
        "flowchart TD",
        '  n0(["start"])',
        '  n1[/"Promise.all: together"/]',
        "  n0 --> n1",
        '  n2["fs:read #40;line 2#41;"]',
        "  n1 --> n2",
        '  n3["time:now #40;line 2#41;"]',
        "  n1 --> n3",
        '  n4(["for of: any number of times"])',
        "  n2 --> n4",
        "  n3 --> n4",
        '  n5{"if: perhaps"}',
        "  n4 --> n5",
        '  n6["fs:write #40;line 3#41;"]',
        "  n5 --> n6",
        "  n6 -. again .-> n4",
        "  n5 -. again .-> n4",
        '  n7[["function later: when called"]]',
        "  n4 -.-> n7",
        '  n8{{"any tool: mcp#91;b#93;.go#40;#41; #40;line 4#41;"}}',
        "  n7 --> n8",
        '  n9(["end of the program"])',
        "  n4 --> n9",
    ]


@given(st.text(), st.text())
def test_no_name_breaks_out_of_its_label(server: str, name: str) -> None:
    # attack: a program calls `mcp['a"] click n0 href "javascript:..."']`, or hides behind controls
    place = Place(1, 1)
    shape = (
        Call(server, name, place),
        Dynamic("escapes", name, place, server),
        Function(name, (Call(server, name, place),)),
    )
    lines = tree(shape, {})
    assert len(lines) == 4
    assert all(line.isprintable() for line in lines)
    chart = mermaid(shape, {}).split("\n")
    labels = [line for line in chart if '"' in line]
    assert len(labels) == 6
    for label in labels:
        assert re.fullmatch(r'  n\d+[\[({/]+"[^"<>`\[\](){}|&\\]*"[\])}/]+', label), label


def test_long_names_are_cut() -> None:
    [line] = tree((Call("a", "x" * 10_000, Place(1, 1)),), {})
    assert len(line) < 130
