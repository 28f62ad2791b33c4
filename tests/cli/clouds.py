"""A real `pml cloud` on loopback, for commands that speak to one."""

import dataclasses
import datetime
import re
import subprocess
import sys
from pathlib import Path

from pml.cloud.store import opened_store


@dataclasses.dataclass(frozen=True)
class Cloud:
    folder: Path
    url: str
    process: "subprocess.Popen[str]"

    def publish(self, code: str) -> str:
        file = self.folder / "code.ts"
        file.write_text(code)
        command = [sys.executable, "-m", "pml", "cloud", "publish", file]
        done = subprocess.run(
            [*command, "--database", self.folder / "cloud.db"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    def key(self, *scopes: str) -> str:
        """Make a key with these rights."""
        with opened_store(str(self.folder / "cloud.db")) as store:
            return store.keys.create("test", scopes, now=datetime.datetime.now(datetime.UTC))[1]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


class started:  # noqa: N801 - reads as a function
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Cloud:
        command = [sys.executable, "-m", "pml", "cloud", "serve", "--port", "0"]
        self._process = subprocess.Popen(
            [*command, "--database", self._folder / "cloud.db"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", self._process.stdout.readline())
        assert found is not None
        return Cloud(self._folder, found[0], self._process)

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
