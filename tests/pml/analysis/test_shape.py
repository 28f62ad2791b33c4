"""The tree around the calls: sequence, parallel, branch, loop, function."""

from typing import Any

import pytest

from pml.analysis import Step, analyse
from pml.analysis.drawing import as_data


def brief(steps: tuple[Step, ...]) -> Any:
    return [_brief(step) for step in as_data(steps)]


def _brief(step: dict[str, Any]) -> Any:
    if "call" in step:
        return step["call"]
    if "dynamic" in step:
        return step["dynamic"]
    kind = next(iter(step))
    inner = step.get("branches") or step.get("arms") or [step["body"]]
    return (kind, step[kind], *([_brief(one) for one in arm] for arm in inner))


def shape(code: str) -> Any:
    found = analyse(code)
    assert found.problem is None
    return brief(found.shape)


A, B, C = "mcp.a.a()", "mcp.b.b()", "mcp.c.c()"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (f"{A}; await {B}; {C}", ["a:a", "b:b", "c:c"]),
        (f"await Promise.all([{A}, {B}])", [("parallel", "all", ["a:a"], ["b:b"])]),
        (f"await Promise.allSettled([{A}])", [("parallel", "allSettled", ["a:a"])]),
        (f"Promise.race([{A}, x, {B}])", [("parallel", "race", ["a:a"], ["b:b"])]),
        (f"Promise.any([{A}.then(() => {B})])", [("parallel", "any", ["a:a", "b:b"])]),
        (f"Promise.all(ids.map(id => {A}))", [("parallel", "all", [("loop", "map", ["a:a"])])]),
        (f"x.all([{A}, {B}])", ["a:a", "b:b"]),
        (f"if ({A}) {B}", ["a:a", ("branch", "if", ["b:b"])]),
        (f"if (x) {A}; else {B}", [("branch", "if", ["a:a"], ["b:b"])]),
        (f"if (x) {A}; else if (y) {B}; else {C}", [("branch", "if", ["a:a"], ["b:b"], ["c:c"])]),
        (f"if (x) {A}; else if ({B}) {C}",
         [("branch", "if", ["a:a"], ["b:b", ("branch", "if", ["c:c"])])]),
        (f"x ? {A} : {B}", [("branch", "?", ["a:a"], ["b:b"])]),
        (f"switch ({A}) {{ case 1: {B}; break; default: {C} }}",
         ["a:a", ("branch", "switch", ["b:b"], ["c:c"])]),
        (f"{A} && {B}", ["a:a", ("branch", "&&", ["b:b"])]),
        (f"x || {B}", [("branch", "||", ["b:b"])]),
        (f"x ?? {B}", [("branch", "??", ["b:b"])]),
        (f"x ??= {B}", [("branch", "??", ["b:b"])]),
        (f"x + {A}", ["a:a"]),
        (f"try {{ {A} }} catch {{ {B} }} finally {{ {C} }}",
         ["a:a", ("branch", "catch", ["b:b"]), "c:c"]),
        (f"{A}.catch(() => {B})", ["a:a", ("branch", "catch", ["b:b"])]),
        (f"{A}.then(() => {B}).finally(() => {C})", ["a:a", "b:b", "c:c"]),
        (f"for (let i = {A}; i; {C}) {B}", ["a:a", ("loop", "for", ["b:b", "c:c"])]),
        (f"for (const x of {A}) {B}", ["a:a", ("loop", "for of", ["b:b"])]),
        (f"for await (const x of y) {B}", [("loop", "for of", ["b:b"])]),
        (f"for (const x in {A}) {B}", ["a:a", ("loop", "for in", ["b:b"])]),
        (f"while ({A}) {B}", [("loop", "while", ["a:a", "b:b"])]),
        (f"do {B}; while ({A})", [("loop", "do", ["b:b", "a:a"])]),
        (f"(await {A}).forEach(async function (x) {{ {B} }})",
         ["a:a", ("loop", "forEach", ["b:b"])]),
        ("xs.map(mcp.a.a)", [("loop", "map", ["a:a"])]),
        (f"Array.from(xs, x => {A})", [("loop", "from", ["a:a"])]),
        (f"(async () => {{ await {A} }})()", ["a:a"]),
        (f"await (async () => {{ await {A} }})()", ["a:a"]),
        (f"function f() {{ {A} }}", [("function", "f", ["a:a"])]),
        (f"const f = () => {A}", [("function", "f", ["a:a"])]),
        (f"setTimeout(() => {A}, 1)", [("function", None, ["a:a"])]),
        (f"const o = {{m() {{ {A} }}, n: () => {B}}}",
         [("function", "m", ["a:a"]), ("function", "n", ["b:b"])]),
        ("(q ? mcp.a : mcp.b).x()", [("branch", "either", ["a:x"], ["b:x"])]),
        ("if (x) { y() } for (;;) {}", []),
    ],
)  # fmt: skip
def test_shapes(code: str, expected: Any) -> None:
    assert shape(code) == expected


def test_effects_stay_in_the_order_of_the_program() -> None:
    # the original put calls without a data link side by side: write(); read() raced
    assert shape("await mcp.fs.write({}); await mcp.fs.read({})") == ["fs:write", "fs:read"]


def test_a_condition_inside_a_loop_stays_in_it() -> None:
    code = f"for (const x of xs) {{ if (x) await {A}; await {B} }}"
    assert shape(code) == [("loop", "for of", [("branch", "if", ["a:a"]), "b:b"])]


def test_every_call_is_in_the_shape_once() -> None:
    code = f"const f = () => {A}; x.map(f); Promise.all([{B}, f(), [{C}]]); x?.y({A}, () => {B})"
    found = analyse(code)
    told: list[str] = []

    def walk(steps: list[dict[str, Any]]) -> None:
        for step in steps:
            told.extend([step["call"]] if "call" in step else [])
            for arm in step.get("branches") or step.get("arms") or [step.get("body", [])]:
                walk(arm)

    walk(as_data(found.shape))
    assert sorted(told) == sorted(call.tool for call in found.calls)
