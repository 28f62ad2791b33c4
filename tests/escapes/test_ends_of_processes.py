"""Attack: make the host process itself end or hang, by what stands at its edges.

Exports of the wrong kind, a cancellation just as a worker begins, closing while another begins, a fork
that leaves the clock behind, a limit on address space. Each runs in a process of its own: what failed
once took the process with it.
"""

import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import anyio, os, sys, time
import wasmtime
from sandbox_host import Completed, Failed, Limits, Sandbox, SandboxClosed
async def host(call):
    return 1
"""


def in_child(code: str, timeout_seconds: float = 30, backend: str = "asyncio") -> str:
    program = PRELUDE + textwrap.dedent(code) + f"\nanyio.run(main, backend={backend!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=False, capture_output=True, text=True, timeout=timeout_seconds,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    return done.stdout


@pytest.mark.parametrize(
    "module",
    [
        '(import "mcp" "call" (func $c (param i32 i32 i32 i32) (result i32))) (func (export "memory")) (func (export "run") (drop (call $c (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))',
        '(import "mcp" "call" (func $c (param i32 i32 i32 i32) (result i32))) (global (export "memory") i32 (i32.const 1)) (func (export "run"))',
        '(import "mcp" "call" (func $c (param i32 i32 i32 i32) (result i32))) (func $s (drop (call $c (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))) (start $s) (func (export "run"))',
        '(memory (export "memory") 1) (global (export "run") i32 (i32.const 1))',
    ],
)  # fmt: skip
async def test_an_export_of_the_wrong_kind_is_refused(module: str) -> None:
    told = in_child(f"""
        async def main():
            async with Sandbox(limits=Limits(wall_seconds=3, cpu_seconds=1)) as sandbox:
                outcome = await sandbox.run_wasm(bytes(wasmtime.wat2wasm('''(module {module})''')), host=host)
                print(outcome.error.code)
    """)
    assert told.strip() in {"module_invalid", "cpu_limit", "guest_protocol"}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
async def test_cancelling_at_any_moment_harms_nothing(backend: str) -> None:
    told = in_child(
        """
        async def main():
            for number in range(60):
                async with Sandbox(limits=Limits(cpu_seconds=5)) as sandbox:
                    with anyio.move_on_after(number * 0.0002):
                        await sandbox.run("while (true) {}", host=host)
            async with Sandbox() as sandbox:
                print((await sandbox.run("1 + 1", host=host)).value)
        """,
        backend=backend,
        timeout_seconds=60,
    )
    assert told.strip() == "2"


async def test_closing_while_another_program_begins_harms_nothing() -> None:
    told = in_child("""
        async def stubborn(sandbox):
            for _ in range(3):
                try:
                    await sandbox.run("while (true) {}", host=host)
                except SandboxClosed:
                    print("closed")
        async def main():
            sandbox = Sandbox()
            await sandbox.__aenter__()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stubborn, sandbox)
                await anyio.sleep(0.05)
                await sandbox.aclose()
    """)
    assert told.split() == ["closed"] * 3


async def test_a_host_function_may_close_its_own_sandbox() -> None:
    told = in_child("""
        async def main():
            sandbox = Sandbox()
            await sandbox.__aenter__()
            async def closing(call):
                await sandbox.aclose()
                await anyio.sleep(0)
            try:
                with anyio.fail_after(5):
                    await sandbox.run("await mcp.a.b({})", host=closing)
            except SandboxClosed:
                print("closed")
    """)
    assert told.strip() == "closed"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_limits_hold_in_a_forked_process() -> None:
    told = in_child("""
        async def once():
            async with Sandbox(limits=Limits(cpu_seconds=0.2)) as sandbox:
                return (await sandbox.run("while (true) {}", host=host)).error.code
        async def main():
            pass
        print(anyio.run(once), flush=True)
        if os.fork() == 0:
            print(anyio.run(once), flush=True)
            os._exit(0)
        os.wait()
    """)
    assert told.split() == ["cpu_limit", "cpu_limit"]


@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS")
async def test_a_limit_on_address_space_costs_speed_only() -> None:
    told = in_child("""
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (24 << 30, 24 << 30))
        async def main():
            async with Sandbox() as sandbox:
                print((await sandbox.run("1 + 1", host=host)).value)
    """)
    assert told.strip() == "2"


async def test_the_clock_ticks_however_late_its_thread_is() -> None:
    told = in_child("""
        from sandbox_host.engine import ticker
        class Late:
            def __init__(self):
                self.event = ticker_event()
            def wait(self):
                self.event.wait(); time.sleep(0.08)
            def set(self): self.event.set()
            def clear(self): self.event.clear()
        ticker_event = ticker.threading.Event
        async def main():
            first = True
            for _ in range(3):
                async with Sandbox(limits=Limits(cpu_seconds=0.1, wall_seconds=5)) as sandbox:
                    if first:
                        sandbox._shared.runtimes.warm.ticker._wake = Late()
                        first = False
                    print((await sandbox.run("while (true) {}", host=host)).error.code)
                await anyio.sleep(0.2)
    """)
    assert told.split() == ["cpu_limit"] * 3
