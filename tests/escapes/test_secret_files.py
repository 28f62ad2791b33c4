"""Files that look secret stay unread in a mounted folder.

Attack: a program that may read a workspace reads its `.env`, a private key, a link to one, or moves
it to a harmless name first.
"""

from pathlib import Path
from typing import Any

import pytest

from pml.secret_files import is_secret_path
from sandbox_host import Call, Completed, Mount, Sandbox


async def _no_tools(call: Call) -> Any:
    raise AssertionError(call)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "keys").mkdir()
    for name in (".env", "keys/server.pem", "plain.txt"):
        (tmp_path / name).write_text(f"content of {name}")
    (tmp_path / "harmless").symlink_to(".env")
    return tmp_path


async def _read(folder: Path, code: str) -> tuple[Any, tuple[str, ...]]:
    mounts = [Mount(folder, writable=True, guest_path="/work", conceals=is_secret_path)]
    async with Sandbox(mounts=mounts) as sandbox:
        outcome = await sandbox.run(code, host=_no_tools)
        assert isinstance(outcome, Completed), outcome
        return outcome.value, sandbox.refused_files


@pytest.mark.parametrize("path", [".env", "./.env", "keys/server.pem", "harmless", "keys/../.env"])
async def test_it_is_not_read(path: str, folder: Path) -> None:
    code = (
        f"try {{ return await Deno.readTextFile('{path}') }} catch (error) {{ return error.name }}"
    )
    value, refused = await _read(folder, code)
    assert value == "PermissionDenied"
    assert len(refused) == 1
    async with Sandbox(mounts=[Mount(folder, guest_path="/work")]) as open_sandbox:
        outcome = await open_sandbox.run(code, host=_no_tools)
        assert isinstance(outcome, Completed)
        assert outcome.value.startswith("content of")  # so that the test can fail


async def test_it_is_not_moved_to_a_name_that_looks_harmless(folder: Path) -> None:
    code = """try { await Deno.rename('.env', 'copy.txt') } catch (error) { return error.name }
        return await Deno.readTextFile('copy.txt')"""
    value, _ = await _read(folder, code)
    assert value == "PermissionDenied"
    assert (folder / ".env").exists()


async def test_other_files_are_read(folder: Path) -> None:
    value, refused = await _read(folder, "return await Deno.readTextFile('plain.txt')")
    assert (value, refused) == ("content of plain.txt", ())
