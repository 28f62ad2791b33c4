"""A PostgreSQL server of our own, in a temporary folder, as a user that is not root."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/local/pgsql/bin", "/opt/homebrew/bin")


def binaries() -> Path | None:
    """Where `initdb` and `postgres` are."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    found = [
        folder
        for pattern in _FOLDERS
        for folder in sorted(Path("/").glob(pattern.lstrip("/")), reverse=True)
        if (folder / "initdb").exists()
    ]
    return found[0] if found else None


def server_user() -> str | None:
    """Who may run it: root may not."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Run a server; give the URL of its first database."""
    user = server_user()
    with tempfile.TemporaryDirectory(prefix="pml-pg-") as made:
        home = Path(made)
        if user is not None:
            shutil.chown(home, user)
        data = home / "data"
        subprocess.run(
            [folder / "initdb", "-D", data, "-U", "pml", "-A", "trust", "-E", "UTF8", "-N"],
            check=True,
            capture_output=True,
            user=user,
            cwd="/",
        )
        server = subprocess.Popen(
            [folder / "postgres", "-D", data, "-k", home, "-h", "", "-F", "-N", "60"],
            stderr=subprocess.DEVNULL,
            user=user,
            cwd="/",
        )
        try:
            url = f"postgresql://pml@/postgres?host={home}"
            _wait(url, server)
            yield url
        finally:
            server.terminate()
            server.wait(30)


def _wait(url: str, server: "subprocess.Popen[bytes]") -> None:
    import psycopg  # noqa: PLC0415 - an extra

    while server.poll() is None:
        with contextlib.suppress(psycopg.OperationalError):
            psycopg.connect(url).close()
            return
    raise AssertionError(server.returncode)
