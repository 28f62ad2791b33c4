"""Attack: a NUL where C thinks that text ends, so that what is checked and what is used differ."""

import pytest

from sandbox_host import Completed, InvalidArguments, Mount, MountInvalid


@pytest.mark.parametrize(
    "code", ["return 1\0; throw 2", "\0return 1", "return 1\0", "return '\0'.length", "// \0\nreturn 1", "const x: number = 1\0; return x",
             "return `\0`.length", "export default 1\0", "/\0/.test('\0')"],
)  # fmt: skip
async def test_source_with_one_is_whole_or_refused(run, code):
    outcome = await run(code)
    if isinstance(outcome, Completed):  # only where it stands in a literal or a comment
        assert "'\0'" in code or "`\0`" in code or "//" in code or "/\0/" in code
        assert outcome.value in (1, True)
    else:
        assert outcome.error.code == "syntax_error"


async def test_strings_with_one_cross_whole(run):
    seen = []

    async def host(call):
        seen.append(call.args)
        return call.args

    outcome = await run(
        "console.log('a\\0b'); return await mcp.a.b({ 'k\\0x': 'a\\0b' })", host=host
    )
    assert isinstance(outcome, Completed)
    assert outcome.value == {"k\0x": "a\0b"}
    assert seen == [{"k\0x": "a\0b"}]
    assert outcome.logs[0].text == "a\0b"


async def test_args_of_the_embedder_with_one_cross_whole(value):
    assert await value("return [args.k, args.k.length]", args={"k": "a\0b"}) == ["a\0b", 3]


@pytest.mark.parametrize(
    "name", ["mcp.a['b\\0c']", "mcp['a\\0b'].c", "mcp.a['\\0']", "mcp['fs\\0x'].read"]
)
async def test_a_tool_name_with_one_throws_in_the_guest(run, name):
    async def host(call):
        raise AssertionError(call)

    outcome = await run(f"try {{ await {name}({{}}) }} catch (e) {{ return e.name }}", host=host)
    assert isinstance(outcome, Completed)
    assert outcome.value == "TypeError"


@pytest.mark.parametrize(
    "path",
    [
        "'plain.txt\\0.png'",
        "'\\0plain.txt'",
        "'.git\\0'",
        "'x\\0/../../outside'",
        "new URL('file:///mount/plain.txt%00.png')",
    ],
)
async def test_a_path_with_one_names_nothing(value, world, path):
    told = await value(
        f"""const told = []
        for (const f of [Deno.readTextFile, (p) => Deno.writeTextFile(p, 'x'), Deno.mkdir, Deno.stat, Deno.remove, (p) => Deno.rename('plain.txt', p),
                         (p) => Deno.rename(p, 'taken'), (p) => Deno.copyFile(p, 'taken')])
            try {{ await f({path}); told.push('done') }} catch (e) {{ told.push(e.name) }}
        return told""",
        mounts=[world.writable()],
    )
    assert "done" not in told
    assert sorted(p.name for p in world.mount.iterdir()) == ["plain.txt", "sub"]


@pytest.mark.parametrize("entry", ["f\0g", "\0f", "f\0"])
async def test_an_entry_with_one_does_not_call_what_stands_before_it(fails, entry):
    with pytest.raises(InvalidArguments):
        await fails(
            "export function f() { return 'called' }\nexport function other() {}", call=entry
        )


async def test_an_entry_too_long_does_not_call_its_beginning(fails):
    name = "f" * 128
    with pytest.raises(InvalidArguments):
        await fails(
            f"export function {name}() {{ return 'called' }}\nexport function other() {{}}",
            call=name + "x",
        )


async def test_a_mount_with_one_is_refused(world):
    for mount in (
        Mount(world.mount, guest_path="/a\0b"),
        Mount(f"{world.mount}\0x"),
        Mount(world.mount, guest_path="/a/../b"),
    ):
        with pytest.raises(MountInvalid):
            mount.opened()
