"""Every example runs, as its own text says it does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import wasmtime

from sandbox_host import Call, Completed, Failed, Sandbox, ToolError

EXAMPLES = Path(__file__).parents[2] / "examples"


def python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def capability(tool: str, mount: str, **args: str) -> str:
    file = str(EXAMPLES / "deno_capability.ts")
    options = ["--call", tool, "--mount", mount, "--args", json.dumps(args)]
    return python("-m", "pml", "run", file, *options)


def test_hello_gives_its_object() -> None:
    result = json.loads(python("-m", "pml", "run", str(EXAMPLES / "hello.ts")))
    assert result["ripe"] == ["apple", "plum"]
    assert result["sizes"]["melon"] == "large"


def test_embed_answers_the_programs_calls() -> None:
    assert python(str(EXAMPLES / "embed.py")) == "{'total': 10} after 2 calls\n"


def test_a_suspended_program_goes_on_in_a_new_process_and_asks_nothing_twice() -> None:
    assert python(str(EXAMPLES / "suspend.py")).splitlines() == [
        "asked: weather:today",
        "asked: human:ask",
        "suspended: Send the report?",
        "a new process goes on",
        "result: sent: clear",
    ]


def test_a_stored_program_waits_as_long_as_it_must(tmp_path: Path) -> None:
    example = str(EXAMPLES / "suspend.py")
    python(example, "start", str(tmp_path))
    assert python(example, "resume", str(tmp_path), "no") == "result: not sent\n"
    assert python(example, "resume", str(tmp_path), "yes") == "result: sent: clear\n"


def test_a_capability_written_for_deno_runs_unchanged(tmp_path: Path) -> None:
    made = capability("note", f"{tmp_path}:rw", title="milk", text="two litres")
    assert json.loads(made) == {"title": "milk", "bytes": 11}
    assert (tmp_path / "milk.note.txt").read_text() == "two litres\n"
    (tmp_path / "other.txt").write_text("no note")
    (tmp_path / "folder").mkdir()
    assert json.loads(capability("list", str(tmp_path))) == [{"title": "milk", "bytes": 11}]
    assert capability("read", str(tmp_path), title="milk") == "two litres\n\n"
    assert (
        capability("read", str(tmp_path), title="milk", folder=str(tmp_path)) == "two litres\n\n"
    )


def test_it_uses_the_file_functions_that_capabilities_use() -> None:
    source = (EXAMPLES / "deno_capability.ts").read_text()
    assert "export async function callTool(name" in source
    for used in ("Deno.readTextFile", "Deno.writeTextFile", "Deno.readDir"):
        assert used in source


@pytest.fixture(scope="module")
def raw() -> bytes:
    return bytes(wasmtime.wat2wasm((EXAMPLES / "raw.wat").read_text()))


async def test_a_raw_module_calls_a_tool_and_gives_its_answer(raw: bytes) -> None:
    async def host(call: Call) -> dict[str, int]:
        assert call.tool == "math:add"
        return {"sum": call.args["a"] + call.args["b"]}

    async with Sandbox() as sandbox:
        outcome = await sandbox.run_wasm(raw, host=host, args={"a": 1, "b": 2})
    assert isinstance(outcome, Completed)
    assert outcome.value == {"sum": 3}
    assert [log.text for log in outcome.logs] == ["asking"]


async def test_a_raw_module_sees_a_refused_call_as_an_error(raw: bytes) -> None:
    async def host(_: Call) -> None:
        raise ToolError("not today", code="refused")

    async with Sandbox() as sandbox:
        outcome = await sandbox.run_wasm(raw, host=host)
    assert isinstance(outcome, Failed)
    assert "not today" in outcome.error.message


async def test_a_raw_module_bounds_what_it_reads(raw: bytes) -> None:
    async def host(_: Call) -> None:
        raise AssertionError

    async with Sandbox() as sandbox:
        outcome = await sandbox.run_wasm(raw, host=host, args={"long": "x" * 40_000})
    assert isinstance(outcome, Failed)
    assert "the arguments are too long" in outcome.error.message
