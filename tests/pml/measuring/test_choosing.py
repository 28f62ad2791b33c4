"""What may be called for a measurement: nothing that asks, writes or needs to be told something."""

from typing import Any

import pytest

from pml.config import Permissions
from pml.measuring.choosing import MOST_TRIED, callable_tools
from pml.model import Tool

READS = {"readOnlyHint": True}
ALLOW = Permissions(allow=("s",))


def tool(name: str = "t", annotations: Any = READS, **schema: Any) -> Tool:
    definition = {"name": name, "inputSchema": {"type": "object", **schema}}
    return Tool("s", name, {**definition, "annotations": annotations})


def chosen(one: Tool, permissions: Permissions = ALLOW) -> tuple[list[str], str]:
    found, why = callable_tools([one], permissions, lambda _: None)
    return [tool.name for tool in found], why


def test_an_allowed_tool_that_only_reads_and_needs_nothing_is_called() -> None:
    assert chosen(tool())[0] == ["t"]


@pytest.mark.parametrize("permissions", [Permissions(), Permissions(allow=("s",), ask=("s:t",))])
def test_a_tool_that_asks_is_not_called(permissions: Permissions) -> None:
    assert chosen(tool(), permissions) == ([], "1 would ask")


def test_a_denied_tool_is_not_called() -> None:
    assert chosen(tool(), Permissions(allow=("*",), deny=("s:t",))) == ([], "1 denied")


def test_a_tool_that_a_backend_is_cautious_about_is_not_called() -> None:
    assert callable_tools([tool()], ALLOW, lambda _: "dangerous") == ((), "1 would ask")


@pytest.mark.parametrize(
    "said", [None, {}, [], "yes", {"readOnlyHint": False}, {"readOnlyHint": 1}]
)
def test_a_tool_that_does_not_say_that_it_only_reads_is_not_called(said: Any) -> None:
    assert chosen(tool(annotations=said)) == ([], "1 not marked as read-only")


def test_a_tool_that_needs_arguments_is_not_called() -> None:
    assert chosen(tool(required=["path"])) == ([], "1 need arguments")


def test_only_a_few_are_tried() -> None:
    found, _ = callable_tools([tool(f"t{n}") for n in range(9)], ALLOW, lambda _: None)
    assert len(found) == MOST_TRIED
