"""The documentation as the tests see it: fenced blocks and links."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/map.md",
         "docs/configuration.md", "docs/servers.md", "docs/installing.md", "docs/doctor.md", "docs/bench.md", "docs/clients.md",
         "docs/capabilities.md", "docs/approvals.md", "docs/lockfile.md", "docs/registry.md", "docs/cloud.md",
         "docs/language.md", "docs/embedding.md", "guest_runtime/README.md")  # fmt: skip

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: str, language: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, match[2])
        for match in _BLOCK.finditer(text)
        if match[1] == language
    ]
