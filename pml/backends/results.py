"""A `CallToolResult` as the value that a program sees, and back: one rule for every backend. Pure.

`structuredContent` if it is there; else one text block, read as JSON when it is an object or an
array; else that text; else the list of content. `isError` throws, with the server's own words.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox_host import ToolError

_MESSAGE_CHARACTERS = 4000
_JSON_STARTS = ("{", "[")


def result_of(value: Any) -> Mapping[str, Any]:
    """Give a value as a server would: text, and what is an object as `structuredContent` too."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    return {**result, "structuredContent": value} if isinstance(value, dict) else result


def error_result(error: ToolError) -> Mapping[str, Any]:
    """Give an error as a server would."""
    text = error.message[:_MESSAGE_CHARACTERS]
    return {"isError": True, "content": [{"type": "text", "text": text}]}


def value_of(tool: str, result: Mapping[str, Any]) -> Any:
    """Give the value, or raise what the program sees as `McpError`."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    if result.get("isError") is True:
        raise _failure(tool, blocks, result)
    structured = result.get("structuredContent")
    if structured is not None:
        return structured
    if len(blocks) == 1 and _is_text(blocks[0]):
        return _read(blocks[0]["text"])
    return blocks


def _is_text(block: Any) -> bool:
    return (
        isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
    )


def _read(text: str) -> Any:
    """Read text that is a JSON object or array; any other text is itself."""
    if not text.lstrip().startswith(_JSON_STARTS):
        return text
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _failure(tool: str, blocks: Sequence[Any], result: Mapping[str, Any]) -> ToolError:
    words = "\n".join(block["text"] for block in blocks if _is_text(block))
    data = result.get("structuredContent")
    return ToolError(
        words[:_MESSAGE_CHARACTERS] or f"`{tool}` failed and did not say why",
        code="tool_error",
        data=data if data is not None else None,
    )
