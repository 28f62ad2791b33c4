"""A paused program put away and brought back: the same value, no call made twice."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sandbox_host import (
    SUSPEND,
    Call,
    Completed,
    Host,
    Limits,
    Mount,
    Outcome,
    Sandbox,
    SnapshotForeign,
    SnapshotInvalid,
    Suspended,
    ToolError,
)


class Made:
    """Numbers the calls of a generated program, so that each can be told from the others."""

    def __init__(self) -> None:
        self.calls = 0

    def call(self, draw: st.DrawFn) -> str:
        self.calls += 1
        ask, value = draw(st.booleans()), draw(st.integers(0, 99))
        tool = draw(st.sampled_from(["go", "go", "fail"]))
        args = json.dumps({"n": self.calls, "v": value, "ask": ask})
        if tool == "go":
            return f"(await mcp.t.go({args}))"
        return f"(await (async () => {{ try {{ return await mcp.t.fail({args}) }} catch (e) {{ return e.data }} }})())"

    def expression(self, draw: st.DrawFn, depth: int) -> str:
        kinds = ["call", "timer"] if depth == 0 else ["call", "all", "sequence", "loop", "timer"]
        kind = draw(st.sampled_from(kinds))
        if kind == "call":
            return self.call(draw)
        if kind == "timer":
            return f"(await new Promise(done => setTimeout(() => done({draw(st.integers(0, 9))}), 0)))"
        parts = [self.expression(draw, depth - 1) for _ in range(draw(st.integers(1, 3)))]
        if kind == "all":
            tasks = ", ".join(f"(async () => {part})()" for part in parts)
            return f"(await Promise.all([{tasks}])).reduce((a, b) => (a * 31 + b) % 1000003, 7)"
        if kind == "sequence":
            steps = " ".join(f"s = (s * 17 + {part}) % 1000003;" for part in parts)
            return f"(await (async () => {{ let s = 3; {steps} return s }})())"
        self.calls += 1
        args = f"{{n: {self.calls} * 1000 + i, v: i, ask: i % 2 == 0}}"
        return f"(await (async () => {{ let s = 0; for (let i = 0; i < 3; i++) s += await mcp.t.go({args}); return s }})())"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Generate a program of calls in sequence, side by side and in loops; some ask a human."""
    return f"return {Made().expression(draw, 3)}"


def answer(call: Call) -> Any:
    """Give what the tool gives, or raise what it raises, whoever asks."""
    value = call.args["v"] * 2 + call.args["n"]
    if call.tool == "t:fail":
        raise ToolError("failed", data=value)
    return value


class Tools:
    """A host that suspends what asks, or answers everything at once; it remembers what it did."""

    def __init__(self, *, suspends: bool) -> None:
        self.suspends = suspends
        self.done: list[int] = []

    async def __call__(self, call: Call) -> Any:
        if self.suspends and call.args["ask"]:
            return SUSPEND
        return self.perform(call)

    def perform(self, call: Call) -> Any:
        self.done.append(call.args["n"])
        return answer(call)

    def settle(self, call: Call) -> Any:
        try:
            return self.perform(call)
        except ToolError as error:
            return error


async def _uninterrupted(code: str) -> tuple[Outcome, list[int]]:
    tools = Tools(suspends=False)
    async with Sandbox() as sandbox:
        return await sandbox.run(code, host=tools), tools.done


async def _interrupted(code: str) -> tuple[Outcome, list[int]]:
    """Put the program away at every pause and go on in another sandbox."""
    tools = Tools(suspends=True)
    async with Sandbox() as sandbox:
        outcome = await sandbox.run(code, host=tools)
        data = sandbox.snapshot() if isinstance(outcome, Suspended) else b""
    while isinstance(outcome, Suspended):
        async with Sandbox.restore(data) as sandbox:
            first = outcome.calls[0]
            outcome = await sandbox.resume({first.id: tools.settle(first)}, host=tools)
            data = sandbox.snapshot() if isinstance(outcome, Suspended) else b""
    return outcome, tools.done


SIDE_BY_SIDE = """
const [a, b, c] = await Promise.all([
  mcp.t.go({n: 1, v: 1, ask: true}), mcp.t.go({n: 2, v: 2, ask: false}), mcp.t.go({n: 3, v: 3, ask: true}),
])
return a * 10_000 + b * 100 + c + await mcp.t.go({n: 4, v: c, ask: false})"""


@settings(deadline=None, max_examples=60)
@example(SIDE_BY_SIDE)
@given(programs())
def test_an_interrupted_program_gives_the_value_of_the_uninterrupted_one(code: str) -> None:
    expected, made = anyio.run(_uninterrupted, code)
    outcome, made_in_pieces = anyio.run(_interrupted, code)
    assert isinstance(expected, Completed), expected
    assert isinstance(outcome, Completed), outcome
    assert outcome.value == expected.value
    assert sorted(made_in_pieces) == sorted(made)
    assert len(set(made_in_pieces)) == len(made_in_pieces)


WORKER = Path(__file__).with_name("paused_worker.py")


def _in_new_process(folder: Path) -> int:
    """Take the program one pause further; the process kills itself when it has saved."""
    return subprocess.run([sys.executable, str(WORKER), str(folder)], check=False).returncode


