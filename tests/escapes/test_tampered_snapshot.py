"""Attack: a snapshot that was damaged, exchanged or made by hand, to be restored into a host that trusts it."""

import json
import random
import struct
import zlib

import blake3
import pytest

from sandbox_host import (
    SUSPEND,
    Failed,
    Limits,
    Mount,
    Sandbox,
    SandboxError,
    SnapshotForeign,
    SnapshotInvalid,
)

MAGIC_BYTES, HASH_BYTES, PAGE = 8, 32, 4096
LIMITS = Limits(memory_bytes=32 << 20, cpu_seconds=0.1, wall_seconds=1)


async def host(call):
    return SUSPEND


@pytest.fixture
async def snapshot():
    async with Sandbox(limits=LIMITS) as sandbox:
        await sandbox.run(
            "const kept = [1, 2, 3]; const got = await mcp.a.b({ k: 1 }); return [kept, got]",
            host=host,
        )
        return sandbox.snapshot()


def opened(data):
    body = zlib.decompress(data[MAGIC_BYTES + HASH_BYTES :])
    (length,) = struct.unpack_from("<I", body)
    return json.loads(body[4 : 4 + length]), body[4 + length :]


def sealed(head, pages, magic=b"PMLSNAP2"):
    """A snapshot whose checksum is right: whoever makes one by hand can count."""
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    packed = zlib.compress(struct.pack("<I", len(text)) + text + pages, 1)
    return magic + blake3.blake3(packed).digest() + packed


async def restored(data, **options):
    async with Sandbox.restore(data, limits=LIMITS, **options) as sandbox:
        return await sandbox.resume({1: "answer"}, host=host)


async def test_an_untouched_one_goes_on(snapshot):
    assert (await restored(snapshot)).value == [[1, 2, 3], "answer"]


async def test_any_flipped_bit_is_found(snapshot):
    source = random.Random(1)  # noqa: S311
    places = {
        0,
        7,
        8,
        39,
        40,
        len(snapshot) - 1,
        *(source.randrange(len(snapshot)) for _ in range(25)),
    }
    for place in places:
        damaged = bytearray(snapshot)
        damaged[place] ^= 1 << source.randrange(8)
        with pytest.raises(SnapshotInvalid):
            await restored(bytes(damaged))


