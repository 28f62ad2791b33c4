"""Every TypeScript block of the documentation is a program: it begins to run."""

from typing import Any

import pytest

from sandbox_host import Call, Failed, Sandbox

from .conftest import PAGES, Block, blocks

BLOCKS = [block for page in PAGES for block in blocks(page, "ts")]


async def host(call: Call) -> Any:
    return ["a.md", "b.txt"] if call.tool == "filesystem:list" else {}


@pytest.mark.parametrize("block", BLOCKS, ids=str)
async def test_it_is_a_program(block: Block) -> None:
    async with Sandbox() as sandbox:
        outcome = await sandbox.run(block.text, host=host, args={"path": "/nowhere"})
    if isinstance(outcome, Failed):  # the one that reads a file, which is not there
        assert outcome.error.message.startswith("NotFound: readTextFile '/nowhere'")
