"""`infer_approval_mode`, with the examples of Story 14.3."""

import pytest

from pml.config import Permissions
from pml.errors import PmlError
from pml.policy import CapabilityBlockedError, infer_approval_mode


def test_one_tool_that_asks_needs_a_human() -> None:
    permissions = Permissions(allow=("tavily:*",), ask=("filesystem:*",))
    assert infer_approval_mode(["filesystem:read", "tavily:search"], permissions) == "hil"


def test_all_allowed_runs_alone() -> None:
    permissions = Permissions(allow=("tavily:*", "filesystem:read"))
    assert infer_approval_mode(["filesystem:read", "tavily:search"], permissions) == "auto"
    assert infer_approval_mode([], Permissions()) == "auto"  # it calls nothing


def test_an_unknown_tool_needs_a_human() -> None:
    assert infer_approval_mode(["new:tool"], Permissions(allow=("tavily",))) == "hil"


def test_a_denied_tool_blocks_and_all_are_named_once() -> None:
    permissions = Permissions(allow=("*",), deny=("shell", "*:delete_*"))
    used = ["shell:exec", "fs:read", "git:delete_tag", "shell:exec"]
    with pytest.raises(CapabilityBlockedError) as caught:
        infer_approval_mode(iter(used), permissions)
    error = caught.value
    assert isinstance(error, PmlError)
    assert error.code == "capability_blocked"
    assert error.message == (
        "denied `shell:exec` by rule `shell`; denied `git:delete_tag` by rule `*:delete_*`"
    )
    assert [decision.tool for decision in error.denied] == ["shell:exec", "git:delete_tag"]


def test_a_denied_tool_blocks_even_beside_one_that_asks() -> None:
    with pytest.raises(CapabilityBlockedError):
        infer_approval_mode(["a:b", "c:d"], Permissions(deny=("c",)))
