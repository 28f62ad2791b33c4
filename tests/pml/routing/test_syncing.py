"""Tables from a cloud on loopback: fetched once, kept by cloud, and never needed."""

import dataclasses
import http.server
import json
import stat
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import anyio.to_thread
import pytest

from pml.errors import PmlError
from pml.routing import (
    EMBEDDED,
    ROUTING_PATH,
    Answer,
    Routing,
    RoutingCache,
    RoutingTable,
    RoutingTableError,
    parse_table,
    synced,
    syncing,
    table_content,
    table_etag,
)
from pml.routing.reading import MOST_BYTES, MOST_PATTERNS

TABLE = RoutingTable(client=("notes",), server=("maps", "filesystem"), version="1.0.0-abcd")


@dataclasses.dataclass
class Cloud:
    """A real HTTP server that serves one table, with its tag."""

    url: str = ""
    body: bytes = table_content(TABLE)
    etag: str = table_etag(TABLE)
    status: int = 200
    seen: list[str | None] = dataclasses.field(default_factory=list)


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    serving = Cloud()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == ROUTING_PATH
            asked = self.headers.get("If-None-Match")
            serving.seen.append(asked)
            unchanged = serving.status == 200 and asked == serving.etag
            self.send_response(304 if unchanged else serving.status)
            self.send_header("ETag", serving.etag)
            self.end_headers()
            if not unchanged:
                self.wfile.write(serving.body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield serving
    server.shutdown()
    thread.join()
    server.server_close()


class AwayError(PmlError):
    code = "away"


async def fetch(url: str, etag: str | None) -> Answer:
    """The port over the standard library."""

    def get() -> Answer:
        headers = {"If-None-Match": etag} if etag else {}
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - loopback
        try:
            with urllib.request.urlopen(request) as response:  # noqa: S310
                return Answer(response.status, response.read(), response.headers["ETag"])
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read(), error.headers["ETag"])
        except urllib.error.URLError as error:
            raise AwayError(f"nobody answers: {error.reason}") from None

    return await anyio.to_thread.run_sync(get)


@pytest.fixture
def cache(tmp_path: Path) -> RoutingCache:
    return RoutingCache(tmp_path / "state")


async def test_a_table_is_fetched_once_and_then_only_compared_by_its_tag(cloud, cache):
    first = await synced(cloud.url, fetch, cache)
    second = await synced(f"{cloud.url}/", fetch, cache)
    assert cloud.seen == [None, cloud.etag]
    assert first == second
    assert (first.source, first.problem) == ("cloud", None)
    assert first.table.version == "1.0.0-abcd"
    assert first.table.of("maps:search") is Routing.SERVER


async def test_a_changed_table_replaces_the_kept_one(cloud, cache):
    await synced(cloud.url, fetch, cache)
    other = RoutingTable(server=("stars",), version="2")
    cloud.body, cloud.etag = table_content(other), table_etag(other)
    found = await synced(cloud.url, fetch, cache)
    assert found.table.of("stars:near") is Routing.SERVER
    assert found.table.of("maps:search") is Routing.CLIENT


async def test_a_cloud_that_is_away_is_replaced_by_what_it_said_last(cloud, cache):
    await synced(cloud.url, fetch, cache)
    cloud.status, cloud.body = 503, b"no"
    found = await synced(cloud.url, fetch, cache)
    assert found.source == "cache"
    assert found.problem == "the routing table cannot be used: the cloud answered 503"
    assert found.table.of("maps:search") is Routing.SERVER


async def test_without_a_cloud_and_without_a_kept_table_the_embedded_one_decides(cache):
    found = await synced("http://127.0.0.1:1", fetch, cache)
    assert (found.source, found.table) == ("embedded", EMBEDDED)
    assert "nobody answers" in (found.problem or "")


async def test_a_cloud_that_never_answers_holds_nobody_up(cache, monkeypatch):
    async def silent(url: str, etag: str | None) -> Answer:
        await anyio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(syncing, "SYNC_SECONDS", 0.0)
    found = await synced("https://cloud.example", silent, cache)
    assert found.source == "embedded"
    assert "did not answer" in (found.problem or "")


async def test_another_cloud_does_not_use_the_table_of_the_first(cloud, cache):
    await synced(cloud.url, fetch, cache)
    found = await synced("http://127.0.0.1:1", fetch, cache)
    assert found.source == "embedded"


async def test_a_synced_table_cannot_take_the_users_files_away(cloud, cache):
    """Attack: a cloud that routes `filesystem` to itself."""
    found = await synced(cloud.url, fetch, cache)
    assert "filesystem" in found.table.server
    assert found.table.of("filesystem:read_file") is Routing.CLIENT


async def test_a_tag_that_would_write_another_header_is_not_sent_back(cloud, cache):
    """Attack: an entity tag with a line break."""

    async def hostile(url: str, etag: str | None) -> Answer:
        cloud.seen.append(etag)
        return Answer(200, cloud.body, '"x"\r\nX-Api-Key: y')

    await synced(cloud.url, hostile, cache)
    await synced(cloud.url, hostile, cache)
    assert cloud.seen == [None, None]


async def test_a_nothing_changed_without_a_kept_table_is_no_table(cloud, cache):
    cloud.status = 304
    found = await synced(cloud.url, fetch, cache)
    assert found.source == "embedded"


async def test_the_kept_table_is_for_the_user_alone(cloud, cache, tmp_path):
    await synced(cloud.url, fetch, cache)
    (file,) = (tmp_path / "state" / "routing").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"version": 1}', b"\xff"])
async def test_a_damaged_file_counts_as_absent(cloud, cache, tmp_path, damage):
    await synced(cloud.url, fetch, cache)
    (file,) = (tmp_path / "state" / "routing").iterdir()
    file.write_bytes(damage)
    assert cache.load(cloud.url) is None
    assert (await synced(cloud.url, fetch, cache)).source == "cloud"


# --- reading ---------------------------------------------------------------------------------------


def test_a_table_written_and_read_is_the_same():
    assert parse_table(table_content(EMBEDDED)) == EMBEDDED


def test_local_and_cloud_lists_are_read():
    table = parse_table(b'{"local": ["notes:*"], "cloud": ["maps:*"], "default": "local"}')
    assert (table.client, table.server) == (("notes:*",), ("maps:*",))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no JSON object"),
        (b"[" * 100_000, "no JSON object"),
        (b"[]", "no JSON object"),
        (b'{"more": 1}', "unknown key"),
        (b'{"version": 3}', "version"),
        (b'{"default": "server"}', "would leave the machine"),
        (b'{"server": "all"}', "no list"),
        (b'{"server": [1]}', "no pattern"),
        (b'{"server": ["[a-z]*"]}', "no pattern"),
        (b'{"server": [], "cloud": []}', "both"),
        (json.dumps({"server": ["a"] * (MOST_PATTERNS + 1)}).encode(), "at most"),
        (b" " * (MOST_BYTES + 1), "more than"),
    ],
    ids=lambda value: None if isinstance(value, bytes) else value,
)
def test_a_table_that_cannot_be_used_is_refused_with_the_reason(content, reason):
    with pytest.raises(RoutingTableError) as caught:
        parse_table(content)
    assert reason in caught.value.message
