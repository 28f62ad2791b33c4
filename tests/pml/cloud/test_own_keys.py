"""Callers bring their own keys: used for the call, sent to whom they are for, kept nowhere."""

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

KEY = "tvly-4Kx9qP2mZ7wT1"
OTHER = "sk-other-8Jd2Lm5Qr"


def _publish(cloud: Any, space: str, upstream: str, **more: Any) -> None:
    facts = {"type": "http", "proxyTo": upstream, "tools": [f"{space}:search"], **more}
    answer = cloud.publish(f"pml.mcp.{space}.server", facts)
    assert answer.status == 201, answer


def test_the_key_reaches_the_remote_server_and_no_other_key_does(
    cloud: Any, upstream: str
) -> None:
    _publish(cloud, "tavily", upstream, envRequired=["TAVILY_API_KEY"])
    keys = {"TAVILY_API_KEY": KEY, "OTHER_KEY": OTHER}
    found = cloud.call("tavily:search", {"query": "pml"}, keys)["structuredContent"]
    assert found == {"found": "pml", "headers": {"authorization": f"Bearer {KEY}"}}


def test_headers_are_filled_as_the_metadata_says(cloud: Any, upstream: str) -> None:
    headers = {"X-Tavily": "key ${TAVILY_API_KEY}"}
    _publish(cloud, "shaped", upstream, envRequired=["TAVILY_API_KEY"], headers=headers)
    found = cloud.call("shaped:search", {"query": "x"}, {"TAVILY_API_KEY": KEY})
    assert found["structuredContent"]["headers"] == {"x-tavily": f"key {KEY}"}


def test_a_program_uses_the_key_too_and_never_sees_it(cloud: Any, upstream: str) -> None:
    _publish(cloud, "masked", upstream, envRequired=["TAVILY_API_KEY"])
    code = "return {shown: await mcp.masked.search({query: 'x'}), env: typeof process}"
    result = cloud.call("execute", {"code": code}, {"TAVILY_API_KEY": KEY})["structuredContent"]
    assert result["status"] == "success"
    assert KEY not in json.dumps(result)
    assert result["result"]["shown"]["headers"]["authorization"] == (
        "Bearer [secret TAVILY_API_KEY]"
    )


def test_a_missing_key_is_named(cloud: Any, upstream: str) -> None:
    _publish(cloud, "missing", upstream, envRequired=["EXA_API_KEY"])
    told = cloud.call("missing:search", {"query": "x"}, {"TAVILY_API_KEY": KEY})
    assert told["structuredContent"]["code"] == "keys_missing"
    assert "EXA_API_KEY" in told["structuredContent"]["message"]


@pytest.mark.parametrize(
    "header",
    [
        "not base64!",
        base64.urlsafe_b64encode(b"[1]").decode(),
        base64.urlsafe_b64encode(b'{"A": "line\\nbreak"}').decode(),
        base64.urlsafe_b64encode(b'{"A-B": "x"}').decode(),
        base64.urlsafe_b64encode(b'{"A": 1}').decode(),
        base64.urlsafe_b64encode(json.dumps({"A": "x" * 7000}).encode()).decode(),
        base64.urlsafe_b64encode(json.dumps({f"A{n}": "x" for n in range(51)}).encode()).decode(),
    ],
)
def test_keys_that_cannot_be_read_are_refused_without_being_shown(cloud: Any, header: str) -> None:
    answer = cloud.rpc("tools/list", {}, x_pml_keys=header)
    assert (answer.status, answer.json["error"]) == (400, "keys_unreadable")
    assert header[:8] not in answer.json["message"]


def test_no_key_and_no_argument_is_ever_logged(cloud: Any, upstream: str) -> None:
    _publish(cloud, "logged", upstream, envRequired=["TAVILY_API_KEY"])
    argument = "argument-of-a-user-71"
    failed = cloud.call("logged:search", {"query": "fail"}, {"TAVILY_API_KEY": KEY})
    assert failed["isError"] is True
    cloud.call("logged:search", {"query": argument}, {"TAVILY_API_KEY": KEY})
    cloud.get("/health")  # answered after the lines above were written
    log = cloud.log.read_text()
    assert '"path":"/mcp"' in log
    for secret in (KEY, argument, cloud.key("call"), cloud.key("call")[-20:]):
        assert secret not in log
        assert base64.b64encode(secret.encode()).decode()[4:-4] not in log


def test_the_database_never_holds_a_callers_key(
    new_database: Any, new_cloud: Any, upstream: str
) -> None:
    url = new_database("sqlite")
    cloud = new_cloud(url, "--allow-upstream", "127.0.0.1")
    _publish(cloud, "tavily", upstream, envRequired=["TAVILY_API_KEY"])
    cloud.call("tavily:search", {"query": "x"}, {"TAVILY_API_KEY": KEY})
    files = list(Path(url.removeprefix("sqlite:///")).parent.iterdir())
    assert files
    for file in files:
        assert KEY.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:1/mcp",
        "https://localhost/mcp",
        "https://169.254.169.254/latest",
        "https://10.0.0.1/mcp",
        "https://[::1]/mcp",
    ],
)
def test_a_remote_server_cannot_be_the_clouds_own_network(
    shared_strict: Any, address: str
) -> None:
    space = "ssrf" + "".join(c for c in address if c.isalnum())[:40]
    _publish(shared_strict, space, address)
    told = shared_strict.call(f"{space}:search", {})["structuredContent"]
    assert told["code"] == "upstream_refused"


@pytest.fixture(scope="module")
def shared_strict(new_database: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A cloud that allows no special address."""
    running = sys.modules["cloud_running"]
    log = tmp_path_factory.mktemp("strict") / "log"
    with running.cloud(new_database("sqlite"), log) as made:
        yield made


def test_others_cannot_take_a_namespace_that_keys_are_sent_to(cloud: Any, upstream: str) -> None:
    _publish(cloud, "owned", upstream, envRequired=["TAVILY_API_KEY"])
    thief = {"type": "http", "proxyTo": "https://thief.example", "tools": ["owned:steal"]}
    answer = cloud.publish("thief.x.owned.server", thief)
    assert (answer.status, answer.json["error"]) == (409, "namespace_taken")
    same = cloud.publish(
        "pml.mcp.owned.other", {"type": "http", "proxyTo": upstream, "tools": ["owned:search"]}
    )
    assert (same.status, same.json["error"]) == (409, "tool_taken")
