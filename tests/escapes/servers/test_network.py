"""Attack: talk to someone: over TCP, UDP, unix sockets by path or abstract name, or an odd protocol."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pml.confinement import Grants, Level

CONFINED = [Level.FULL, Level.LANDLOCK, Level.PARTIAL]
LANGUAGES = ["python", "node"]
REFUSED = {"EACCES", "EPERM"}


@contextlib.contextmanager
def listening(family: int, address) -> Iterator[socket.socket]:
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen(8)
        yield listener


@contextlib.contextmanager
def echoing() -> Iterator[int]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def echo() -> None:
            with contextlib.suppress(OSError):
                while True:
                    content, sender = server.recvfrom(64)
                    if content == b"stop":
                        return
                    server.sendto(content, sender)

        thread = threading.Thread(target=echo)
        thread.start()
        port = server.getsockname()[1]
        try:
            yield port
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stopping:
                stopping.sendto(b"stop", ("127.0.0.1", port))
            thread.join()


@contextlib.contextmanager
def target(kind: str, world) -> Iterator[tuple]:
    """Something of this machine that answers, with the attack that reaches it."""
    if kind == "tcp":
        with listening(socket.AF_INET, ("127.0.0.1", 0)) as listener:
            yield ("tcp", "127.0.0.1", listener.getsockname()[1])
    elif kind == "fast open":
        with listening(socket.AF_INET, ("127.0.0.1", 0)) as listener:
            yield ("fast_open", "127.0.0.1", listener.getsockname()[1])
    elif kind == "udp":
        with echoing() as port:
            yield ("udp", "127.0.0.1", port)
    elif kind == "abstract":
        name = f"pml-test-{world.outside.parent.name}"
        with listening(socket.AF_UNIX, f"\0{name}"):
            yield ("abstract", name)
    else:
        folder = world.workspace if kind == "unix in the workspace" else world.outside
        with contextlib.chdir(folder), listening(socket.AF_UNIX, "s"):
            link = Path("/tmp") / f"pml-{world.outside.parent.name}"
            path = str(folder / "s")
            if len(path) > 100:
                link.symlink_to(folder)
                path = str(link / "s")
            try:
                yield ("unix", path)
            finally:
                link.unlink(missing_ok=True)


KINDS = {
    "python": ["tcp", "fast open", "udp", "abstract", "unix in the workspace", "unix outside"],
    "node": ["tcp", "udp", "unix in the workspace", "unix outside"],
}
CASES = [(language, kind) for language in LANGUAGES for kind in KINDS[language]]


@pytest.mark.parametrize(("language", "kind"), CASES)
@pytest.mark.parametrize("level", CONFINED)
def test_without_a_grant_nobody_can_be_reached(start, world, level, language, kind) -> None:
    with target(kind, world) as attack:
        assert start(level, language).ask(*attack) in REFUSED


@pytest.mark.parametrize(("language", "kind"), CASES)
def test_without_confinement_the_same_attempt_works(start, world, language, kind) -> None:
    with target(kind, world) as attack:
        told = start(Level.OFF, language).ask(*attack)
    assert told == "OPEN"


@pytest.mark.parametrize("attack", ["netlink", "mptcp"])
@pytest.mark.parametrize("level", CONFINED)
def test_odd_protocols_are_refused_even_with_the_network_granted(start, level, attack) -> None:
    assert start(level, grants=Grants(net=True)).ask(attack) in REFUSED
    assert start(Level.OFF).ask(attack) == "OPEN"


@pytest.mark.parametrize("kind", ["abstract", "unix in the workspace"])
@pytest.mark.parametrize("level", CONFINED)
def test_unix_sockets_are_refused_even_with_the_network_granted(start, world, level, kind) -> None:
    grants = Grants(net=True, fs_write=(world.workspace,))
    with target(kind, world) as attack:
        assert start(level, grants=grants).ask(*attack) in REFUSED


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", [Level.FULL, Level.LANDLOCK])
def test_a_granted_port_can_be_reached_and_no_other(start, world, level, language) -> None:
    with target("tcp", world) as (_, host, port), target("tcp", world) as (_, _, other):
        evil = start(level, language, Grants(net=(f"*:{port}",)))
        assert evil.ask("tcp", host, port) == "OPEN"
        assert evil.ask("tcp", host, other) in REFUSED
        if language == "python":
            assert evil.ask("fast_open", host, other) in REFUSED


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", CONFINED)
def test_names_can_be_asked_for_when_the_network_is_granted(start, world, level, language) -> None:
    """DNS is UDP: with `net: true` a datagram and its answer pass."""
    with target("udp", world) as attack:
        assert start(level, language, Grants(net=True)).ask(*attack) == "OPEN"
