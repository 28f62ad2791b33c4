"""A workspace with a `.pml.json`, and what loading it gives."""

from pathlib import Path

import pytest

from pml.config import Config, ConfigError, load_config


class Folder:
    """A workspace in an otherwise empty home folder."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.path = self.home / "work"
        self.path.mkdir(parents=True)
        self.file = self.path / ".pml.json"

    def load(self, text: str | bytes | None = None, **environ: str) -> Config:
        if text is not None:
            self.file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_config(self.path, environ, self.home)

    def errors(self, text: str | bytes, **environ: str) -> tuple[ConfigError, ...]:
        with pytest.raises(ConfigError) as caught:
            self.load(text, **environ)
        assert all(error.spot.file == self.file for error in caught.value.errors)
        return caught.value.errors

    def error(self, text: str | bytes, **environ: str) -> ConfigError:
        [error] = self.errors(text, **environ)
        return error


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
