"""The MCP Inspector as a client of a stdio server, from its command line."""

import dataclasses
import json
import os
import subprocess
from pathlib import Path
from typing import Any


@dataclasses.dataclass(frozen=True)
class Inspector:
    """One server, in one protocol era: `legacy`, `modern` or `auto`."""

    command: tuple[str, str]
    workspace: Path
    home: Path
    server: dict[str, Any]
    """A block of `mcpServers`."""

    era: str

    def tools(self) -> dict[str, dict[str, Any]]:
        """Give the server's tools, by name."""
        return {tool["name"]: tool for tool in self._ask("tools/list")["tools"]}

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; give the result as it came."""
        given = ("--tool-name", name, "--tool-args-json", json.dumps(arguments))
        return self._ask("tools/call", *given)

    def _ask(self, method: str, *more: str) -> dict[str, Any]:
        given = self.server.get("env", {}).items()
        variables = [word for name, value in given for word in ("-e", f"{name}={value}")]
        done = subprocess.run(
            [
                *self.command, "--cli", *variables,
                "--protocol-era", self.era, "--cwd", str(self.workspace),
                "--format", "json", "--quiet", "--method", method, *more,
                "--", self.server["command"], *self.server.get("args", []),
            ],
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)}, cwd=self.workspace,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.stdout, (done.returncode, done.stderr)
        result: dict[str, Any] = json.loads(done.stdout)["result"]
        return result
