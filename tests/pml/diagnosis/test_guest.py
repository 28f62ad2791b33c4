"""The attack on the guest: that it holds, and that the attack would tell if it did not."""

import wasmtime

from pml.diagnosis import guest
from pml.diagnosis.bait import laid_out

TEXT = """(module
  (import "wasi_snapshot_preview1" "path_symlink" (func (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_create_directory" (func (param i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "../secretplantedmade")
  (func (export "run")
    (drop (call 0 (i32.const 0) (i32.const 9) (i32.const 3) (i32.const 9) (i32.const 7)))
    (drop (call 1 (i32.const 3) (i32.const 16) (i32.const 4)))))"""


async def test_the_guest_computes_and_every_way_out_is_refused() -> None:
    works, holds = await guest.attack()
    assert (works.level, holds.level) == ("ok", "ok")
    assert works.fact.startswith("1 + 1 is 2")
    for words in ("reading", "writing", "connecting", "planting a link"):
        assert words in holds.fact


def test_the_module_is_what_its_text_says() -> None:
    assert bytes(wasmtime.wat2wasm(TEXT)) == guest.MODULE


async def test_a_guest_that_reaches_the_bait_is_an_error_for_each_way() -> None:
    async with laid_out() as bait:  # the mount is the very folder that must not be reached
        found = await guest.escapes(bait, bait.folder)
    assert [one.level for one in found] == ["error", "error"]
    assert [one.fact for one in found] == [
        "not refused: reading a file outside",
        "not refused: writing a file outside",
    ]
    assert all("report" in str(one.fix) for one in found)


async def test_a_guest_in_which_nothing_works_proves_nothing() -> None:
    async with laid_out() as bait:
        folder = bait.folder / "mount"
        (folder / "made").mkdir(parents=True)
        (folder / "made").rmdir()
        (folder / "made").write_text("in the way of what is granted")
        [found] = await guest.escapes(bait, folder)
    assert (found.level, "nothing is proved" in found.fact) == ("error", True)


async def test_nothing_of_the_bait_is_left() -> None:
    async with laid_out() as bait:
        assert bait.secret.exists()
    assert not bait.folder.exists()
