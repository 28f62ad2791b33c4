"""Nothing that may be a secret comes out by an error or a `repr`."""

import json

import pytest

from .conftest import Folder


@pytest.mark.parametrize("secret", ["hunter2!:@ /", "hunter2"])
def test_no_error_repeats_a_value(folder: Folder, secret: str) -> None:
    text = json.dumps(
        {
            "env": {"A": [secret], "B": f"{secret}${{"},
            "expose": [secret],
            "registries": [secret],
            "cloud": {"url": secret, "apiKey": {"x": secret}},
            "permissions": {"allow": [secret]},
            "approvals": secret,
            "mcpServers": {
                "a": {"command": "c", "args": [f"{secret}${{"], "env": {"T": [secret]},
                      "sandbox": {"env": [secret], "net": [secret], "mode": secret,
                                  "fsRead": [f"~{secret}${{"]}},
                "b": {"type": secret},
                "c": {"url": secret, "headers": {"X": f"{secret}\n"}},
            },
        }
    )  # fmt: skip
    errors = folder.errors(text)
    assert len(errors) > 10
    for error in errors:
        assert "hunter2" not in f"{error.message}{error.hint}{error!r}"


def test_values_that_may_be_secret_are_not_in_the_repr(folder: Folder) -> None:
    text = """{"env": {"A": "hunter2"}, "cloud": {"url": "https://x", "apiKey": "hunter2"},
      "mcpServers": {"a": {"command": "c", "args": ["hunter2"], "env": {"K": "hunter2"},
        "sandbox": {"env": ["B"]}},
        "b": {"url": "https://x/?key=hunter2", "headers": {"K": "hunter2"}}}}"""
    assert "hunter2" not in repr(folder.load(text, B="hunter2"))
