"""`pml cloud serve`, one worker, with 1,000 entries: the time that one answer takes of it.

Eight connections ask at once, so a sample is the time of a block of answers, divided by how many
they are: 2 ms are 500 answers a second. The client is a process's worth of work itself, on the
same machine.
"""

import datetime
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from benches.harness import Figure, Plan, Samples, Target, WrongResultError, expect, settle
from pml.cloud.store import opened_store
from pml.loader.publishing import code_publication

KIND = "cloud"
_ENOUGH = Target(p50=2.0)  # ms: 500 answers a second
FIGURES = (
    Figure("cloud_version", "a version, of 1,000", "ms", _ENOUGH),
    Figure("cloud_unchanged", "304: the client has it", "ms", _ENOUGH),
    Figure("cloud_catalogue", "a page of 50, of 1,000", "ms", _ENOUGH),
    Figure("cloud_redirect", "302: which version is current", "ms", _ENOUGH),
)
_ENTRIES = 1_000
_CONNECTIONS = 8
_BLOCK = 200  # answers of a sample
_CODE = '// __meta__: {{"fqdn": "acme.tools.n{0}.d", "description": "Number {0}"}}\n' + (
    "// a line of a usual length, so that the code has a usual size\n" * 32
)

Request = Callable[[int], bytes]


async def pml(plan: Plan) -> Samples:
    """Ask a worker over loopback."""
    samples: Samples = {figure.name: [] for figure in FIGURES}
    with tempfile.TemporaryDirectory() as name:
        database = str(Path(name) / "cloud.db")
        versions = _published(database)
        command = [sys.executable, "-m", "pml", "cloud", "serve", "--port", "0"]
        async with await anyio.open_process(
            [*command, "--database", database], stderr=subprocess.DEVNULL
        ) as worker:
            await _measure(plan, await _port(worker), versions, samples)
            worker.terminate()
    return samples


async def _port(worker: anyio.abc.Process) -> int:
    if worker.stdout is None:
        raise AssertionError
    address = await BufferedByteReceiveStream(worker.stdout).receive_until(b"\n", 200)
    return urlsplit(address.decode()).port or 0


def _published(database: str) -> list[tuple[str, str]]:
    """Give name and hash of each."""
    now = datetime.datetime.now(datetime.UTC)
    with opened_store(database) as store:
        made = [
            store.registry.publish(
                code_publication("bench", _CODE.format(n).encode()), by="bench", now=now
            ).entry
            for n in range(_ENTRIES)
        ]
    return [(str(entry.fqdn), entry.sha256) for entry in made]


async def _measure(
    plan: Plan, port: int, versions: list[tuple[str, str]], samples: Samples
) -> None:
    asked: dict[str, tuple[bytes, Request]] = {
        "cloud_version": (b"200", lambda n: _get(f"/mcp/{versions[n % _ENTRIES][0]}")),
        "cloud_unchanged": (
            b"304",
            lambda n: _get(f"/mcp/{versions[n % _ENTRIES][0]}", versions[n % _ENTRIES][1]),
        ),
        "cloud_catalogue": (b"200", lambda n: _get(f"/mcp?page={n % 20 + 1}")),
        "cloud_redirect": (b"302", lambda n: _get(f"/mcp/{versions[n % _ENTRIES][0][:-5]}")),
    }
    for status, request in asked.values():
        await _block(port, status, request)
    settle()
    for number in range(plan.count(30)):
        for figure, (status, request) in asked.items():
            began = time.perf_counter()
            await _block(port, status, lambda n: request(n + number * _BLOCK))  # noqa: B023
            samples[figure].append((time.perf_counter() - began) / _BLOCK)


def _get(path: str, known: str = "") -> bytes:
    condition = f'If-None-Match: "{known}"\r\n' if known else ""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{condition}\r\n".encode()


async def _block(port: int, status: bytes, request: Request) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(_CONNECTIONS):
            tasks.start_soon(_asked, port, status, request, number)


async def _asked(port: int, status: bytes, request: Request, first: int) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        reading = BufferedByteReceiveStream(stream)
        for number in range(first, _BLOCK, _CONNECTIONS):
            await stream.send(request(number))
            head = (await reading.receive_until(b"\r\n\r\n", 65536)).lower()
            expect(head[9:12], status)
            if status != b"304":
                await reading.receive_exactly(_length(head))


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line.startswith(b"content-length: "):
            return int(line[16:])
    raise WrongResultError(head)
