"""Attack: the guest itself was taken over (a bug in its engine, a tampered memory) and writes whatever it likes for the host to read."""

import json
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_host import Completed, Failed, GuestProtocolError, Limits, abi

CALL, LOG, DONE, FAIL = abi.FRAME_CALL, abi.FRAME_LOG, abi.FRAME_DONE, abi.FRAME_FAIL


def frame(kind, number=0, a=b"", b=b"", line=0, column=0, *, a_bytes=None, b_bytes=None):
    """A frame of the guest; the lengths may lie."""
    lengths = len(a) if a_bytes is None else a_bytes, len(b) if b_bytes is None else b_bytes
    return struct.pack("<6I", kind, number, *lengths, line, column) + a + b


# --- the reader alone ------------------------------------------------------------------------------


@given(st.binary(max_size=400))
@settings(deadline=None)
def read_anything(outbox):
    try:
        for found in abi.frames(outbox):
            assert isinstance(found.a, bytes)
    except GuestProtocolError:
        pass


words = st.one_of(
    st.integers(0, 64), st.sampled_from([0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 24, 25])
)


@given(
    st.lists(
        st.tuples(words, words, words, words, words, words, st.binary(max_size=64)), max_size=6
    )
)
@settings(deadline=None)
def read_lying_headers(parts):
    outbox = b"".join(struct.pack("<6I", *numbers) + tail for *numbers, tail in parts)
    total = 0
    try:
        for found in abi.frames(outbox):
            total += abi.FRAME_HEADER_BYTES + len(found.a) + len(found.b)
    except GuestProtocolError:
        pass
    assert total <= len(outbox)


@given(
    st.lists(
        st.tuples(words, words, st.binary(max_size=50), st.binary(max_size=50), words, words),
        max_size=6,
    )
)
@settings(deadline=None)
def read_what_was_written(parts):
    outbox = b"".join(frame(k, n, a, b, line, column) for k, n, a, b, line, column in parts)
    assert [tuple(found) for found in abi.frames(outbox)] == parts


async def test_the_reader_of_frames_raises_nothing_but_its_own_error():
    read_anything()
    read_lying_headers()


async def test_frames_that_were_written_are_read_back():
    read_what_was_written()


# --- a whole guest that lies -----------------------------------------------------------------------

BROKEN = {
    "a frame of no kind": frame(99),
    "a frame of the host": frame(abi.FRAME_RESOLVE, 1, b"1"),
    "a header cut off": frame(DONE, 0, b"1")[:-2] + b"\0" * 3,
    "half a header": b"\x12\0\0",
    "a length past the outbox": frame(DONE, 0, b"1", a_bytes=1000),
    "a length that wraps": frame(DONE, 0, b"1", a_bytes=0xFFFFFFFF, b_bytes=0xFFFFFFFF),
    "a tool that is no text": frame(CALL, 1, b"\xff\xfe:x", b"{}"),
    "a tool without a server": frame(CALL, 1, b"tool", b"{}"),
    "a tool without a name": frame(CALL, 1, b":", b"{}"),
    "a tool with a line break": frame(CALL, 1, b"a:b\nallowed: yes", b"{}"),
    "a tool with an escape": frame(CALL, 1, b"a:\x1b[2Kb", b"{}"),
    "a tool too long": frame(CALL, 1, b"a:" + b"b" * 10_000, b"{}"),
    "an error that is no JSON": frame(FAIL, 0, b"{"),
    "an error that is no object": frame(FAIL, 0, b"[]"),
    "an error nested too deeply": frame(FAIL, 0, b"[" * 100_000),
    "an error that is no text": frame(FAIL, 0, b'"\xff"'),
    "a rejection that is no JSON": frame(LOG, abi.LEVEL_REJECTION, b"nonsense"),
}


@pytest.mark.parametrize("what", BROKEN)
async def test_a_broken_frame_ends_the_run(forge, lie, what):
    outcome = await forge(lie(BROKEN[what], state=1))
    assert isinstance(outcome, Failed), outcome
    assert outcome.error.code == "guest_protocol", outcome.error


@pytest.mark.parametrize(
    "block",
    [
        {"outbox_at": 0xFFFFFFF0, "outbox_bytes": 64}, {"outbox_at": 0, "outbox_bytes": 0xFFFFFFFF},
        {"outbox_at": 0x7FFFFFFF, "outbox_bytes": 0x7FFFFFFF}, {"outbox_at": 0xFFFFFFFF, "outbox_bytes": 1},
        {"body": "unreachable"}, {"body": "(drop (i32.load (i32.const -4)))"}, {"body": "(drop (i32.div_u (i32.const 1) (i32.const 0)))"},
    ],
)  # fmt: skip
async def test_a_pointer_outside_the_memory_ends_the_run(forge, lie, block):
    outcome = await forge(lie(**block))
    assert isinstance(outcome, Failed)
    assert outcome.error.code in {"guest_crashed", "guest_protocol"}


