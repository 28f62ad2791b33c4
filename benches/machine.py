"""The machine and the versions that a figure belongs to."""

import hashlib
import importlib.metadata
import os
import platform
import time
from pathlib import Path
from typing import Any

import sandbox_host
from benches.catalogue import PEERS

BUSY_LOAD = 0.5
"""Above this someone else is computing: the figures are worse than the code."""


def facts() -> dict[str, Any]:
    """Say where and with what this run is made."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "wasmtime": importlib.metadata.version("wasmtime"),
        "peers": {name: peer.version() for name, peer in PEERS.items()},
        "code": code(),
        "load_before": load(),
    }


def code() -> str:
    """Give a hash of the code under test: a run in which it changed says nothing."""
    folder = Path(sandbox_host.__file__).parent
    paths = [*folder.rglob("*.py"), folder / "_guest" / "manifest.json"]
    contents = b"".join(path.read_bytes() for path in sorted(paths))
    return hashlib.sha256(contents).hexdigest()[:12]


def load() -> float:
    """Give the load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"
