"""The machine and the versions that figures belong to."""

import importlib.metadata
import os
import platform
from datetime import datetime
from pathlib import Path
from typing import Any

from pml import __version__


def facts(now: datetime) -> dict[str, Any]:
    """Say where and with what a run is made."""
    return {
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "wasmtime": importlib.metadata.version("wasmtime"),
        "pml": __version__,
        "loadBefore": load(),
    }


def load() -> float:
    """Give the load average of the last minute, 0 where there is none."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0


def held_bytes() -> int | None:
    """Give what this process holds of the machine's memory (PSS); None where nobody tells."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
