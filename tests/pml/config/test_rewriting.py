"""Files of editors: entries come and go, comments and everything else stay."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.config import ConfigError
from pml.config.reader import read_json
from pml.config.rewriting import with_member

FILE = Path("mcp.json")
PATH = ("servers", "pml")
VALUE = {"command": "pml", "args": ["stdio"], "env": {}}

LINES = '{\n    "command": "pml",\n    "args": ["stdio"],\n    "env": {}\n  }'
DEEP = LINES.replace("\n", "\n  ")
FLAT = '{"command": "pml", "args": ["stdio"], "env": {}}'

ADDED = {
    "{}": f'{{"servers": {{"pml": {FLAT}}}}}',
    '{"a":1}': '{"a":1,"servers":{"pml":{"command":"pml","args":["stdio"],"env":{}}}}',
    '{\n  "servers": {}\n}\n': f'{{\n  "servers": {{\n    "pml": {DEEP}\n  }}\n}}\n',
    '{\n  "a": 1\n}': f'{{\n  "a": 1,\n  "servers": {{\n    "pml": {DEEP}\n  }}\n}}',
    '{\n  "servers": {\n    "x": {}\n  }\n}': f'{{\n  "servers": {{\n    "x": {{}},\n    "pml": {DEEP}\n  }}\n}}',
    '{\n  "servers": {\n    // none\n  }\n}': f'{{\n  "servers": {{\n    "pml": {DEEP}\n    // none\n  }}\n}}',
    '{\n  "servers": {\n    "x": {}, // one, two\n  },\n}': (
        f'{{\n  "servers": {{\n    "x": {{}}, // one, two\n    "pml": {DEEP},\n  }},\n}}'
    ),
    '{\n  "servers": {\n    "x": {} // one\n  }\n}': (
        f'{{\n  "servers": {{\n    "x": {{}}, // one\n    "pml": {DEEP}\n  }}\n}}'
    ),
    '{\n  "servers": {\n    "x": {}, /* b, */ "y": {}\n  }\n}': (
        f'{{\n  "servers": {{\n    "x": {{}}, /* b, */ "y": {{}},\n    "pml": {DEEP}\n  }}\n}}'
    ),
    '{\r\n\t"servers": {\r\n\t\t"x": 1\r\n\t}\r\n}': (
        '{\r\n\t"servers": {\r\n\t\t"x": 1,\r\n\t\t"pml": {\r\n\t\t\t"command": "pml",\r\n\t\t\t"args": ["stdio"],\r\n\t\t\t"env": {}\r\n\t\t}\r\n\t}\r\n}'
    ),
}  # fmt: skip


@pytest.mark.parametrize("before", ADDED)
def test_an_entry_is_added_in_the_style_of_the_file(before: str) -> None:
    assert with_member(before, PATH, VALUE, file=FILE) == ADDED[before]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"servers": []}', '{"servers": {}, "servers": {}}', "{/* }", "{'a': 1}", "{,}", '{"a":1,,}']
)  # fmt: skip
def test_what_cannot_be_understood_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_member(text, PATH, VALUE, file=FILE)
    assert caught.value.line is not None


def test_plain_json_still_has_neither_comments_nor_a_last_comma() -> None:
    for text in ('{"a": 1,}', "{} // x", "[1,]", "/* */ {}"):
        assert read_json(text, FILE).errors
        assert not read_json(text, FILE, relaxed=True).errors


# --- any file --------------------------------------------------------------------------------------

keys = st.text('ab,/*é"\\', max_size=4)
gaps = st.lists(
    st.sampled_from([" ", "\n", "\r\n  ", "\t", "// x, }\n", "/* , */", "/* ** / // */"]), max_size=3
).map("".join)  # fmt: skip


@st.composite
def written(draw: st.DrawFn, value: object) -> str:
    def gap() -> str:
        return draw(gaps)

    if not isinstance(value, dict):
        return json.dumps(value)
    parts = [f"{gap()}{json.dumps(k)}{gap()}:{gap()}{draw(written(v))}{gap()}" for k, v in value.items()]  # fmt: skip
    last = f",{gap()}" if parts and draw(st.booleans()) else gap()
    return "{" + ",".join(parts) + last + "}"


@st.composite
def files(draw: st.DrawFn) -> str:
    value: dict[str, object] = dict(draw(st.dictionaries(keys, st.integers(), max_size=3)))
    if draw(st.booleans()):
        value["servers"] = draw(st.dictionaries(keys, st.integers(), max_size=3))
    ordered = dict(draw(st.permutations(list(value.items()))))
    return draw(gaps) + draw(written(ordered)) + draw(gaps)


def comments(text: str) -> list[str]:
    """All of them, in order; strings may look like one, and the end of a line is none of them."""
    found = re.finditer(r'"(?:[^"\\]|\\.)*"|(//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)', text)
    return [match[1] for match in found if match[1]]


@given(files())
def test_an_entry_comes_and_no_comment_is_lost(text: str) -> None:
    value = read_json(text, FILE, relaxed=True).root.value  # type: ignore[union-attr]
    after = with_member(text, PATH, VALUE, file=FILE)
    expected = {**value, "servers": {**value.get("servers", {}), "pml": VALUE}}
    document = read_json(after, FILE, relaxed=True)
    assert not document.errors
    assert document.root is not None
    assert document.root.value == expected
    assert comments(after) == comments(text)
