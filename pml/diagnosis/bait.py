"""What an escape would reach: a file, a folder, a port, a process; laid out for one examination.

Whether something was taken is judged by what arrived here, not by what the suspect says: only of
another process's environment there is no trace, so that one it has to tell.
"""

import contextlib
import dataclasses
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator
from pathlib import Path

import anyio

READ, WRITE, CONNECT, SEE = "read", "write", "connect", "see"
ATTEMPTS = {
    READ: "reading a file outside",
    WRITE: "writing a file outside",
    CONNECT: "connecting to a port of this machine",
    SEE: "the environment of another process",
}
"""In words, for `refused: ...` and `not refused: ...`."""

_NEIGHBOUR = "import sys; sys.stdin.read()"
_END_SECONDS = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class Bait:
    """All of it, in one private folder."""

    folder: Path
    token: str
    """What stands in the file, and in the environment of the process."""

    listener: socket.socket = dataclasses.field(repr=False)

    @property
    def secret(self) -> Path:
        """The file that must not be read."""
        return self.folder / "secret"

    @property
    def target(self) -> Path:
        """The file that must not be made."""
        return self.folder / "target"

    @property
    def port(self) -> int:
        """The port that must not be reached."""
        port: int = self.listener.getsockname()[1]
        return port

    def taken(self, told: str, claims: Collection[str] = ()) -> frozenset[str]:
        """Say which attempts succeeded since the last time; clears the traces."""
        found = {READ} if self.token in told else set()
        if self.target.exists():
            found.add(WRITE)
            self.target.unlink()
        with contextlib.suppress(BlockingIOError):
            while True:
                self.listener.accept()[0].close()
                found.add(CONNECT)
        return frozenset(found | ({SEE} & set(claims)))


@contextlib.contextmanager
def _private_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pml-doctor-") as made:
        yield Path(made).resolve()


@contextlib.asynccontextmanager
async def laid_out() -> AsyncIterator[Bait]:
    """Lay it out; afterwards nothing of it is left."""
    token = secrets.token_hex(16)
    with _private_folder() as folder, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        bait = Bait(folder, token, listener)
        bait.secret.write_text(token)
        async with _neighbour(token):
            yield bait


@contextlib.asynccontextmanager
async def _neighbour(token: str) -> AsyncIterator[None]:
    """Keep a process with the token in its environment; it ends when its stdin does."""
    process = await anyio.open_process(
        [sys.executable, "-I", "-S", "-c", _NEIGHBOUR],
        stdout=subprocess.DEVNULL,
        env={"PML_DOCTOR_TOKEN": token},
    )
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            if process.stdin is not None:
                await process.stdin.aclose()
            with anyio.move_on_after(_END_SECONDS):
                await process.wait()
            if process.returncode is None:
                process.kill()
            await process.aclose()
