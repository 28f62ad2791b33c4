"""What a human should know before a package is installed: unpinned, or named like another. Pure.

Not refused: a newcomer's package may be what is wanted. But a name one slip away from that of a
well-known server is what attackers register, and without a version tomorrow's package is another.
"""

import dataclasses
import enum
from collections.abc import Iterator

from pml.loader.installer.packages import Kind, Wanted

_NEAR = 2
"""Slips: letters added, lost, changed, or swapped with the next."""

_SHORT = 8  # characters; of two names so short one slip makes another word, two make any

_CONFUSED = (("rn", "m"), ("vv", "w"), ("0", "o"), ("1", "l"), ("i", "l"), ("5", "s"))
"""What looks alike in many fonts."""

_SERVERS = "@modelcontextprotocol/server-{}".format
_WELL_KNOWN: dict[Kind, tuple[str, ...]] = {
    Kind.NPM: (
        *map(_SERVERS, (
            "aws-kb-retrieval", "brave-search", "everart", "everything", "filesystem", "gdrive",
            "github", "gitlab", "google-maps", "memory", "postgres", "puppeteer", "redis",
            "sequential-thinking", "slack",
        )),
        "@modelcontextprotocol/inspector", "@modelcontextprotocol/sdk",
        "@21st-dev/magic", "@anthropic-ai/claude-code", "@apify/actors-mcp-server",
        "@azure/mcp", "@benborla29/mcp-server-mysql", "@browserbasehq/mcp-server-browserbase",
        "@brave/brave-search-mcp-server", "@circleci/mcp-server-circleci",
        "@cloudflare/mcp-server-cloudflare",
        "@elastic/mcp-server-elasticsearch", "@executeautomation/playwright-mcp-server",
        "@heroku/mcp-server", "@hubspot/mcp-server", "@mapbox/mcp-server",
        "@mongodb-js/mongodb-mcp-server", "@neondatabase/mcp-server-neon",
        "@notionhq/notion-mcp-server", "@playwright/mcp", "@sentry/mcp-server", "@shopify/dev-mcp",
        "@smithery/cli", "@stripe/mcp", "@supabase/mcp-server-supabase", "@upstash/context7-mcp",
        "@wonderwhy-er/desktop-commander", "chrome-devtools-mcp", "exa-mcp-server",
        "figma-developer-mcp", "firebase-tools", "firecrawl-mcp", "kubernetes-mcp-server",
        "mcp-remote", "mcp-server-commands", "mcp-server-kubernetes", "mongodb-mcp-server",
        "puppeteer-mcp-server", "supergateway", "tavily-mcp",
    ),
    Kind.PYPI: (
        "arxiv-mcp-server", "awslabs-aws-documentation-mcp-server", "awslabs-core-mcp-server",
        "basic-memory", "blender-mcp", "browser-use", "duckduckgo-mcp-server", "excel-mcp-server",
        "fastmcp", "markitdown-mcp", "mcp", "mcp-atlassian", "mcp-server-fetch", "mcp-server-git",
        "mcp-server-motherduck", "mcp-server-qdrant", "mcp-server-sentry", "mcp-server-sqlite",
        "mcp-server-time", "mcp-proxy", "postgres-mcp", "redis-mcp-server", "serena",
        "serena-agent", "snowflake-labs-mcp", "word-mcp-server", "zen-mcp-server",
    ),
}  # fmt: skip
"""Servers that many use, and so the ones that are imitated."""


class DoubtKind(enum.StrEnum):
    """Why a human should look twice."""

    UNPINNED = "unpinned"
    LOOK_ALIKE = "look_alike"


@dataclasses.dataclass(frozen=True, slots=True)
class Doubt:
    """One reason, with the words for it."""

    kind: DoubtKind
    words: str


def doubts(package: Wanted) -> tuple[Doubt, ...]:
    """Give all that is doubtful about a package as it is asked for."""
    return tuple(_doubts(package))


def _doubts(package: Wanted) -> Iterator[Doubt]:
    if package.exact is None:
        asked = f"`{package.spec}` is not one version" if package.spec else "no version is named"
        words = f"{asked}: what it stands for changes when others publish"
        yield Doubt(DoubtKind.UNPINNED, words)
    other = look_alike(package.kind, package.name)
    if other is not None:
        words = f"its name is almost that of `{other}`, which is another package"
        yield Doubt(DoubtKind.LOOK_ALIKE, words)


def look_alike(kind: Kind, name: str) -> str | None:
    """Give the well-known package that a name could be mistaken for; None for those themselves."""
    known = _WELL_KNOWN[kind]
    if name in known:
        return None
    for other in known:
        if _drawn(name) == _drawn(other):
            return other
    near = [(distance, other) for other in known if (distance := _distance(name, other))]
    return min(near)[1] if near else None


def _drawn(name: str) -> str:
    """Give a name as a hurried eye sees it."""
    seen = "".join(c for c in name.lower() if c not in "-_.@/~")
    for letters, looks in _CONFUSED:
        seen = seen.replace(letters, looks)
    return seen


def _distance(one: str, other: str) -> int:
    """Give the number of slips between two names, 0 if there are too many."""
    most = _NEAR if min(len(one), len(other)) > _SHORT else 1
    if abs(len(one) - len(other)) > most:
        return 0
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1] if row[-1] <= most else 0
