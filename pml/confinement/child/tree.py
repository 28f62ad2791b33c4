"""Which processes descend from which, as /proc tells it. Linux only; a snapshot, never a lock."""

import os


def children_of(pid: int) -> list[int]:
    """Give the direct children of all threads of a process, oldest first; none if it is gone."""
    if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):  # without PROC_CHILDREN
        return [child for child in _everyone() if _parent_of(child) == pid]
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [
        child for thread in threads for child in _listed(f"/proc/{pid}/task/{thread}/children")
    ]


def descendants_of(pid: int) -> list[int]:
    """Give all processes below one, parents before their children."""
    found = children_of(pid)
    for child in found:  # grows while it is read
        found += children_of(child)
    return found


def _listed(path: str) -> list[int]:
    try:
        with open(path, encoding="ascii") as listed:
            return [int(word) for word in listed.read().split()]
    except OSError:
        return []  # the thread has ended


def _everyone() -> list[int]:
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


def _parent_of(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as facts:
            # The name in parentheses is the process's own choice, brackets included.
            return int(facts.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
