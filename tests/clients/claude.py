"""Real Claude Code as a client of one MCP server, its model played by `model_api`.

Nothing leaves the machine and nothing of the user's is read: a private home, a dummy key, everything
that is not the conversation switched off. `headless` runs one prompt; for dialogs: `dialogue.py`.
"""

import dataclasses
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from .model_api import ModelApi

NAME = "pml"
"""The server's name in the client's configuration: tools are called `mcp__pml__...`."""

_KEY = "sk-ant-a-dummy-key-of-the-tests-0123456789"
_MODEL = "claude-sonnet-4-5"
_OFF = (
    "DISABLE_TELEMETRY",
    "DISABLE_AUTOUPDATER",
    "DISABLE_ERROR_REPORTING",
    "DISABLE_BUG_COMMAND",
    "DISABLE_COST_WARNINGS",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
)


@dataclasses.dataclass(frozen=True)
class Place:
    """Where Claude Code runs, and which server it has."""

    program: str
    workspace: Path
    """Its current folder, and so the server's."""

    home: Path
    """A folder of its own, outside the workspace."""

    server: dict[str, Any]
    """A block of `mcpServers`."""

    def environ(self, api: ModelApi) -> dict[str, str]:
        """Give all that it gets of an environment."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": _KEY,
            **dict.fromkeys(_OFF, "1"),
        }

    def arguments(self) -> list[str]:
        """Give what every run needs: this server and no other, its tools allowed."""
        self._settle()
        configuration = self.home / "mcp.json"
        configuration.write_text(json.dumps({"mcpServers": {NAME: self.server}}), encoding="utf-8")
        return [
            *("--mcp-config", str(configuration), "--strict-mcp-config"),
            *("--allowedTools", f"mcp__{NAME}", "--model", _MODEL),
        ]

    def _settle(self) -> None:
        """Answer beforehand what a first start would ask."""
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        known = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [_KEY[-20:]], "rejected": []},
            "projects": {str(self.workspace): project},
        }
        folder = self.home / ".claude"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".claude.json").write_text(json.dumps(known), encoding="utf-8")


def headless(
    place: Place, api: ModelApi, prompt: str = "go", *, timeout_seconds: float = 120
) -> dict[str, Any]:
    """Run one prompt to its end; give Claude Code's own account of it (`result`, `is_error`)."""
    words = [place.program, "-p", prompt, "--output-format", "json", *place.arguments()]
    process = subprocess.Popen(
        words, cwd=place.workspace, env=place.environ(api), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=timeout_seconds)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    assert process.returncode == 0, (process.returncode, out, err)
    account: dict[str, Any] = json.loads(out)
    return account
