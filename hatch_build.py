"""The build hook: puts the guest into the wheel, or into the source tree for an editable install.

hatchling asks `dependencies` first; on a cache hit it is empty and the whole build takes seconds.
Everything else is `guest_runtime/build.py`.
"""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Build front ends do not put the project's folder on the path.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from guest_runtime import build
from guest_runtime.errors import BuildError


class GuestBuildHook(BuildHookInterface[Any]):
    """Builds the guest before the files of the wheel are collected."""

    def dependencies(self) -> list[str]:
        """Name the build requirements; none when the guest is in the cache."""
        return build.requirements(build.default_cache())

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build or copy the guest; `pyproject.toml` lists it under `artifacts`."""
        try:
            build.build(build.default_cache(), build.OUTPUT, self.app.display_info)
        except BuildError as error:
            # A traceback would bury the one thing the reader needs.
            raise SystemExit(error.report()) from None
