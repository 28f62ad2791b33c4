"""Attack: half of a surrogate pair, which JavaScript allows in strings and no UTF-8 can carry."""

import pytest

from sandbox_host import SUSPEND, Completed, Failed, InvalidArguments, Sandbox, ToolError

LONE = "\ud800"


@pytest.mark.parametrize(
    "code",
    [
        f"return '{LONE}'",
        f"// {LONE}\nreturn 1",
        f"const {LONE}x = 1",
        f"const x: string = '{LONE}'; return x",
    ],
)
async def test_source_with_one_is_a_syntax_error_that_names_the_place(fails, code):
    error = await fails(code)
    assert error.code == "syntax_error"
    assert error.line is not None


@pytest.mark.parametrize(
    "value",
    [
        r"'\ud800'",
        r"'\udfff'",
        r"'a\ud800b'",
        r"['\ud800']",
        r"({ k: '\ud800' })",
        r"({ '\ud800': 1 })",
        r"'\udc00\ud800'",
    ],
)
async def test_a_result_with_one_is_not_json(fails, value):
    assert (await fails(f"return {value}")).code == "result_not_json"


@pytest.mark.parametrize(
    "args", [r"{ k: '\ud800' }", r"{ '\udc00': 1 }", r"{ a: [{ b: '\ud83d' }] }"]
)
async def test_arguments_with_one_reject_the_call(run, args):
    async def host(call):
        raise AssertionError(call)

    outcome = await run(
        f"try {{ await mcp.a.b({args}) }} catch (e) {{ return e.code }}", host=host
    )
    assert isinstance(outcome, Completed)
    assert outcome.value == "invalid_arguments"


async def test_a_pair_is_text(value):
    assert await value(r"return [(await mcp.a.b({ k: '\ud83d\ude00' })).args.k, '\\ud800']") == [
        "😀",
        "\\ud800",
    ]


@pytest.mark.parametrize("name", [r"mcp.a['\ud800']", r"mcp['\ud800'].b", r"mcp.a['x\udfff']"])
async def test_a_tool_name_with_one_throws_in_the_guest(value, name):
    assert (
        await value(f"try {{ await {name}({{}}) }} catch (e) {{ return e.name }}") == "TypeError"
    )


async def test_console_output_with_one_is_shown(run):
    outcome = await run(
        r"console.log('\ud800'); console.log({ a: '\ud800', '\udfff': 1 }); console.error(['\udc00']); return 1"
    )
    assert isinstance(outcome, Completed)
    for log in outcome.logs:
        log.text.encode()


@pytest.mark.parametrize(
    "thrown",
    [
        r"'\ud800'",
        r"new Error('\ud800')",
        r"Object.assign(new Error('x'), { name: '\ud800', stack: '\udfff' })",
    ],
)
async def test_an_error_with_one_is_shown(fails, thrown):
    error = await fails(f"throw {thrown}")
    assert error.code == "uncaught_error"
    (error.message + getattr(error, "stack", "")).encode()


@pytest.mark.parametrize("answer", [LONE, {"k": LONE}, {LONE: 1}])
async def test_an_answer_with_one_arrives_or_rejects(value, answer):
    async def host(call):
        return answer

    told = await value(
        "try { return JSON.stringify(await mcp.a.b()) } catch (e) { return e.code }", host=host
    )
    assert r"\ud800" in told or told == "answer_not_json"


async def test_a_hosts_error_with_one_rejects_the_call(value):
    async def host(call):
        raise ToolError(LONE, code=LONE, data={"x": LONE})

    assert (
        await value("try { await mcp.a.b() } catch (e) { return e.name }", host=host) == "McpError"
    )


async def test_args_of_the_embedder_with_one_arrive(value):
    assert await value(r"return args.k === '\ud800'", args={"k": LONE}) is True


@pytest.mark.parametrize("entry", [LONE, "f" + LONE])
async def test_an_entry_with_one_is_a_named_error(fails, entry):
    with pytest.raises(InvalidArguments, match="no name of an exported function"):
        await fails("export function f() { return 1 }", call=entry)


@pytest.mark.parametrize("path", [r"'\ud800'", r"'/mount/\udfff.txt'", r"'sub/\ud800/x'"])
async def test_a_path_with_one_names_nothing(value, world, path):
    told = await value(
        f"const told = []; for (const f of [Deno.readTextFile, (p) => Deno.writeTextFile(p, 'x'), Deno.mkdir, Deno.stat, Deno.remove])"
        f"try {{ await f({path}); told.push('done') }} catch (e) {{ told.push(e.name) }} return told",
        mounts=[world.writable()],
    )
    assert "done" not in told
    assert sorted(p.name for p in world.mount.iterdir()) == ["plain.txt", "sub"]


async def test_a_suspended_program_that_holds_some_can_be_put_away():
    async def host(call):
        return SUSPEND

    async with Sandbox() as sandbox:
        suspended = await sandbox.run(
            r"const s = '\ud800'; console.log(s); await mcp.a.b({ k: '\\ud800' }); return s.charCodeAt(0)",
            host=host,
        )
        data = sandbox.snapshot()
    async with Sandbox.restore(data) as sandbox:
        outcome = await sandbox.resume({suspended.calls[0].id: LONE}, host=host)
    assert isinstance(outcome, Completed | Failed)
    assert outcome.value == 0xD800
