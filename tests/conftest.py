"""What all tests share: the real MCP servers, installed once."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

_INSTALLING = Path(__file__).parent / "servers" / "installing.py"


@pytest.fixture(scope="session")
def installed() -> Any:
    """The servers of the core set, from npm and PyPI."""
    spec = importlib.util.spec_from_file_location("installing", _INSTALLING)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.installed()
