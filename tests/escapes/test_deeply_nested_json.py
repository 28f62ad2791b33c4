"""Attack: JSON nested so deeply that the side which reads it overflows: out of the guest, and into it."""

import pytest

from sandbox_host import SUSPEND, Completed, Failed, InvalidArguments, Limits, Sandbox, Suspended

LIMITS = Limits(cpu_seconds=3, wall_seconds=20)
NAMES = {
    "result_not_json",
    "stack_limit",
    "tool_error",
    "uncaught_error",
    "output_limit",
    "memory_limit",
}
BUILT = "let v = {leaf}; for (let i = 0; i < {depth}; i++) v = {step}; "
# Every depth around Python's own recursion limit: there the parser and the printer disagree.
DEPTHS = [50, 500, *range(920, 1010, 6), 5_000, 50_000]
STEPS = {"arrays": "[v]", "objects": "{ v }"}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("leaf", ["1", r"'\ud800'"], ids=["plain", "surrogate"])
async def test_a_result_of_any_depth_is_a_value_or_a_named_error(leaf, step):
    async with Sandbox(limits=LIMITS) as sandbox:
        for depth in DEPTHS:
            code = BUILT.format(leaf=leaf, depth=depth, step=step)
            outcome = await sandbox.run(code + "return v", host=None)
            assert isinstance(outcome, Completed) or outcome.error.code in NAMES, depth


@pytest.mark.parametrize("leaf", ["1", r"'\ud800'"], ids=["plain", "surrogate"])
@pytest.mark.parametrize("calls", [1, 2])
async def test_arguments_of_any_depth_arrive_or_are_rejected(leaf, calls):
    async def host(call):
        return 1

    async with Sandbox(limits=LIMITS) as sandbox:
        for depth in DEPTHS:
            code = BUILT.format(leaf=leaf, depth=depth, step="[v]")
            made = ", ".join(["mcp.a.b({ v })"] * calls)
            outcome = await sandbox.run(f"{code} return await Promise.all([{made}])", host=host)
            assert isinstance(outcome, Completed) or outcome.error.code in NAMES, depth


@pytest.mark.parametrize("calls", [1, 2])
async def test_a_suspended_call_of_any_depth_is_told_or_was_rejected(calls):
    async def host(call):
        return SUSPEND

    for depth in DEPTHS:
        async with Sandbox(limits=LIMITS) as sandbox:
            code = BUILT.format(leaf="1", depth=depth, step="[v]")
            made = ", ".join(["mcp.a.b({ v })"] * calls)
            outcome = await sandbox.run(f"{code} return await Promise.all([{made}])", host=host)
            if isinstance(outcome, Suspended):
                sandbox.snapshot()
                outcome = await sandbox.resume({call.id: 7 for call in outcome.calls}, host=host)
                assert isinstance(outcome, Completed), outcome
                assert outcome.value == [7] * calls
            else:
                assert isinstance(outcome, Failed)
                assert outcome.error.code in NAMES, depth


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


async def test_a_hosts_answer_of_any_depth_arrives_or_rejects_the_call():
    for depth in DEPTHS:

        async def host(call, depth=depth):
            return nested(depth)

        async with Sandbox(limits=LIMITS) as sandbox:
            outcome = await sandbox.run(
                "try { return (await mcp.a.b()).length } catch (e) { return e.code ?? e.name }",
                host=host,
            )
        assert isinstance(outcome, Completed), outcome
        assert outcome.value in (1, "answer_not_json", "RangeError", "SyntaxError"), depth


async def test_arguments_of_the_embedder_that_are_too_deep_are_refused():
    async with Sandbox() as sandbox:
        for depth in DEPTHS:
            try:
                outcome = await sandbox.run(
                    "return Array.isArray(args)", host=None, args=nested(depth)
                )
            except InvalidArguments:
                continue
            assert isinstance(outcome, Completed), outcome


async def test_a_host_answer_that_refers_to_itself_rejects_the_call(value):
    async def host(call):
        answer = {}
        answer["self"] = answer
        return answer

    got = await value("try { await mcp.a.b() } catch (e) { return e.code }", host=host)
    assert got == "answer_not_json"


async def test_text_of_json_too_deep_to_parse_is_the_programs_own_error(fails):
    for text in ("'['.repeat(1e6)", "'[{\"a\":'.repeat(1e5)"):
        error = await fails(f"JSON.parse({text})", limits=LIMITS)
        assert error.code in {"uncaught_error", "stack_limit"}
