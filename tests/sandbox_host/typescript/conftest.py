"""One compiled eraser for all tests of the room."""

from pathlib import Path

import pytest
import wasmtime

import sandbox_host
from sandbox_host.typescript import Eraser

ERASER_WASM = Path(sandbox_host.typescript.__file__).parents[1] / "_guest" / "eraser.wasm"


@pytest.fixture(scope="session")
def engine() -> wasmtime.Engine:
    config = wasmtime.Config()
    config.epoch_interruption = True
    config.memory_init_cow = True
    return wasmtime.Engine(config)


@pytest.fixture(scope="session")
def module(engine: wasmtime.Engine) -> wasmtime.Module:
    return wasmtime.Module.from_file(engine, str(ERASER_WASM))


@pytest.fixture(scope="session")
def eraser(engine: wasmtime.Engine, module: wasmtime.Module) -> Eraser:
    return Eraser(engine, module)
