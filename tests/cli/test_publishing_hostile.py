"""`pml publish` to registries that lie, lead elsewhere, or do not end; and who is sent the key."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pml.backends.http import fetching
from pml.fqdn import integrity_of

from .workspaces import Workspace, made

CODE = """// __meta__: {"fqdn": "acme.tools.voice.shout"}
return args.text.toUpperCase()
"""
INTEGRITY = integrity_of(CODE.encode())
NAME = f"acme.tools.voice.shout.{INTEGRITY[7:11]}"
OTHER = "sha256-" + "0" * 64
KEY = "ak_0123456789abcdefghijklmnop"
HONEST = {"fqdn": NAME, "integrity": INTEGRITY}


@dataclass
class Hostile:
    """A web server that answers everything alike, and remembers what it was sent."""

    url: str = ""
    status: int = 201
    body: bytes = b""
    headers: Mapping[str, str] = field(
        default_factory=lambda: {"Content-Type": "application/json"}
    )
    before: Callable[[], object] = lambda: None
    seen: list[tuple[str, str, Mapping[str, str], bytes]] = field(default_factory=list)

    def says(self, facts: object, status: int = 201) -> None:
        self.status, self.body = status, json.dumps(facts).encode()


@pytest.fixture
def registry() -> Iterator[Callable[[], Hostile]]:
    """Starts hostile registries."""
    servers: list[ThreadingHTTPServer] = []

    def start() -> Hostile:
        hostile = Hostile()

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                head = {name.lower(): value for name, value in self.headers.items()}
                hostile.seen.append((self.command, self.path, head, content))
                hostile.before()
                self.send_response(hostile.status)
                for name, value in hostile.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(hostile.body)))
                self.end_headers()
                self.wfile.write(hostile.body)

            do_GET = do_PUT = answer  # noqa: N815 - the library's names

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        hostile.url = f"http://127.0.0.1:{server.server_address[1]}"
        return hostile

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    workspace = made(tmp_path / "author", monkeypatch)
    workspace.write("shout.ts", CODE)
    return workspace


def test_what_is_sent_is_the_file_and_the_key_in_its_header(
    pml: Any, work: Workspace, registry: Callable[[], Hostile]
) -> None:
    one = registry()
    one.says(HONEST)
    work.use_cloud(f"{one.url}/base/", KEY)
    assert pml("publish", "shout.ts").out == f"{NAME}  published\n"
    [(method, path, headers, content)] = one.seen
    assert (method, path) == ("PUT", "/base/mcp/acme.tools.voice.shout")
    assert headers["content-type"] == "application/typescript"
    assert (headers["x-api-key"], content) == (KEY, CODE.encode())


@pytest.mark.parametrize(
    "facts",
    [
        {**HONEST, "integrity": OTHER},
        {**HONEST, "fqdn": "acme.tools.voice.shout.0000"},
        {**HONEST, "fqdn": "evil.tools.voice.shout"},
        {"fqdn": NAME},
        {"fqdn": [NAME], "integrity": {"sha256": INTEGRITY}},
        {},
        [HONEST],
        "\x1b[2J",
    ],
)
def test_a_registry_that_answers_about_something_else_is_an_error(
    pml: Any, work: Workspace, registry: Callable[[], Hostile], facts: Any
) -> None:
    """It keeps other code under the name that the author would tell people to use."""
    one = registry()
    one.says(facts)
    work.use_cloud(one.url, KEY)
    ended = pml("publish", "shout.ts")
    assert (ended.code, ended.out) == (1, "")
    assert f"was sent {NAME} {INTEGRITY} and says that it published" in ended.err
    assert "what it keeps is not what you wrote" in ended.err
    failed = json.loads(pml("audit", "show", "--json").out.splitlines()[-1])
    assert (failed["event"], failed["facts"]["code"]) == (
        "publishing_failed", "published_otherwise",
    )  # fmt: skip


def test_a_yes_in_html_is_none(pml: Any, work: Workspace, registry: Callable[[], Hostile]) -> None:
    one = registry()
    one.says(HONEST)
    one.headers = {"Content-Type": "text/html"}
    work.use_cloud(one.url, KEY)
    ended = pml("publish", "shout.ts")
    assert (ended.code, "nothing at all" in ended.err) == (1, True)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed_and_the_key_goes_nowhere_else(
    pml: Any, work: Workspace, registry: Callable[[], Hostile], status: int
) -> None:
    one, elsewhere = registry(), registry()
    one.status, one.headers = status, {"Location": f"{elsewhere.url}/mcp/acme.tools.voice.shout"}
    work.use_cloud(one.url, KEY)
    ended = pml("publish", "shout.ts")
    assert (ended.code, f"it redirects ({status})" in ended.err) == (1, True)
    assert (len(one.seen), elsewhere.seen) == (1, [])


def test_another_registry_is_sent_no_key_and_one_of_the_clouds_origin_is(
    pml: Any, work: Workspace, registry: Callable[[], Hostile]
) -> None:
    cloud, other = registry(), registry()
    cloud.says(HONEST)
    other.says({"error": "unauthorized"}, 401)
    work.use_cloud(cloud.url, KEY, registries=[other.url, f"{cloud.url}/second"])
    ended = pml("publish", "shout.ts", "--to", f"{other.url}/")
    assert ended.code == 1
    assert "it takes a key, and was sent none" in ended.err
    assert "hint: your key goes to the `cloud` of `.pml.json` alone" in ended.err
    [(_, _, headers, _)] = other.seen
    assert KEY not in str(headers)
    assert pml("publish", "shout.ts", "--to", f"{cloud.url}/second").code == 0
    [(_, path, headers, _)] = cloud.seen
    assert path.startswith("/second/mcp/")
    assert headers["x-api-key"] == KEY


def test_a_registry_that_is_not_configured_is_sent_nothing(
    pml: Any, work: Workspace, registry: Callable[[], Hostile]
) -> None:
    cloud, other = registry(), registry()
    work.use_cloud(cloud.url, KEY)
    ended = pml("publish", "shout.ts", "--to", other.url)
    assert (ended.code, "nor one of its `registries`" in ended.err) == (1, True)
    assert cloud.seen == other.seen == []


@pytest.mark.parametrize(
    ("status", "facts", "words"),
    [
        (400, {"message": "no\x1b[31m\u202e"}, "did not publish `acme.tools.voice.shout`: no\\"),
        (400, {"message": "x" * 5000}, "xxx"),
        (404, {}, "it answers 404 without saying why: is it a registry?"),
        (405, {"message": "no"}, "it answers 405 without saying why"),
        (413, {"message": "no"}, "larger than the registry takes"),
        (418, [], "it answers 418 without saying why"),
        (429, {}, "it was asked too often"),
        (500, {}, "cannot be reached (it answers 500)"),
        (204, {}, "it answers 204 without saying why"),
    ],
)
def test_a_no_is_told_in_words_that_are_bounded_and_escaped(
    pml: Any, work: Workspace, registry: Callable[[], Hostile], status: int, facts: Any, words: str
) -> None:
    one = registry()
    one.says(facts, status)
    work.use_cloud(one.url, KEY)
    ended = pml("publish", "shout.ts")
    assert (ended.code, ended.out, words in ended.err) == (1, "", True), ended.err
    assert len(ended.err) < 1000
    assert "\x1b" not in ended.err
    assert "\u202e" not in ended.err


def test_an_answer_that_is_too_large_or_compressed_is_refused(
    pml: Any, work: Workspace, registry: Callable[[], Hostile]
) -> None:
    one = registry()
    one.body = b"x" * ((64 << 10) + 1)
    work.use_cloud(one.url, KEY)
    ended = pml("publish", "shout.ts")
    assert (ended.code, "its answer is larger than 64 KiB" in ended.err) == (1, True), ended.err
    one.body = gzip.compress(json.dumps(HONEST).encode())
    one.headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    ended = pml("publish", "shout.ts")
    assert (ended.code, "its answer is compressed" in ended.err) == (1, True)


def test_a_registry_that_does_not_answer_is_given_up(
    pml: Any, work: Workspace, registry: Callable[[], Hostile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "SEND_SECONDS", 0.2)
    one, ended = registry(), threading.Event()
    one.before = lambda: ended.wait(30)
    work.use_cloud(one.url, KEY)
    told = pml("publish", "shout.ts")
    ended.set()
    assert (told.code, "no answer within 0.2 s" in told.err) == (1, True)


def test_what_was_published_before_an_error_is_told(
    pml: Any, work: Workspace, registry: Callable[[], Hostile]
) -> None:
    one = registry()
    one.says(HONEST)
    work.write("second.ts", CODE.replace("shout", "other"))
    work.use_cloud(one.url, KEY)
    ended = pml("publish", "shout.ts", "second.ts")
    assert (ended.code, ended.out) == (1, f"{NAME}  published\n")
    assert "says that it published" in ended.err
