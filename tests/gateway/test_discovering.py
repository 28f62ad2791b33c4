"""`discover` when a server is no help."""

import json

from .conftest import Workspace, connected


async def test_a_server_that_never_answers_hides_no_other(workspace: Workspace) -> None:
    """Attack: one server that hangs, and no tool of any server is found."""
    workspace.servers["silent"] = {"command": "/bin/sleep", "args": ["1000"]}
    workspace.configure()
    async with connected(workspace) as client:
        found = await client.facts("discover", pattern="*:*", limit=50)
    assert {"counter:one", "filesystem:read_text_file"} <= {one["id"] for one in found["tools"]}
    assert "silent: server `silent` did not start" in json.dumps(found["notes"])
