"""What attacks of native servers need: a place with something to steal beside it, and a hostile server in it.

Nothing is a fake: real processes, real confinement. What an attack could hurt is a stand-in that the test made.
"""

import dataclasses
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pml.confinement import (
    Confined,
    Grants,
    Level,
    Places,
    Program,
    Support,
    ask_to_end,
    confine,
    end_now,
    probe,
)

HERE = Path(__file__).parent
HANG_SECONDS = 30.0
ENVIRON = dict(os.environ)


@pytest.fixture(autouse=True)
def bystander() -> None:
    """Instead of the guests' bystander: here nothing runs in a wasm sandbox."""


@pytest.fixture(scope="session")
def support() -> Support:
    return probe(ENVIRON)


@pytest.fixture
def needs(support: Support) -> Callable[[Level], None]:
    """Skips where a level does not work; in CI that is a failure."""

    def needs(level: Level) -> None:
        lacking = level is Level.LANDLOCK and support.landlock_abi == 0
        if support.best.at_least(level) and not lacking:
            return
        required = ENVIRON.get("PML_REQUIRE_SANDBOX")
        if required and Level(required).at_least(level):
            pytest.fail(f"level {level} does not work here: {support.reason}")
        pytest.skip(f"level {level} does not work here: {support.reason}")

    return needs


@dataclasses.dataclass(frozen=True)
class World:
    """`places` is what the server is given; everything beside it must stay as it is."""

    places: Places
    outside: Path

    @property
    def workspace(self) -> Path:
        return self.places.workspace

    @property
    def ssh_key(self) -> Path:
        return self.places.user_home / ".ssh" / "id_ed25519"

    @property
    def other_home(self) -> Path:
        return self.places.home.parent.parent / "other" / "home"


@pytest.fixture
def world(tmp_path: Path) -> World:
    servers, user = tmp_path / "state" / "servers", tmp_path / "user"
    places = Places(
        workspace=user / "project", home=servers / "evil" / "home",
        tmp=servers / "evil" / "tmp", user_home=user,
    )  # fmt: skip
    made = World(places, tmp_path / "outside")
    for folder in (places.workspace, places.home, places.tmp, made.outside, made.other_home):
        folder.mkdir(parents=True, mode=0o700)
    (user / ".ssh").mkdir(mode=0o700)
    made.ssh_key.write_text("secret")
    (made.other_home / "token").write_text("secret")
    (made.outside / "file").write_text("untouched")
    (places.workspace / "plain.txt").write_text("plain")
    return made


class Evil:
    """A running hostile server."""

    def __init__(self, confined: Confined, process: "subprocess.Popen[bytes]") -> None:
        self.confined = confined
        self.process = process

    def ask(self, attack: str, *arguments: object) -> str:
        """Have it try one attack; a server that died of it answers with its exit status."""
        assert self.process.stdin is not None
        line = json.dumps([attack, *(str(a) if isinstance(a, Path) else a for a in arguments)])
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return f"ended {self.process.wait(HANG_SECONDS)}"
        return self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], HANG_SECONDS)
        assert ready, "no answer"
        answer = self.process.stdout.readline().decode().strip()
        if answer:
            return answer
        assert self.process.stderr is not None
        self.said = self.process.stderr.read().decode(errors="replace")
        return f"ended {self.process.wait(HANG_SECONDS)}"

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue
        if self.process.poll() is None:
            end_now(self.process.pid, self.confined)
        self.process.wait(HANG_SECONDS)

    def ask_to_end(self) -> None:
        ask_to_end(self.process.pid, self.confined)

    def end_now(self) -> bool:
        return end_now(self.process.pid, self.confined)


def evil_program(language: str, package: Path) -> Program:
    """A hostile program in a folder of its own, as an installed package has."""
    package.mkdir(parents=True, exist_ok=True)
    name = "evil.py" if language == "python" else "evil.mjs"
    shutil.copy(HERE / name, package / name)
    command = os.path.realpath(sys.executable) if language == "python" else "node"
    return Program(command, (str(package / name),))


StartEvil = Callable[..., Evil]


@pytest.fixture
def start(world: World, support: Support, needs: Callable[[Level], None]) -> Iterator[StartEvil]:
    """Starts hostile servers, by default with the workspace writable and nothing else granted."""
    running: list[Evil] = []

    def start(
        level: Level,
        language: str = "python",
        grants: Grants | None = None,
        *,
        environ: dict[str, str] | None = None,
        using: Support | None = None,
        package: Path | None = None,
        script: tuple[Path | str, ...] | None = None,
    ) -> Evil:
        needs(level)
        if language == "node" and shutil.which("node") is None:
            pytest.skip("node is not installed")
        program = evil_program(language, package or world.outside.parent / "packages" / language)
        if script is not None:
            program = Program(program.command, tuple(map(str, script)))
        confined = confine(
            program,
            grants or Grants(fs_write=(world.workspace,)),
            world.places,
            support=using or support,
            environ=environ or ENVIRON,
            level=level,
            floor=Level.PARTIAL,
            allow_off=True,
        )
        process = subprocess.Popen(
            confined.argv, env=dict(confined.environment), cwd=confined.cwd, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
        )  # fmt: skip
        running.append(Evil(confined, process))
        return running[-1]

    yield start
    for evil in running:
        evil.close()


@dataclasses.dataclass(frozen=True)
class Victim:
    """A process of the same user, with something to steal: as the gateway is to a server."""

    process: "subprocess.Popen[bytes]"
    address: int

    @property
    def pid(self) -> int:
        return self.process.pid


_VICTIM = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(2**64 - 1), 0, 0, 0)
secret = ctypes.create_string_buffer(b"gateway!")
print(ctypes.addressof(secret), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def victim() -> Iterator[Victim]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _VICTIM], env={"TOKEN": "of-the-gateway"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    yield Victim(process, int(process.stdout.readline()))
    process.kill()
    process.communicate()
