"""A tool to a TypeScript declaration that a model reads, and may paste into its program. Pure.

    declare const mcp: { filesystem: {
      /** Read the complete contents of a file as text. */
      read_text_file(args: { path: string; tail?: number }): Promise<{ content: string }>;
    } };

The statement is erased before a program runs, so any number of them may stand in front of it, and
every name has its place there, identifier or not. What a server says is untrusted: escaped, and
told in less and less detail until it fits.
"""

from collections.abc import Iterable, Iterator, Mapping

from pml.discovery.escaping import MOST_NAME_CHARACTERS, comment, key, member
from pml.discovery.schemas import Detail, Writer, indented, names_in
from pml.model import Tool

MOST_DECLARATION_CHARACTERS = 4_000
"""Of one declaration: about a thousand tokens."""

MOST_DESCRIPTION_CHARACTERS = 500
"""Of a tool's description: enough for what it does, not for a manual."""

_DETAILS = (
    Detail(),
    Detail(notes=80),
    Detail(notes=0),
    Detail(depth=2, notes=0),
    Detail(depth=1, notes=0),
)
_SHAPING = ("additionalProperties", "patternProperties", "anyOf", "oneOf", "allOf", "$ref")
_NO_ARGUMENTS = ("{}", "Record<string, unknown>")
_TOO_LARGE = "/* too many parameters to show: discover it by name, with its schema */"


def call_path(tool: Tool) -> str:
    """Give how a program names it: `mcp.filesystem.read_file`, `mcp["my-server"].get`."""
    return "mcp" + member(_name(tool.server)) + member(_name(tool.name))


def declaration(tool: Tool) -> str:
    """Give the statement that declares one tool."""
    return declared([(tool, signature(tool))])


def declared(signatures: Iterable[tuple[Tool, str]]) -> str:
    """Give one statement for several tools, by server in the order of its first."""
    servers: dict[str, list[str]] = {}
    for tool, text in signatures:
        servers.setdefault(tool.server, []).append(indented(text))
    blocks = [
        "\n".join((f"{key(_name(server))}: {{", *texts, "}")) for server, texts in servers.items()
    ]
    return f"declare const mcp: {{ {'; '.join(blocks)} }};"


def signature(tool: Tool) -> str:
    """Give a tool as a method with its comment: at most `MOST_DECLARATION_CHARACTERS`."""
    words = tool.definition.get("description")
    note = comment(words, MOST_DESCRIPTION_CHARACTERS) if isinstance(words, str) else ""
    head = f"/** {note} */\n" if note else ""
    for text in _methods(tool):
        if len(head) + len(text) <= MOST_DECLARATION_CHARACTERS:
            return head + text
    name = key(_name(tool.name))
    return f"{head}{_TOO_LARGE}\n{name}(args: Record<string, unknown>): Promise<any>;"


def _methods(tool: Tool) -> Iterator[str]:
    """Give the method in less and less detail."""
    for detail in _DETAILS:
        arguments, is_cut = _arguments(tool.definition.get("inputSchema"), detail)
        if not is_cut:
            result = _result(tool.definition.get("outputSchema"), detail)
            yield f"{key(_name(tool.name))}({arguments}): Promise<{result}>;"


def _arguments(schema: object, detail: Detail) -> tuple[str, bool]:
    """Give the parameter list, and whether some of it is missing."""
    if not isinstance(schema, Mapping):
        return "args?: Record<string, unknown>", False
    writer = Writer(schema, detail)
    text = writer.type_of(schema)
    shaping = [word for word in _SHAPING if word in schema]
    if text in _NO_ARGUMENTS and (text == "{}" or not shaping):
        return "", False
    is_needed = names_in(schema.get("required")) or set(shaping) - {*_SHAPING[:2]}
    return f"args{'' if is_needed else '?'}: {text}", writer.is_cut


def _result(schema: object, detail: Detail) -> str:
    """Give the type of the value; `any` where the server promises none."""
    if not isinstance(schema, Mapping):
        return "any"
    writer = Writer(schema, Detail(detail.depth, notes=0))
    text = writer.type_of(schema)
    return "any" if writer.is_cut or text == "unknown" else text


def _name(name: str) -> str:
    return name[:MOST_NAME_CHARACTERS]
