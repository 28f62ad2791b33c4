"""Ctrl-C ends a program at once, whatever it is doing."""

import signal
import sys
from pathlib import Path

import anyio
import pytest

BUSY = "await Deno.writeTextFile('began', ''); for (;;);"
WAITING = "await Deno.writeTextFile('began', ''); await new Promise((r) => setTimeout(r, 60_000));"


@pytest.mark.parametrize("code", [BUSY, WAITING])
async def test_interrupting_stops_the_guest_and_exits_130(code: str, tmp_path: Path) -> None:
    command = ["-m", "pml", "run", "--cpu", "60", "--mount", f"{tmp_path}:rw", "-e", code]
    with anyio.fail_after(60):
        async with await anyio.open_process([sys.executable, *command]) as process:
            while not (tmp_path / "began").exists():
                await anyio.sleep(0.01)
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            words = b"".join([part async for part in process.stderr])
            assert await process.wait() == 130
    assert words == b"error: interrupted\n"
