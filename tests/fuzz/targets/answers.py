"""What the host brings into the real guest: a server's value as the answer to a call.

Promised: the program gets that value and gives it back the same, or the run ends in an error of
ours; nothing in a value reaches beyond itself.
"""

import json
from typing import Any

import anyio

from sandbox_host import Completed, Failed, Limits, Sandbox
from tests.fuzz.oracles import as_javascript

LIMITS = Limits(memory_bytes=32 << 20, cpu_seconds=2, wall_seconds=10)
PROGRAM = "const got = await mcp.a.b(args); return [got, Object.keys(globalThis).length, ({}).x]"
WORDS = (
    b'{"__proto__":', b'"constructor"', b'"then"', b'"toJSON"', b"\\u0000", b"\\ud800", b"1e308", b"-0", b"9007199254740993",
    b"[", b"]", b'"\\"', b"null", b"\xe2\x80\xa8", b"0", b"\xf0\x9f\x98\x80", b'"length"',
)  # fmt: skip


def one(data: bytes) -> None:
    """Answer with what the bytes are as JSON, else with them as text."""
    try:
        value = json.loads(data, parse_constant=str)
    except (ValueError, RecursionError):
        value = data.decode(errors="replace")
    anyio.run(_answered, value)


async def _answered(value: Any) -> None:
    async def host(_: object) -> Any:
        return value

    async with Sandbox(limits=LIMITS) as sandbox:
        outcome = await sandbox.run(PROGRAM, host=host)
        plain = await sandbox.run("return 6 * 7", host=host)
    assert isinstance(plain, Completed), plain
    assert plain.value == 42
    if isinstance(outcome, Failed):
        assert outcome.error.code in {
            "tool_error",
            "result_not_json",
            "memory_limit",
            "output_limit",
        }
        return
    assert isinstance(outcome, Completed), outcome
    assert as_javascript(outcome.value[0]) == as_javascript(value)
    assert outcome.value[2] is None
