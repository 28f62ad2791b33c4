"""Every limit of a cloud, hit; and what operators see."""

import json
import socket
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest

from pml.cloud.store import opened_store
from pml.cloud.web.access import MOST_BUCKETS, Rates
from pml.cloud.web.remembering import Remembered


def test_a_key_that_asks_too_fast_is_told_when_to_come_back(
    new_database: Any, new_cloud: Any
) -> None:
    cloud = new_cloud(new_database("sqlite"), calls_per_second=0.001, calls_at_once=2)
    answers = [cloud.rpc("tools/list", {}) for _ in range(3)]
    assert [one.status for one in answers] == [200, 200, 429]
    assert int(answers[2].headers["retry-after"]) > 100
    assert cloud.rpc("tools/list", {}, x_api_key=cloud.key("call", "read")).status == 200


def test_rates_fill_up_again_and_are_forgotten_in_order() -> None:
    rates = Rates(2.0, 1)
    assert rates.delay("a", 0.0) == 0
    assert rates.delay("a", 0.0) == pytest.approx(0.5)
    assert rates.delay("a", 0.5) == 0
    for number in range(MOST_BUCKETS + 1):
        rates.delay(f"k{number}", 1.0)
    assert rates.delay("a", 0.5) == 0


def test_a_body_larger_than_allowed_is_refused_before_it_is_read(
    new_database: Any, new_cloud: Any
) -> None:
    cloud = new_cloud(new_database("sqlite"), body_bytes=2000)
    assert cloud.rpc("tools/list", {"x": "y" * 3000}).status == 413
    assert cloud.rpc("tools/list", {}).status == 200


def test_a_request_that_never_ends_is_ended(new_database: Any, new_cloud: Any) -> None:
    cloud = new_cloud(new_database("sqlite"), request_seconds=0.3)
    parts = urlsplit(cloud.url)
    head = (
        f"PUT /mcp/a.b.c.d HTTP/1.1\r\nHost: x\r\nx-api-key: {cloud.key('publish:*')}\r\n"
        "Content-Type: application/typescript\r\nContent-Length: 100\r\n\r\nonly this"
    )
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as slow:
        slow.sendall(head.encode())
        answer = b""
        while not answer.endswith(b"}"):
            answer += slow.recv(65536)
    assert answer.startswith(b"HTTP/1.1 504")
    assert b'"timeout"' in answer


def test_a_program_that_computes_without_end_is_ended(cloud: Any) -> None:
    result = cloud.call("execute", {"code": "while (true) {}", "timeoutSeconds": 0.5})
    assert result["structuredContent"]["code"] in ("wall_limit", "cpu_limit")


def test_a_program_that_takes_all_memory_is_ended(cloud: Any) -> None:
    told = cloud.execute("const all = []; while (true) all.push('x'.repeat(1 << 20) + all.length)")
    assert told["code"] == "memory_limit"


def test_a_program_that_calls_without_end_is_ended(cloud: Any) -> None:
    told = cloud.execute("while (true) { await mcp.json.parse({text: '1'}) }")
    assert told["status"] == "error"
    assert told["code"] == "call_limit"


def test_health_says_whether_the_database_answers(cloud: Any) -> None:
    answer = cloud.get("/health")
    assert (answer.status, answer.json) == (200, {"status": "ok"})


def test_metrics_count_by_words_of_ours_for_a_key_that_may_see_them(cloud: Any) -> None:
    cloud.get("/mcp/no.such.name.here")
    cloud.execute("return 1")
    assert cloud.get("/metrics").status == 401
    assert cloud.get("/metrics", x_api_key=cloud.key("call")).status == 403
    text = cloud.get("/metrics", x_api_key=cloud.key("metrics")).body.decode()
    assert 'pml_cloud_requests_total{route="GET entry",status="404"}' in text
    assert 'pml_cloud_runs_total{outcome="success"}' in text
    assert "no.such.name" not in text


def test_a_private_registry_is_read_with_a_key_alone(new_database: Any, new_cloud: Any) -> None:
    cloud = new_cloud(new_database("sqlite"), "--private")
    code = '// __meta__: {"fqdn": "a.b.c.d"}\nexport const d = () => 1;\n'
    made = cloud.publish("a.b.c.d", code).json["fqdn"]
    for path in (f"/mcp/{made}", "/mcp", "/mcp/a.b.c.d", "/api/v1/routing"):
        assert cloud.get(path).status == 401
        assert cloud.get(path, x_api_key=cloud.key("publish:a")).status == 403
        assert cloud.get(path, x_api_key=cloud.key("read")).status in (200, 302)
    answer = cloud.get(f"/mcp/{made}", x_api_key=cloud.key("call"))
    assert answer.headers["cache-control"] == "private, max-age=3600"


def test_a_revoked_key_is_refused_at_once(new_database: Any, new_cloud: Any) -> None:
    cloud = new_cloud(new_database("sqlite"))
    assert cloud.rpc("tools/list", {}).status == 200
    with opened_store(cloud.database) as store:
        store.keys.revoke(store.keys.all()[0].id, now=datetime.now(UTC))
    assert cloud.rpc("tools/list", {}).status == 401


def test_the_log_is_json_lines(cloud: Any) -> None:
    cloud.get("/mcp/evil%0A%7B%22event%22")
    cloud.get("/health")  # answered after the line above was written
    lines = [json.loads(line) for line in cloud.log.read_text().splitlines()]
    assert lines[0]["event"] == "started"
    last = [line for line in lines if "evil" in line.get("path", "")][-1]
    assert (last["event"], last["status"]) == ("request", 404)


def test_what_is_remembered_has_a_bound() -> None:
    remembered: Remembered[str] = Remembered(10_000)
    for number in range(10):
        remembered.put(number, "x", 1_000)
    assert remembered.get(0) is None
    assert remembered.get(9) == "x"
