"""Real clouds: processes on loopback, on SQLite and on PostgreSQL; a real remote server behind."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

HERE = Path(__file__).parent


def _module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"cloud_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


databases, running = _module("databases"), _module("running")


@pytest.fixture
def anyio_backend() -> str:
    """Uvicorn runs on asyncio alone."""
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    folder = databases.binaries()
    if folder is None:
        pytest.skip("no PostgreSQL server is installed")
    with databases.postgres(folder) as url:
        yield url


@pytest.fixture(scope="session")
def new_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], str]:
    """Makes an empty database of a kind; gives its URL."""
    made = 0

    def make(kind: str) -> str:
        nonlocal made
        made += 1
        if kind == "sqlite":
            return f"sqlite:///{tmp_path_factory.mktemp('database')}/cloud.db"
        import psycopg  # noqa: PLC0415 - an extra

        server: str = request.getfixturevalue("postgres_server")
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE test_{made}")  # type: ignore[arg-type]
        return server.replace("/postgres?", f"/test_{made}?")

    return make


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, new_database: Callable[[str], str]) -> str:
    """An empty database, of both kinds."""
    return new_database(request.param)


@pytest.fixture(scope="session")
def upstream() -> Iterator[str]:
    """A real remote MCP server."""
    with subprocess.Popen(
        [sys.executable, HERE / "upstream.py"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def cloud(
    request: pytest.FixtureRequest,
    new_database: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Any]:
    """A cloud that tests share: each publishes names of its own."""
    log = tmp_path_factory.mktemp("cloud") / "log"
    url = new_database(request.param)
    with running.cloud(url, log, "--allow-upstream", "127.0.0.1") as made:
        yield made


@pytest.fixture(scope="session")
def one_cloud(
    new_database: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """A cloud on SQLite alone, for tests of the other side."""
    log = tmp_path_factory.mktemp("cloud") / "log"
    with running.cloud(new_database("sqlite"), log, "--allow-upstream", "127.0.0.1") as made:
        yield made


@pytest.fixture
def new_cloud(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Starts clouds with a database of the caller's."""
    with ExitStack() as stack:

        def start(database: str, *arguments: str, **settings: Any) -> Any:
            log = tmp_path / f"log-{len(list(tmp_path.iterdir()))}"
            opened = running.cloud(database, log, *arguments, settings=settings or None)
            return stack.enter_context(opened)

        yield start


@pytest.fixture
def process() -> Callable[..., Any]:
    """Runs `pml` to its end, in a process of its own."""

    def run(*arguments: str) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "pml.cli.main", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)

    return run