@pytest.mark.parametrize(
    "body", ["(loop $l (br $l))", "(loop $l (drop (memory.grow (i32.const 1))) (br $l))"]
)
async def test_a_taken_over_guest_meets_the_same_limits(forge, lie, body):
    outcome = await forge(lie(body=body), limits=Limits(cpu_seconds=0.1, wall_seconds=10))
    assert outcome.error.code == "cpu_limit"


async def test_an_inbox_outside_the_memory_ends_the_run(forge, lie):
    for inbox_at, inbox_bytes in ((0xFFFFFFF0, 0xFFFFFFFF), (1 << 31, 1 << 20), (0, 1 << 30)):
        outcome = await forge(
            lie(frame(CALL, 1, b"a:b", b"{}"), inbox_at=inbox_at, inbox_bytes=inbox_bytes),
            lie(frame(DONE, 0, b"1"), state=1),
        )
        assert isinstance(outcome, Failed) or inbox_at == 0
        if isinstance(outcome, Failed):
            assert outcome.error.code in {"guest_crashed", "guest_protocol", "memory_limit"}


async def test_room_that_was_never_reserved_ends_the_run(forge, lie):
    async def host(call):
        return "x" * 100_000

    for reserve in ("(i32.const -16)", "(i32.const 0)", "unreachable", "(i32.const 2147483647)"):
        outcome = await forge(
            lie(frame(CALL, 1, b"a:b", b"{}")),
            lie(frame(DONE, 0, b"1"), state=1),
            host=host,
            reserve=reserve,
        )
        assert outcome.error.code in {"guest_crashed", "guest_protocol", "memory_limit"}, reserve


async def test_a_guest_that_never_comes_back_from_reserving_does_not_stop_the_host(in_child):
    """In a process of its own: the loop itself would hang."""
    done = in_child(
        """
import anyio, importlib.util, sys
spec = importlib.util.spec_from_file_location("escapes", "tests/escapes/conftest.py")
escapes = importlib.util.module_from_spec(spec); sys.modules["escapes"] = escapes; spec.loader.exec_module(escapes)
import struct
call = struct.pack("<6I", 16, 1, 3, 2, 0, 0) + b"a:b{}"
async def host(call): return "x" * 100_000
async def main():
    lies = [escapes.Lie(call), escapes.Lie()]
    module = escapes._reactor(lies, "(loop $l (br $l)) (i32.const 0)")
    async with escapes.ForgedSandbox(module, limits=escapes.Limits(cpu_seconds=0.2, wall_seconds=1)) as sandbox:
        outcome = await sandbox.run("1", host=host)
        print(outcome.error.code)
anyio.run(main)
""",
        timeout_seconds=3,
    )
    assert done.stdout.strip() == "guest_crashed", done.stderr[-500:]


@pytest.mark.parametrize("number", [0, 1, 0xFFFFFFFF])
async def test_two_calls_of_one_number_end_the_run(forge, lie, number):
    twins = frame(CALL, number, b"a:b", b"{}") + frame(CALL, number, b"a:c", b"{}")
    outcome = await forge(
        lie(twins), lie(frame(DONE, 0, b"1"), state=1), lie(frame(DONE, 0, b"1"), state=1)
    )
    assert isinstance(outcome, Failed), outcome
    assert outcome.error.code == "guest_protocol"


@pytest.mark.parametrize(
    "value", [b"{", b"nonsense", b"\xff", b"[" * 100_000, b"1 2", b'"\\ud800"', b"NaN", b"Infinity", b"-Infinity", b"1e999",
              b"9" * 5000, b"\0", b'{"a":1}\0'],
)  # fmt: skip
async def test_a_value_that_is_no_json_is_refused(forge, lie, value):
    outcome = await forge(lie(frame(DONE, 0, value), state=1))
    assert isinstance(outcome, Failed), outcome
    assert outcome.error.code in {"result_not_json", "guest_protocol"}, outcome.error


@pytest.mark.parametrize(
    "args", [b"", b"{", b"[]", b"1", b"null", b"\xff", b'{"a":NaN}', b'{"a":1e999}', b'{"a":' * 100_000, b'{"a":"\\ud800"}'],
)  # fmt: skip
async def test_arguments_that_are_no_json_object_never_reach_the_host(forge, lie, args):
    seen = []

    async def host(call):
        seen.append(call.args)

    outcome = await forge(
        lie(frame(CALL, 1, b"a:b", args)), lie(frame(DONE, 0, b"1"), state=1), host=host
    )
    assert seen == []
    assert isinstance(outcome, Completed) or outcome.error.code == "guest_protocol"


