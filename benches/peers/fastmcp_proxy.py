"""FastMCP's proxy (PyPI `fastmcp`), in front of the same server."""

import importlib.metadata
import sys
import time
from pathlib import Path

import anyio

from benches import gateway
from benches.harness import Plan, Samples

KIND = "gateway"
TITLE = "FastMCP proxy"
LACKS = {
    "gateway_execute": "runs no programs",
    "gateway_list": "lists what one server has",
}
_COMMAND = (sys.executable, str(Path(__file__).with_name("fastmcp_serving.py")), *gateway.ECHO)


def version() -> str | None:
    """Give the installed version."""
    try:
        return importlib.metadata.version("fastmcp")
    except importlib.metadata.PackageNotFoundError:
        return None


async def _calls(plan: Plan) -> Samples:
    starts = []
    for _ in range(plan.count(10, 3)):
        began = time.perf_counter()
        async with await anyio.open_process(_COMMAND, stderr=None) as process:
            await gateway.Connection(process).hello()
            starts.append(time.perf_counter() - began)
            process.kill()
    async with (
        await anyio.open_process(gateway.ECHO) as server,
        await anyio.open_process(_COMMAND, stderr=None) as process,
    ):
        direct, theirs = gateway.Connection(server), gateway.Connection(process)
        await direct.hello()
        await theirs.hello()
        over = await gateway.over_direct(direct, theirs, "echo", plan)
        process.kill()
        server.kill()
    return {"gateway_direct": over, "gateway_start": starts}


MEASURES = {"gateway": _calls}
