"""What is said of the built-ins is what they are: schemas, exports, parts, the wheel, discovery."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pml.backends.std import STD_NAMES, StdBackend
from pml.backends.std.arguments import KEYWORDS, fault
from pml.backends.std.capability import STD_FOLDER, Access, load_capability
from pml.config.names import BUILTINS
from pml.config.values import Permissions
from pml.discovery import ToolIndex, Wanted, find
from pml.model import Outcome
from pml.onboarding.planning import DEFAULT
from pml.policy import decide

TOOLS = [(name, tool) for name in STD_NAMES for tool in load_capability(name, STD_FOLDER).tools]
EXPORT = re.compile(r"^export (?:async function|const) (\w+)", re.MULTILINE)


def schemas(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Give a schema and all within it."""
    yield schema
    inner = [*schema.get("properties", {}).values(), schema.get("items")]
    for one in (*inner, schema.get("additionalProperties")):
        if isinstance(one, dict):
            yield from schemas(one)


def definition(name: str, tool: str) -> Mapping[str, Any]:
    [found] = [one for one in load_capability(name, STD_FOLDER).definitions if one["name"] == tool]
    return found


def test_every_capability_on_disk_is_offered() -> None:
    assert {path.stem for path in STD_FOLDER.glob("*.json")} == set(STD_NAMES)
    assert {path.stem for path in STD_FOLDER.glob("*.ts")} == set(STD_NAMES)
    assert set(STD_NAMES) < set(BUILTINS)


@pytest.mark.parametrize("name", STD_NAMES)
def test_every_exported_function_is_described_and_the_other_way_round(name: str) -> None:
    capability = load_capability(name, STD_FOLDER)
    assert sorted(EXPORT.findall(capability.source)) == sorted(capability.tools)


def test_every_part_is_used() -> None:
    sources = [load_capability(name, STD_FOLDER).source for name in STD_NAMES]
    for part in (STD_FOLDER / "parts").glob("*.ts"):
        assert any(part.read_text(encoding="utf-8") in source for source in sources), part.name


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_schemas_use_only_what_the_check_of_arguments_knows(name: str, tool: str) -> None:
    about = definition(name, tool)
    for schema in schemas(about["inputSchema"]):
        assert set(schema) <= KEYWORDS, schema
        jsonschema.Draft202012Validator.check_schema(schema)
    assert about["inputSchema"]["additionalProperties"] is False
    assert set(about["inputSchema"].get("required", ())) <= set(about["inputSchema"]["properties"])
    assert "outputSchema" in about or load_capability(name, STD_FOLDER).tools[tool].media
    jsonschema.Draft202012Validator.check_schema(about.get("outputSchema", {}))


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_what_a_tool_may_see_is_what_it_says_it_does(name: str, tool: str) -> None:
    about, access = definition(name, tool), load_capability(name, STD_FOLDER).tools[tool].access
    assert len(about["description"]) > 20
    assert about["annotations"]["readOnlyHint"] == (access is not Access.WRITE)
    assert about["annotations"]["openWorldHint"] is False
    if name not in ("filesystem", "crypto", "diff"):
        assert access is Access.NONE


@pytest.mark.parametrize(
    ("schema", "value", "words"),
    [
        ({"type": "number", "exclusiveMinimum": 0}, 0, "`x` must be more than 0"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"a\x1b": "b"},
         "`x.a\\u{1b}` must be a number, not a string"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1}, None),
        ({"type": "array", "maxItems": 1}, [1, 2], "`x` must have at most 1 items"),
        ({"type": ["string", "null"]}, 1, "`x` must be a string or null, not a number"),
    ],
)  # fmt: skip
def test_arguments_are_held_against_every_keyword(
    schema: dict[str, Any], value: Any, words: str | None
) -> None:
    assert fault({"x": value}, {"type": "object", "properties": {"x": schema}}) == words


async def test_a_built_in_may_ask_the_host_only_what_it_says(tmp_path: Path) -> None:
    """Attack: code of one capability uses a service of another."""
    folder = tmp_path / "std"
    folder.mkdir()
    (folder / "x.ts").write_text(
        "export async function go(args) { return {got: await mcp[args.server][args.tool](args.with)}; }",
        encoding="utf-8",
    )
    tool = '{"name": "go", "access": "none", "inputSchema": {"type": "object"}}'
    (folder / "x.json").write_text(f'{{"asks": ["zones"], "tools": [{tool}]}}', encoding="utf-8")
    backend = StdBackend("x", tmp_path, tmp_path / "state", folder=folder)
    paris = {"zone": "Europe/Paris", "seconds": 0}
    for server, name, arguments, works in [
        ("zones", "at", paris, True), ("zones", "at", {"zone": "UTC"}, False),
        ("zones", "at", {"zone": 1, "seconds": 0}, False), ("zones", "other", paris, False),
        ("zones", "local", {"zone": "UTC", "seconds": 1e300}, False),
        ("hashing", "start", {"algorithm": "md5"}, False), ("workspace", "locate", {"path": "."}, False),
    ]:  # fmt: skip
        given = {"server": server, "tool": name, "with": arguments}
        result = await backend.call_tool("go", given, timeout_seconds=30)
        assert result.get("isError", False) is not works, (server, name, arguments)


@pytest.mark.parametrize(("name", "tool"), TOOLS)
def test_what_pml_init_allows_reads_and_computes_and_no_more(name: str, tool: str) -> None:
    permissions = Permissions(allow=tuple(DEFAULT["permissions"]["allow"]))
    access = load_capability(name, STD_FOLDER).tools[tool].access
    decision = decide(f"{name}:{tool}", permissions)
    assert decision.outcome is (Outcome.ASK if access is Access.WRITE else Outcome.ALLOW)
    # a rule that names the tool exactly would let it read `.env` without a question
    assert access is Access.NONE or decision.rule != f"{name}:{tool}"


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("sha256 of a file", "crypto:hash_file"), ("read csv text", "csv:parse"),
        ("standard deviation and mean", "math:statistics"), ("current date and time", "datetime:now"),
        ("convert time zone", "datetime:convert_zone"), ("apply a unified diff patch", "diff:apply"),
        ("count words", "text:count"), ("base64 encode", "crypto:encode"),
        ("evaluate an expression", "math:evaluate"), ("group rows and sum", "csv:aggregate"),
        ("random uuid", "crypto:uuid"), ("regular expression matches", "text:extract"),
    ],
)  # fmt: skip
async def test_a_tool_is_found_by_what_it_is_for(tmp_path: Path, query: str, wanted: str) -> None:
    index = ToolIndex()
    for name in STD_NAMES:
        listing = await StdBackend(name, tmp_path, tmp_path / "state").list_tools()
        assert not listing.skipped
        index.update(name, listing.tools)
    found = find(index, Wanted(query))
    assert wanted in [hit.tool.id for hit in found.hits[:3]]
