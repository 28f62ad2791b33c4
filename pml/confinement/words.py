"""What a confinement enforces and what it leaves open, in words for people and the audit. Pure.

The words follow from the same facts as the rules themselves. When in doubt something is listed as
missing: this list is what a human reads before saying yes.
"""

import dataclasses
from collections.abc import Iterator

from pml.confinement.child.landlock import ABI_SCOPES, ABI_TCP, ABI_TRUNCATE
from pml.confinement.model import Grants, Level

PROCESS_COUNT = "the number of processes"
PROTECTED_FILES = "protected files (.git, .pml.json, ...) inside writable folders"
LOOKS_SECRET = "files that look secret (.env, keys) inside writable folders"  # noqa: S105 - words


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """What decides about the words."""

    linux: bool
    """Elsewhere nothing but the environment is ours to set."""

    level: Level
    abi: int
    grants: Grants
    ports: tuple[int, ...]
    root: bool
    """Whether the gateway runs as root: the kernel counts no processes for root."""

    searched: bool
    """Whether all protected files were found."""

    code_writable: bool
    """Whether the server's program, or ours, lies in a folder it may write."""


def enforced(facts: Facts) -> tuple[str, ...]:
    """Give what holds."""
    return tuple(_enforced(facts))


def missing(facts: Facts) -> tuple[str, ...]:
    """Give what does not."""
    return tuple(_missing(facts))


def _enforced(facts: Facts) -> Iterator[str]:
    yield "only named environment variables"
    if not facts.linux:
        return
    yield "limits of memory, open files and file size per process"
    yield "nothing outlives the server or the gateway"
    if facts.level.at_least(Level.PARTIAL):
        yield from _enforced_by_the_filter(facts)
    if facts.level.at_least(Level.LANDLOCK):
        yield "only named files and folders"
    if facts.level is Level.FULL:
        yield from _enforced_by_namespaces(facts)


def _enforced_by_the_filter(facts: Facts) -> Iterator[str]:
    yield "no setuid programs, no capabilities"
    yield "filtered system calls"
    yield "no sockets" if not facts.grants.net else "only IPv4 and IPv6, TCP and UDP"
    if facts.ports and facts.abi >= ABI_TCP:
        yield f"TCP only to ports {', '.join(map(str, facts.ports))}"
    if not facts.grants.spawn:
        yield "no child processes"


def _enforced_by_namespaces(facts: Facts) -> Iterator[str]:
    yield "sees no other processes"
    if facts.grants.fs_write:
        yield "protected files that exist stay as they are"
    if facts.grants.hides_secrets:
        yield "files that look secret (.env, keys) are not seen"
    if facts.grants.spawn and not facts.root:
        yield PROCESS_COUNT


def _missing(facts: Facts) -> Iterator[str]:
    if facts.level is Level.OFF:
        yield f"everything but environment{' and limits' if facts.linux else ''}"
        return
    if facts.level is Level.PARTIAL:
        yield "the file system: it reads and writes what the user can"
        yield "other processes' memory, through /proc"
    if facts.level is Level.LANDLOCK:
        yield "mode, times and attributes of the user's files"
        yield "whether a file exists, and when it changes"
        if facts.abi < ABI_TRUNCATE:
            yield "emptying the user's files"
        if facts.grants.fs_write:
            yield PROTECTED_FILES
        if facts.grants.hides_secrets:
            yield LOOKS_SECRET
    if facts.level is Level.FULL and facts.abi == 0:
        yield "the second line of defence (Landlock)"
    yield from _missing_writes(facts)
    yield from _missing_processes(facts)
    yield from _missing_network(facts)


def _missing_writes(facts: Facts) -> Iterator[str]:
    if facts.level is Level.FULL and facts.grants.fs_write:
        yield "protected files that do not exist yet, are links, or get replaced meanwhile"
        if not facts.searched:
            yield "protected files in deep folders"
            if facts.grants.hides_secrets:
                yield "files that look secret in deep folders"
    if facts.code_writable and facts.level is not Level.FULL:
        yield "its own program, or PML's, which lies in a writable folder"


def _missing_processes(facts: Facts) -> Iterator[str]:
    scoped = facts.level is Level.FULL or (
        facts.level is Level.LANDLOCK and facts.abi >= ABI_SCOPES
    )
    if not scoped and facts.grants.spawn:
        yield "signals to the user's other processes"
    if facts.grants.spawn:
        yield "programs it writes itself can run, confined as it is"
        yield "memory of all its processes together"
        if facts.level is not Level.FULL or facts.root:
            yield PROCESS_COUNT


def _missing_network(facts: Facts) -> Iterator[str]:
    if not facts.grants.net:
        return
    yield "which hosts it speaks to, this machine included"
    yield "UDP to any port"
    if not facts.ports or facts.abi < ABI_TCP:
        yield "which TCP ports it connects to"