async def test_any_cut_is_found(snapshot):
    for length in (0, 1, 7, 8, 39, 40, 41, len(snapshot) // 2, len(snapshot) - 1):
        with pytest.raises(SnapshotInvalid):
            await restored(snapshot[:length])


@pytest.mark.parametrize(
    "data", [b"", b"PMLSNAP2", b"\0" * 100, b"PMLSNAP2" + b"\0" * 100, b"PMLSNAP9" + b"x" * 64]
)
async def test_what_is_no_snapshot_is_refused(data):
    with pytest.raises(SnapshotInvalid):
        await restored(data)


async def test_one_of_another_guest_build_is_refused(snapshot):
    head, pages = opened(snapshot)
    for guest in ("0" * 64, "", head["guest"].upper(), head["guest"][:-1]):
        with pytest.raises(SnapshotForeign):
            await restored(sealed({**head, "guest": guest}, pages))


async def test_one_with_other_mounts_is_refused(snapshot, world):
    with pytest.raises(SnapshotForeign):
        await restored(snapshot, mounts=[world.readable()])
    async with Sandbox(mounts=[world.readable()]) as sandbox:
        await sandbox.run("await mcp.a.b()", host=host)
        data = sandbox.snapshot()
    for mounts in (
        [],
        [world.writable()],
        [Mount(world.mount, guest_path="/else")],
    ):
        with pytest.raises(SnapshotForeign):
            await restored(data, mounts=mounts)


async def test_a_snapshot_grants_no_mount_of_its_own(snapshot, world):
    head, pages = opened(snapshot)
    with pytest.raises(SandboxError):
        await restored(sealed({**head, "mounts": [["/mount", True]]}, pages))


PLACES = {
    "outside the memory": (64 << 20, PAGE), "at the last address": (0xFFFFF000, PAGE), "unaligned": (100, PAGE), "cut off": (0, 100),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
async def test_a_page_in_the_wrong_place_is_refused(snapshot, place):
    at, size = PLACES[place]
    head, _ = opened(snapshot)
    with pytest.raises(SnapshotInvalid):
        await restored(sealed(head, struct.pack("<I", at) + bytes(size)))


@pytest.mark.parametrize("memory_bytes", [1 << 32, 1 << 40, 1 << 62, 64 << 20])
async def test_memory_larger_than_the_limit_is_refused(snapshot, memory_bytes):
    head, pages = opened(snapshot)
    with pytest.raises(SandboxError) as caught:
        await restored(sealed({**head, "memory_bytes": memory_bytes}, pages))
    assert caught.value.code in {"memory_limit", "snapshot_invalid"}


HEADS = {
    "no JSON": b"{", "not an object": b"[]", "no text": b"\xff", "null": b"null", "deep": b"[" * 100_000, "empty": b"",
}  # fmt: skip


@pytest.mark.parametrize("what", HEADS)
async def test_a_head_that_is_none_is_refused(snapshot, what):
    _, pages = opened(snapshot)
    with pytest.raises(SnapshotInvalid):
        await restored(sealed(HEADS[what], pages))


async def test_a_head_longer_than_the_snapshot_is_refused():
    packed = zlib.compress(struct.pack("<I", 0xFFFFFFFF) + b"{}", 1)
    with pytest.raises(SnapshotInvalid):
        await restored(b"PMLSNAP2" + blake3.blake3(packed).digest() + packed)


WRONG = [
    {"memory_bytes": None}, {"memory_bytes": "x"}, {"memory_bytes": -1}, {"memory_bytes": float("inf")}, {"memory_bytes": float("nan")},
    {"memory_bytes": 0}, {"memory_bytes": 5}, {"progress": None}, {"progress": []}, {"progress": {}}, {"mounts": 1}, {"mounts": [1]}, {"guest": None},

]  # fmt: skip
WRONG_PROGRESS = [
    {"clock_ms": "x"}, {"clock_ms": float("nan")}, {"clock_ms": float("inf")}, {"clock_ms": -1e300}, {"clock_ms": 1e300}, {"cpu_seconds": -1e9},
    {"cpu_seconds": float("nan")}, {"cpu_seconds": float("-inf")}, {"log_bytes": -(10**9)}, {"calls_made": -(10**9)}, {"calls_made": float("inf")},
    {"logs": [["log"]]}, {"logs": [["log", "x", "y"]]}, {"logs": [["nonsense", 5]]}, {"logs": 5}, {"logs": [[{}, {}]]}, {"records": [[1]]},
    {"records": [["x", 5, "nonsense", "y", "z", "w"]]}, {"waiting": []}, {"waiting": [[1]]}, {"waiting": [[1, "no tool", "{}", 0, 0]]},
    {"waiting": [[1, "a:b\nallow", "{}", 0, 0]]}, {"waiting": [[1, "a:b", "nonsense", 0, 0]]}, {"waiting": [[1, "a:b", "[]", 0, 0]]},
    {"waiting": [[1, "a:b", "\ud800", 0, 0]]}, {"waiting": [[float("inf"), "a:b", "{}", 0, 0]]}, {"waiting": [[-1, "a:b", "{}", 0, 0]]},
    {"waiting": [[2**40, "a:b", "{}", 0, 0]]}, {"waiting": [[1, "a:b", "{}", -1, 2**70]]}, {"value": "nonsense"}, {"value": 5},
    {"value": "\ud800"}, {"waiting": None},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
async def test_a_head_with_a_wrong_field_is_refused(snapshot, wrong):
    head, pages = opened(snapshot)
    try:
        outcome = await restored(sealed({**head, **wrong}, pages))
    except SandboxError as error:
        assert error.code in {"snapshot_invalid", "snapshot_foreign", "memory_limit"}  # noqa: PT017
    else:
        assert isinstance(outcome, Failed) or wrong == {"memory_bytes": 0}, outcome


@pytest.mark.parametrize(
    "source", [None, 5, "\ud800", "x" * (2 << 20)], ids=["none", "number", "surrogate", "large"]
)
async def test_a_source_of_another_kind_is_refused_or_harmless(snapshot, source):
    """It only serves to show where errors stand: the program is in the memory."""
    head, pages = opened(snapshot)
    try:
        outcome = await restored(sealed({**head, "source": source}, pages))
    except SandboxError as error:
        assert error.code in {"snapshot_invalid", "syntax_error", "code_limit"}  # noqa: PT017
    else:
        assert isinstance(outcome, Failed) or outcome.value == [[1, 2, 3], "answer"]


@pytest.mark.parametrize("wrong", WRONG_PROGRESS, ids=str)
async def test_progress_with_a_wrong_field_is_refused_or_harmless(snapshot, wrong):
    """Whatever it says, `restore` and `resume` raise nothing but their own errors."""
    head, pages = opened(snapshot)
    head["progress"] = {**head["progress"], **wrong}
    try:
        async with Sandbox.restore(sealed(head, pages), limits=LIMITS) as sandbox:
            outcome = await sandbox.resume({1: "answer"}, host=host)
            assert not isinstance(outcome, Failed) or outcome.error.code
    except SandboxError as error:
        assert error.code in {"snapshot_invalid", "answers_mismatch", "not_suspended"}  # noqa: PT017


@pytest.mark.parametrize("spent", [-1e9, float("-inf"), float("nan")])
async def test_a_snapshot_cannot_give_itself_more_time(spent):
    """Limits are given anew by whoever restores: a head must not widen them."""
    async with Sandbox(limits=LIMITS) as sandbox:
        await sandbox.run("await mcp.a.b(); for (;;);", host=host)
        head, pages = opened(sandbox.snapshot())
    head["progress"]["cpu_seconds"] = spent
    try:
        outcome = await restored(sealed(head, pages))
    except SnapshotInvalid:
        return
    assert outcome.error.code == "cpu_limit"


async def test_a_small_file_does_not_become_gigabytes(in_child):
    """A deflated body of zeros is a thousand times its size: what memory cannot hold must not be inflated first."""
    done = in_child(
        """
import anyio, resource, struct, zlib, blake3
from sandbox_host import Sandbox, SandboxError, Limits
deflate = zlib.compressobj(1)
packed = b"".join([deflate.compress(struct.pack("<I", 2)), deflate.compress(b"{}")] + [deflate.compress(bytes(1 << 20)) for _ in range(200)] + [deflate.flush()])
data = b"PMLSNAP2" + blake3.blake3(packed).digest() + packed
async def main():
    async with Sandbox(): pass
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        async with Sandbox.restore(data, limits=Limits(memory_bytes=16 << 20)):
            print("restored")
    except SandboxError as error:
        print(error.code, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
anyio.run(main)
"""
    )
    assert done.returncode == 0, done.stderr[-500:]
    code, grown_megabytes = done.stdout.split()
    assert code in {"snapshot_invalid", "memory_limit"}
    assert int(grown_megabytes) < 100


async def test_random_memory_ends_in_a_named_error(snapshot):
    """Pages of noise with a right checksum: the guest is anybody's now, and still only a guest."""
    head, pages = opened(snapshot)
    source = random.Random(3)  # noqa: S311
    step = 4 + PAGE
    count = len(pages) // step
    for _ in range(8):
        damaged = bytearray(pages)
        for _ in range(source.choice([1, 5, count])):
            number = source.randrange(count)
            start = number * step + 4 + source.randrange(PAGE - 64)
            damaged[start : start + 64] = source.randbytes(64)
        try:
            outcome = await restored(sealed(head, bytes(damaged)))
        except SandboxError as error:
            assert error.code  # noqa: PT017
            continue
        if isinstance(outcome, Failed):
            assert outcome.error.code in {"guest_crashed", "guest_protocol", "cpu_limit", "memory_limit", "deadlock", "uncaught_error", "stack_limit",
                                          "result_not_json", "tool_error", "wall_limit", "log_limit", "call_limit", "output_limit"}  # fmt: skip
