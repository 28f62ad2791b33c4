"""Calls of the built-ins as a program's reach them: their value, or their error's words."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pml.backends.results import value_of
from pml.backends.std import StdBackend
from pml.backends.std.capability import STD_FOLDER, load_capability
from sandbox_host import ToolError


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Only asyncio: the sandbox has its own tests on both."""
    return "asyncio"


class Builtin:
    """One capability in a workspace; every value is held against the tool's `outputSchema`."""

    def __init__(self, name: str, workspace: Path) -> None:
        self.workspace = workspace
        self._backend = StdBackend(name, workspace, workspace.parent / "state")
        definitions = load_capability(name, STD_FOLDER).definitions
        self._schemas = {one["name"]: one.get("outputSchema", {}) for one in definitions}

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        result = await self._backend.call_tool(tool, arguments, timeout_seconds=60)
        value = value_of(tool, result)
        jsonschema.validate(value, self._schemas[tool])
        return value

    async def refused(self, tool: str, **arguments: Any) -> str:
        with pytest.raises(ToolError) as caught:
            await self(tool, **arguments)
        return str(caught.value)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("std") / "project"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture(scope="module")
def builtin(request: pytest.FixtureRequest, project: Path) -> Builtin:
    """Give the capability that the module is named after: `test_csv.py`, `csv`."""
    return Builtin(request.path.stem.removeprefix("test_"), project)