@settings(
    deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@example(code=SIDE_BY_SIDE)
@given(code=programs())
def test_a_program_survives_the_death_of_its_process(tmp_path_factory: Any, code: str) -> None:
    expected, made = anyio.run(_uninterrupted, code)
    folder = tmp_path_factory.mktemp("paused")
    (folder / "program.ts").write_text(code)
    for _ in range(60):
        if _in_new_process(folder) != -signal.SIGKILL:
            break
    assert isinstance(expected, Completed)
    assert json.loads((folder / "value.json").read_text()) == expected.value
    performed = [int(line) for line in (folder / "done.txt").read_text().split()]
    assert sorted(performed) == sorted(made)


async def test_a_snapshot_is_small_and_can_be_used_more_than_once(host: Host) -> None:
    async with Sandbox() as sandbox:
        await sandbox.run(
            "const big = 'x'.repeat(10_000); (await mcp.ask.human({})) + big.length", host=host
        )
        data = sandbox.snapshot()
    assert len(data) < 300_000
    for value in (1, 2):
        async with Sandbox.restore(data) as sandbox:
            outcome = await sandbox.resume({1: value}, host=host)
        assert isinstance(outcome, Completed)
        assert outcome.value == value + 10_000


async def test_logs_records_budgets_and_the_clock_go_on_after_a_restore(host: Host) -> None:
    code = (
        "console.log('before'); await mcp.math.add({a: 1, b: 1}); const t = performance.now();"
        "await mcp.ask.human({}); console.log('after'); const passed = performance.now() - t;"
        "await mcp.math.add({a: 2, b: 2}); return passed >= 0 && passed < 60_000"
    )
    async with Sandbox(limits=Limits(calls=3)) as sandbox:
        await sandbox.run(code, host=host)
        data = sandbox.snapshot()
    async with Sandbox.restore(data, limits=Limits(calls=3)) as sandbox:
        outcome = await sandbox.resume({1 + 1: None}, host=host)
    assert isinstance(outcome, Completed)
    assert outcome.value is True
    assert [log.text for log in outcome.logs] == ["before", "after"]
    assert [record.tool for record in outcome.calls] == ["math:add", "ask:human", "math:add"]
    async with Sandbox.restore(data, limits=Limits(calls=2)) as sandbox:
        assert (await sandbox.resume({2: None}, host=host)).error.code == "call_limit"


async def test_an_error_after_a_restore_still_names_its_place(host: Host) -> None:
    code = "enum E { A }\nawait mcp.ask.human({})\nthrow new Error('x' + E.A)"
    async with Sandbox() as sandbox:
        await sandbox.run(code, host=host)
        data = sandbox.snapshot()
    async with Sandbox.restore(data) as sandbox:
        outcome = await sandbox.resume({1: None}, host=host)
    assert outcome.error.line == 3
    assert outcome.error.source_line == "throw new Error('x' + E.A)"


async def _snapshot(host: Host, **options: Any) -> bytes:
    async with Sandbox(**options) as sandbox:
        await sandbox.run("await mcp.ask.human({})", host=host)
        return sandbox.snapshot()


async def test_a_damaged_snapshot_is_refused(host: Host) -> None:
    data = await _snapshot(host)
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 1
    for damaged in (
        b"",
        b"junk",
        data[:-1],
        data[: len(data) // 2],
        bytes(flipped),
        b"X" + data[1:],
    ):
        with pytest.raises(SnapshotInvalid):
            async with Sandbox.restore(damaged):
                pass


async def test_a_snapshot_of_other_mounts_or_another_guest_is_refused(
    host: Host, tmp_path: Path
) -> None:
    data = await _snapshot(host, mounts=[Mount(tmp_path, guest_path="/data")])
    for mounts in (
        [],
        [Mount(tmp_path, guest_path="/other")],
        [Mount(tmp_path, guest_path="/data", writable=True)],
    ):
        with pytest.raises(SnapshotForeign, match="mounts"):
            async with Sandbox.restore(data, mounts=mounts):
                pass
    async with Sandbox.restore(data, mounts=[Mount(tmp_path, guest_path="/data")]) as sandbox:
        assert isinstance(await sandbox.resume({1: 5}, host=host), Completed)


async def test_a_restored_program_still_reaches_its_files(host: Host, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("content")
    mounts = [Mount(tmp_path)]
    code = "await Deno.readTextFile('a.txt'); await mcp.ask.human({}); return await Deno.readTextFile('a.txt')"
    async with Sandbox(mounts=mounts) as sandbox:
        await sandbox.run(code, host=host)
        data = sandbox.snapshot()
    async with Sandbox.restore(data, mounts=mounts) as sandbox:
        assert (await sandbox.resume({1: None}, host=host)).value == "content"


async def test_memory_that_outgrew_the_new_limit_is_named(host: Host) -> None:
    code = "const a = new Array(8e5).fill(1); await mcp.ask.human({}); return a.length"
    async with Sandbox() as sandbox:
        assert isinstance(await sandbox.run(code, host=host), Suspended)
        data = sandbox.snapshot()
    with pytest.raises(Exception, match="larger than the limit") as caught:
        async with Sandbox.restore(data, limits=Limits(memory_bytes=8 << 20)):
            pass
    assert caught.value.code == "memory_limit"


if os.name != "posix":
    pytest.skip("kills processes", allow_module_level=True)
