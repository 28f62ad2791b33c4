"""Every limit of a cloud, hit; and what operators see."""

import contextlib
import http.client
import json
import socket
import sqlite3
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from pml.backends.std import StdBackend
from pml.cloud.store import opened_store
from pml.cloud.tools.caller import Caller
from pml.cloud.tools.calling import Calls
from pml.cloud.tools.directory import Directory
from pml.cloud.tools.errors import BusyError
from pml.cloud.tools.executing import Execution
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


def test_a_database_that_fails_is_told_without_its_words(
    new_database: Any, new_cloud: Any
) -> None:
    url = new_database("sqlite")
    cloud = new_cloud(url)
    assert cloud.get("/health").status == 200
    with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute("ALTER TABLE state RENAME TO secret_plans")
    answer = cloud.get("/health")
    assert (answer.status, answer.json["error"]) == (503, "database_unusable")
    assert "state" not in answer.json["message"]
    cloud.get("/health")
    assert "no such table: state" in cloud.log.read_text()


def test_a_connection_more_than_there_may_be_is_refused(new_database: Any, new_cloud: Any) -> None:
    cloud = new_cloud(new_database("sqlite"), connections=3)
    with contextlib.ExitStack() as stack:
        statuses = []
        for _ in range(3):
            connection = http.client.HTTPConnection(urlsplit(cloud.url).netloc, timeout=30)
            stack.enter_context(contextlib.closing(connection))
            connection.request("GET", "/health")
            reply = connection.getresponse()
            reply.read()
            statuses.append(reply.status)
    assert statuses == [200, 200, 503]


async def test_a_program_more_than_there_may_be_is_told_to_come_back(tmp_path: Path) -> None:
    threads = anyio.CapacityLimiter(1)
    with opened_store(str(tmp_path / "cloud.db")) as store:
        builtin = StdBackend("json", tmp_path, tmp_path)
        directory = Directory(store.registry, (), threads)
        calls = Calls(store.registry, builtin, threads, ())
        execution = Execution(calls, directory, most_at_once=1, wait_seconds=0.05)
        caller = Caller("key", is_package=False)
        waits = {"code": "await new Promise((done) => setTimeout(done, 50_000))"}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(execution.execute, waits, caller)
            with anyio.fail_after(30):
                while execution._slots.borrowed_tokens == 0:
                    await anyio.lowlevel.checkpoint()
            with pytest.raises(BusyError):
                await execution.execute({"code": "return 1"}, caller)
            tasks.cancel_scope.cancel()
        assert (await execution.execute({"code": "return 1"}, caller))["structuredContent"][
            "result"
        ] == 1


def test_publishing_has_the_same_rate(new_database: Any, new_cloud: Any) -> None:
    cloud = new_cloud(new_database("sqlite"), calls_per_second=0.001, calls_at_once=1)
    code = '// __meta__: {"fqdn": "a.b.c.d"}\nexport const d = () => 1;\n'
    assert [cloud.publish("a.b.c.d", code).status for _ in range(2)] == [201, 429]


def test_tls_is_served_with_a_certificate_of_the_operators(
    new_database: Any, new_cloud: Any, tmp_path: Path
) -> None:
    certificate, key = _certificate(tmp_path)
    cloud = new_cloud(
        new_database("sqlite"), "--certificate", str(certificate), "--certificate-key", str(key)
    )
    parts = urlsplit(cloud.url)
    assert parts.scheme == "https"
    trusting = ssl.create_default_context(cafile=str(certificate))
    connection = http.client.HTTPSConnection("localhost", parts.port, context=trusting, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, private = folder / "cert.pem", folder / "key.pem"
    pem.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pem, private
