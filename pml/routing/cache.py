"""The last table of each cloud, in the user's state: another cloud never answers for this one.

Private to the user. A file that is damaged, of another cloud or too large counts as absent.
"""

import base64
import contextlib
import dataclasses
import json
from pathlib import Path

import blake3

from pml.places import private_folder, write_private
from pml.routing.errors import RoutingTableError
from pml.routing.reading import MOST_BYTES, parse_table
from pml.routing.resolver import RoutingTable

_VERSION = 1
_FOLDER = "routing"
_NAME_CHARACTERS = 32  # of the hash of an address: 128 bits
_MOST_FILE_BYTES = 2 * MOST_BYTES  # base64, and the frame


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """What a cloud once sent."""

    table: RoutingTable
    etag: str | None


class RoutingCache:
    """The tables of all clouds that this user has used."""

    def __init__(self, state: Path) -> None:
        """Take the user's state folder; nothing is made before something is saved."""
        self._folder = state / _FOLDER

    def load(self, cloud_url: str) -> Kept | None:
        """Give what this very cloud sent last; None if nothing can be used."""
        try:
            with self._path(cloud_url).open("rb") as file:
                facts = json.loads(file.read(_MOST_FILE_BYTES))
            if (facts["version"], facts["cloud"]) != (_VERSION, cloud_url):
                return None
            etag = facts["etag"]
            table = parse_table(base64.b64decode(facts["table"], validate=True))
        except (OSError, ValueError, KeyError, TypeError, RecursionError, RoutingTableError):
            return None
        return Kept(table, etag if isinstance(etag, str) else None)

    def save(self, cloud_url: str, content: bytes, etag: str | None) -> None:
        """Keep a table that was read, as it came; what cannot be kept is fetched again."""
        facts = {
            "version": _VERSION,
            "cloud": cloud_url,
            "etag": etag,
            "table": base64.b64encode(content).decode(),
        }
        with contextlib.suppress(OSError):
            private_folder(self._folder)
            write_private(self._path(cloud_url), json.dumps(facts).encode())

    def _path(self, cloud_url: str) -> Path:
        name = blake3.blake3(cloud_url.encode()).hexdigest()[:_NAME_CHARACTERS]
        return self._folder / f"{name}.json"
