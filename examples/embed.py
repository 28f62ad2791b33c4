"""Untrusted TypeScript that calls a function of yours: python examples/embed.py."""

import anyio

from sandbox_host import Call, Completed, Failed, Sandbox

CODE = """
const { add } = mcp.math;
const [three, seven] = await Promise.all([add({ a: 1, b: 2 }), add({ a: 3, b: 4 })]);
return { total: three.sum + seven.sum };
"""


async def host(call: Call) -> dict[str, int]:
    """Answer a call of the program; what it may ask is yours to decide."""
    if call.tool != "math:add":
        raise LookupError(call.tool)
    return {"sum": call.args["a"] + call.args["b"]}


async def main() -> None:
    """Run the program and show what became of it."""
    async with Sandbox() as sandbox:
        match await sandbox.run(CODE, host=host):
            case Completed(value=value, calls=calls):
                print(value, f"after {len(calls)} calls")
            case Failed(error=error):
                print(f"{error.code} in line {error.line}: {error.message}")


if __name__ == "__main__":
    anyio.run(main)
