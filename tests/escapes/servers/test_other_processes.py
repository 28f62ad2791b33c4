"""Attack: read the memory or environment of the gateway, stop it, or starve it of resources."""

import signal

import pytest

from pml.confinement import Grants, Level, Support

CONFINED = [Level.FULL, Level.LANDLOCK, Level.PARTIAL]
REFUSED = {"EPERM", "EACCES", "ESRCH", "ENOENT"}


def _attempts(victim) -> dict[str, tuple]:
    pid, address = victim.pid, victim.address
    return {
        "ptrace": ("ptrace", pid),
        "process_vm_readv": ("vm_readv", pid, address),
        "kill": ("kill", pid, signal.SIGKILL),
        "kill by pidfd": ("pidfd_kill", pid, signal.SIGKILL),
        "kill by thread": ("tgkill", pid, signal.SIGKILL),
        "kill as owner of a pipe": ("owner_kill", pid, signal.SIGKILL),
        "prlimit": ("prlimit", pid),
    }


ATTEMPTS = [
    "ptrace", "process_vm_readv", "kill", "kill by pidfd", "kill by thread", "kill as owner of a pipe", "prlimit",
]  # fmt: skip


@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("level", CONFINED)
def test_another_process_is_out_of_reach(start, victim, level, attempt) -> None:
    assert start(level).ask(*_attempts(victim)[attempt]) in REFUSED
    assert victim.process.poll() is None


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_without_confinement_the_same_attempt_works(start, victim, attempt) -> None:
    assert start(Level.OFF).ask(*_attempts(victim)[attempt]) == "OPEN"


@pytest.mark.parametrize("level", CONFINED)
def test_node_cannot_kill_another_process_either(start, victim, level) -> None:
    assert start(level, "node").ask("kill", victim.pid, signal.SIGKILL) in REFUSED
    assert start(Level.OFF, "node").ask("kill", victim.pid, signal.SIGKILL) == "OPEN"


@pytest.mark.parametrize("language", ["python", "node"])
@pytest.mark.parametrize("level", [Level.FULL, Level.LANDLOCK])
def test_the_environment_of_another_process_cannot_be_read(start, victim, level, language) -> None:
    attempt = ("proc_environ", victim.pid, "of-the-gateway")
    assert start(level, language).ask(*attempt) in REFUSED
    assert start(Level.OFF, language).ask(*attempt) == "OPEN"


@pytest.mark.parametrize("level", [Level.FULL, Level.LANDLOCK])
def test_the_memory_of_another_process_cannot_be_read_through_proc(start, victim, level) -> None:
    assert start(level).ask("proc_mem", victim.pid, victim.address) in REFUSED
    assert start(Level.OFF).ask("proc_mem", victim.pid, victim.address) == "OPEN"


@pytest.mark.parametrize("abi", [1, 3, 5])
@pytest.mark.parametrize("spawn", [False, True])
@pytest.mark.parametrize("attack", ["kill", "tgkill", "pidfd_kill", "owner_kill", "renice", "pin"])
def test_with_an_old_landlock_the_filter_guards_the_supervisor(
    start, support, abi, spawn, attack
) -> None:
    """Landlock keeps signals in only since version 6; the supervisor must not die before the server."""
    old = Support(Level.LANDLOCK, min(abi, support.landlock_abi))
    evil = start(Level.LANDLOCK, grants=Grants(spawn=spawn), using=old)
    arguments = () if attack in {"renice", "pin"} else (signal.SIGKILL,)
    assert evil.ask(attack, evil.process.pid, *arguments) in REFUSED
    assert evil.process.poll() is None


@pytest.mark.parametrize("level", [Level.LANDLOCK, Level.PARTIAL])
@pytest.mark.parametrize(
    "attack", ["kill", "tgkill", "pidfd_kill", "ptrace", "prlimit", "renice", "pin"]
)
def test_the_supervisor_is_out_of_reach(start, level, attack) -> None:
    evil = start(level, grants=Grants(spawn=True))
    signals = (signal.SIGKILL,) if "kill" in attack else ()
    assert int(evil.ask("parent")) == evil.process.pid
    assert evil.ask(attack, evil.process.pid, *signals) in REFUSED
    assert evil.process.poll() is None


@pytest.mark.parametrize("level", [Level.LANDLOCK, Level.PARTIAL])
def test_the_supervisors_environment_is_out_of_reach(start, level) -> None:
    evil = start(level, grants=Grants(env={"TOKEN": "declared"}))
    assert evil.ask("proc_environ", evil.process.pid, "declared") in REFUSED


@pytest.mark.parametrize("level", CONFINED)
def test_a_server_can_still_signal_itself(start, level) -> None:
    """Timers, aborts and shutting down by signal belong to ordinary programs."""
    evil = start(level)
    assert evil.ask("kill", 0, 0) == "OPEN"


@pytest.mark.parametrize("level", [*CONFINED, Level.OFF])
def test_no_descriptor_of_the_gateway_is_inherited(start, level) -> None:
    assert start(level).ask("descriptors") == "EBADF"
