"""A cloud as its own process on loopback, spoken to over real HTTP."""

import base64
import contextlib
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pml.cloud.store import opened_store

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Cloud:
    url: str
    database: str
    process: "subprocess.Popen[str]"
    log: Path
    _keys: dict[tuple[str, ...], str] = field(default_factory=dict)

    def key(self, *scopes: str) -> str:
        """A key with these rights, made once."""
        if scopes not in self._keys:
            with opened_store(self.database) as store:
                self._keys[scopes] = store.keys.create("test", scopes, now=datetime.now(UTC))[1]
        return self._keys[scopes]

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, dict(headers or {}))
            reply = connection.getresponse()
            found = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, found, reply.read())

    def get(self, path: str, **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.ask("GET", path, named)

    def publish(self, base: str, content: str | Mapping[str, Any]) -> Answer:
        is_code = isinstance(content, str)
        kind = "application/typescript" if is_code else "application/json"
        headers = {"x-api-key": self.key("publish:*"), "content-type": kind}
        text = content if isinstance(content, str) else json.dumps(content)
        return self.ask("PUT", f"/mcp/{base}", headers, text.encode())

    def rpc(self, method: str, params: Mapping[str, Any], **headers: str) -> Answer:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        head = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "x-api-key": self.key("call"),
            **named,
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.ask("POST", "/mcp", head, json.dumps(message).encode())

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        keys: Mapping[str, str] | None = None,
        **headers: str,
    ) -> Any:
        """The result of a tool, as MCP gives it."""
        if keys:
            headers["x_pml_keys"] = base64.urlsafe_b64encode(json.dumps(keys).encode()).decode()
        answer = self.rpc("tools/call", {"name": name, "arguments": arguments}, **headers)
        assert answer.status == 200, answer
        return answer.json["result"]

    def execute(self, code: str, **headers: str) -> Any:
        return self.call("execute", {"code": code}, **headers)["structuredContent"]


@contextlib.contextmanager
def cloud(database: str, log: Path, *arguments: str, settings: Any = None) -> Iterator[Cloud]:
    """Start one, give it, end it."""
    if settings is None:
        command = ["-m", "pml.cli.main", "cloud", "serve", "--port", "0", *arguments]
        command += ["--database", database]
    else:
        given = {"database": database, "port": 0, **settings}
        command = [str(HERE / "serving_with.py"), json.dumps(given)]
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, *command], stdout=subprocess.PIPE, stderr=stderr, text=True
        )
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url, log.read_text()
        try:
            yield Cloud(url, database, process, log)
        finally:
            process.terminate()
            process.wait(30)
            process.stdout.close()
