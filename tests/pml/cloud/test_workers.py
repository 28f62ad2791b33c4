"""Several processes on one database: the same answers, and nothing lost when one is killed."""

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pml.cloud.store import opened_store

CODE = '// __meta__: {{"fqdn": "a.b.w{0}.d"}}\nexport const d = () => {0};\n'


def _publish(cloud: Any, number: int) -> Any:
    return cloud.publish(f"a.b.w{number}.d", CODE.format(number))


def _children(process: "subprocess.Popen[str]") -> list[int]:
    """The workers: children that were spawned, without the resource tracker."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == process.pid and b"spawn_main" in command:
            found.append(int(folder.name))
    return found


def test_two_clouds_on_one_database_give_the_same_answers(database: str, new_cloud: Any) -> None:
    first, second = new_cloud(database), new_cloud(database)
    made = [_publish((first, second)[n % 2], n).json["fqdn"] for n in range(6)]
    first.get("/mcp")
    made.append(_publish(second, 9).json["fqdn"])
    for path in (
        "/mcp",
        "/mcp?type=deno&limit=2",
        "/api/v1/routing",
        *(f"/mcp/{m}" for m in made),
    ):
        one, other = first.get(path), second.get(path)
        assert (one.status, one.body, one.headers["etag"]) == (
            other.status,
            other.body,
            other.headers["etag"],
        )
    assert first.get("/mcp").json["total"] == 7
    key = first.key("call")
    assert second.rpc("tools/list", {}, x_api_key=key).status == 200


def test_workers_count_together(database: str, new_cloud: Any) -> None:
    cloud = new_cloud(database, "--workers", "2")
    for _ in range(20):
        assert cloud.get("/mcp").status == 200
    text = cloud.get("/metrics", x_api_key=cloud.key("metrics")).body.decode()
    lines = [line for line in text.splitlines() if 'route="GET mcp",status="200"' in line]
    assert [float(line.split()[-1]) for line in lines] == [20.0]


def test_a_worker_killed_in_the_middle_of_requests_loses_nothing(
    database: str, new_cloud: Any
) -> None:
    """Publications that were answered with yes are there, whole; what was under way is not."""
    cloud = new_cloud(database)
    answered: list[dict[str, str]] = []

    def publish_many() -> None:
        for number in range(500):
            try:
                answered.append(_publish(cloud, number).json)
            except (OSError, ValueError):
                return

    half = socket.create_connection((urlsplit(cloud.url).hostname, urlsplit(cloud.url).port))
    head = (
        f"PUT /mcp/a.b.half.d HTTP/1.1\r\nHost: x\r\nx-api-key: {cloud.key('publish:*')}\r\n"
        "Content-Type: application/typescript\r\nContent-Length: 1000\r\n\r\n// __meta__"
    )
    half.sendall(head.encode())
    publishing = threading.Thread(target=publish_many)
    publishing.start()
    while len(answered) < 20:
        assert publishing.is_alive()
    cloud.process.send_signal(signal.SIGKILL)
    publishing.join(60)
    half.close()
    assert 20 <= len(answered) < 500
    with opened_store(database) as store:
        for one in answered:
            base, stated = one["fqdn"].rsplit(".", 1)
            kept = store.registry.version(base, stated)
            assert kept is not None
            assert kept.integrity == one["integrity"]
        page = store.registry.page(None, 1, 1000)
        # one more may have been written and not answered: it is whole, too
        assert page.total - len(answered) in (0, 1)
        for item in page.items:
            base, stated = item.fqdn.rsplit(".", 1)
            assert store.registry.version(base, stated) is not None
        assert store.registry.current("a.b.half.d") is None


def test_a_killed_worker_is_replaced_and_the_others_go_on(
    new_database: Callable[[str], str], new_cloud: Any
) -> None:
    cloud = new_cloud(new_database("sqlite"), "--workers", "2")
    assert _publish(cloud, 1).status == 201
    while len(workers := _children(cloud.process)) < 2:
        assert cloud.process.poll() is None
    os.kill(workers[0], signal.SIGKILL)
    while True:
        try:
            answer = cloud.get("/mcp")
        except OSError:
            continue
        assert answer.json["total"] == 1
        now = set(_children(cloud.process))
        if len(now - set(workers)) == 1:
            break
    log = [json.loads(line) for line in cloud.log.read_text().splitlines()]
    assert all("event" in line for line in log)


def test_a_taken_address_is_told_in_words(
    new_database: Callable[[str], str], new_cloud: Any, process: Callable[..., Any]
) -> None:
    url = new_database("sqlite")
    port = str(urlsplit(new_cloud(url).url).port)
    ended = process("cloud", "serve", "--port", port, "--database", url)
    assert ended.code == 1
    assert ended.err == f"error: cannot listen on 127.0.0.1 port {port}: Address already in use\n"