async def test_a_value_larger_than_the_limit_is_refused_by_the_host_itself(forge, lie):
    big = b'"' + b"x" * 5000 + b'"'
    outcome = await forge(lie(frame(DONE, 0, big), state=1), limits=Limits(output_bytes=1024))
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "output_limit"


async def test_arguments_larger_than_the_limit_are_refused_by_the_host_itself(forge, lie):
    seen = []

    async def host(call):
        seen.append(call)

    big = b'{"x":"' + b"x" * 5000 + b'"}'
    outcome = await forge(
        lie(frame(CALL, 1, b"a:b", big)),
        lie(frame(DONE, 0, b"1"), state=1),
        limits=Limits(output_bytes=1024),
        host=host,
    )
    assert seen == []
    assert not isinstance(outcome, Completed) or outcome.calls[0].outcome == "error"


async def test_more_calls_and_logs_than_allowed_are_refused_by_the_host_itself(forge, lie):
    calls = b"".join(frame(CALL, n, b"a:b", b"{}") for n in range(1, 102))
    outcome = await forge(lie(calls), limits=Limits(calls=100))
    assert outcome.error.code == "call_limit"
    logs = b"".join(frame(LOG, 1, b"x" * 1000) for _ in range(100))
    outcome = await forge(lie(logs), limits=Limits(log_bytes=1024))
    assert outcome.error.code == "log_limit"


async def test_log_lines_of_nothing_are_counted_by_the_host_itself(forge, lie):
    outcome = await forge(lie(frame(LOG, 1) * 20_000), limits=Limits(log_bytes=1024))
    assert isinstance(outcome, Failed)
    assert outcome.error.code == "log_limit"


async def test_a_guest_that_wants_timers_or_files_for_ever_ends_at_a_limit(forge, lie):
    again = [lie(timer_ms=0) for _ in range(2)]
    outcome = await forge(*again, limits=Limits(wall_seconds=0.3, cpu_seconds=0.2))
    assert outcome.error.code in {"wall_limit", "cpu_limit"}
    outcome = await forge(
        lie(files=1), lie(files=1), limits=Limits(wall_seconds=0.3, cpu_seconds=0.2)
    )
    assert outcome.error.code in {"wall_limit", "cpu_limit"}


@pytest.mark.parametrize(
    "said",
    [
        {"code": "cpu_limit", "message": "x"}, {"code": 1, "message": [], "name": {}}, {"name": "x" * 10**5, "message": "y" * 10**6},
        {"message": "\x1b[2J\u202e\u0000\ud800"}, {"stack": "program:1:1" * 1000}, {"toolCode": {}, "tool": 1}, {},
        {"stack": "program:999999999999:999999999999", "message": "x"}, {"name": "InternalError", "message": "out of memory"},
    ],
)  # fmt: skip
async def test_a_forged_error_is_shown_safely(forge, lie, said):
    outcome = await forge(lie(frame(FAIL, 0, json.dumps(said).encode()), state=1))
    assert isinstance(outcome, Failed)
    text = outcome.error.message + str(getattr(outcome.error, "stack", ""))
    assert len(text) < 10_000
    assert not set(text) & set("\x1b\u202e\0\ud800")


async def test_a_place_far_outside_the_source_does_no_harm(forge, lie):
    far = frame(CALL, 1, b"a:b", b"{}", 0xFFFFFFFF, 0xFFFFFFFF)
    outcome = await forge(lie(far), lie(frame(DONE, 0, b"1"), state=1))
    assert isinstance(outcome, Completed)


async def test_random_outboxes_end_in_an_outcome(forge, lie):
    source = random.Random(7)  # noqa: S311
    for _ in range(60):
        kinds = [
            source.choice([CALL, LOG, DONE, FAIL, 0, 200]) for _ in range(source.randrange(1, 5))
        ]
        parts = [frame(kind, source.choice([0, 1, 2, 2**32 - 1]), source.choice([b"a:b", b"1", b"{}", source.randbytes(9)]),
                       source.choice([b"", b"{}", source.randbytes(9)])) for kind in kinds]  # fmt: skip
        outcome = await forge(
            lie(b"".join(parts)), lie(frame(DONE, 0, b"1"), state=1), limits=Limits(wall_seconds=2)
        )
        if isinstance(outcome, Failed):
            assert outcome.error.code in {
                "guest_protocol",
                "result_not_json",
                "uncaught_error",
                "tool_error",
                "deadlock",
                "syntax_error",
            }, parts
