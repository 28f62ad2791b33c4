import io
from pathlib import Path

import pytest

from pml.cli import source
from pml.cli.source import read_source
from pml.errors import (
    ProgramUnclearError,
    SourceNotTextError,
    SourceTooLargeError,
    SourceUnreadableError,
)


def test_code_from_the_command_line_is_taken_as_it_is() -> None:
    assert read_source(None, "#! 1", io.BytesIO()).program == "#! 1"


def test_a_shebang_becomes_a_comment_and_no_position_moves() -> None:
    read = read_source("-", None, io.BytesIO(b"#!/usr/bin/env pml\n1"))
    assert read.program == "///usr/bin/env pml\n1"


def test_bytes_that_begin_as_wasm_are_a_module_whatever_the_name() -> None:
    assert read_source("-", None, io.BytesIO(b"\0asm rest")).program == b"\0asm rest"


def test_none_or_two_programs_are_unclear() -> None:
    for file, code in ((None, None), ("a.ts", "1")):
        with pytest.raises(ProgramUnclearError):
            read_source(file, code, io.BytesIO())


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadableError, match="No such file"):
        read_source(str(tmp_path / "none.ts"), None, io.BytesIO())
    with pytest.raises(SourceUnreadableError):
        read_source("nul\0byte.ts", None, io.BytesIO())
    with pytest.raises(SourceNotTextError, match="position 1 "):
        read_source("-", None, io.BytesIO(b"a\xff"))


def test_an_endless_file_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MOST_BYTES", 1 << 20)
    with pytest.raises(SourceTooLargeError, match="larger than 1 MiB"):
        read_source("/dev/zero", None, io.BytesIO())
