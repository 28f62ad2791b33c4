"""What the analysis foretells is what a run in the real sandbox then does."""

import pytest

from pml.analysis import analyse
from sandbox_host import Call, Completed, Sandbox

PROGRAMS = [
    "await mcp.fs.read({})",
    "await (mcp).fs.read({})",
    "await (mcp.fs.read)({})",
    "await (0, mcp).fs.read({})",
    "await (await mcp.fs).read({})",
    "await mcp.fs['read']({})",
    "await mcp?.fs?.read?.({})",
    "await this.mcp.fs.read({})",
    "await globalThis['mcp'].fs.read({})",
    "await mcp.fs.read.call(null, {})",
    "const é = '😀', f = mcp.fs; await f.read({})",
    "const {fs: {read}} = mcp; await read({})",
    "const {read = 1} = mcp.fs; await read({})",
    "\nawait mcp\n  .fs\n    .read({})",
    "await Promise.all([1].map(\n  x => mcp.fs.read({})))",
    "let s = mcp.db; s = mcp.fs; await s.read({})",
    r"await \u006dcp['f\x73'].re\u{61}d({})",
    "let s; for (const n of [0, 1]) { if (n) await s.read({}); s = mcp.fs } return 0",
    "var f = () => s.read({}); const s = mcp.fs; await f()",
    "const mcp2 = mcp; { const mcp = 1 } await mcp2.fs.read({})",
]


@pytest.mark.parametrize("program", PROGRAMS)
async def test_what_is_foretold_happens_where_it_was_foretold(program: str) -> None:
    made: list[tuple[str, int | None]] = []

    async def host(call: Call) -> None:
        made.append((call.tool, call.line))

    async with Sandbox() as sandbox:
        outcome = await sandbox.run(program, host=host)
    assert isinstance(outcome, Completed)
    assert [(call.tool, call.place.line) for call in analyse(program).calls] == made


@pytest.mark.parametrize(
    "program",
    [
        "const call = (m) => m.fs.read({}); await call(mcp)",
        "await mcp['f' + 's'].read({})",
        "await globalThis['m' + 'cp'].fs.read({})",
        "await eval('mcp.fs.read({})')",
        "await new Function('return mcp.fs.read({})')()",
        "const [m] = [mcp]; await m.fs.read({})",
        "const o = {mcp}; await o.mcp.fs.read({})",
        "await Reflect.get(globalThis, 'mcp').fs.read({})",
        "for (const m of [mcp]) await m.fs.read({})",
        "await (function* () { yield mcp })().next().value.fs.read({})",
    ],
)
async def test_what_was_not_foretold_was_told_as_dynamic(program: str) -> None:
    made: list[str] = []

    async def host(call: Call) -> None:
        made.append(call.tool)

    async with Sandbox() as sandbox:
        outcome = await sandbox.run(program, host=host)
    assert (type(outcome), made) == (Completed, ["fs:read"])
    found = analyse(program)
    assert found.calls == ()
    assert found.dynamic
