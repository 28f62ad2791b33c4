"""Who asks, and the keys that came with the request: used for its calls, kept nowhere.

Keys travel in one header, `X-PML-Keys`: base64url of a JSON object from names to values.
"""

import base64
import binascii
import dataclasses
import json
import re
from collections.abc import Mapping

from pml.cloud.errors import CloudError

CLIENT_HEADER, PACKAGE = "x-pml-client", "package"
KEYS_HEADER = "x-pml-keys"

MOST_KEYS = 50
MOST_KEY_CHARACTERS = 8_000
"""Of all keys together, as a header carries them."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_VALUE = re.compile(r"[ -~]{1,4000}")


class KeysUnreadableError(CloudError):
    """The header of keys cannot be read."""

    code = "keys_unreadable"

    def __init__(self) -> None:
        """Say what it must be; never what it is."""
        super().__init__(
            "`X-PML-Keys` is no base64url of a JSON object from names to printable values"
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Caller:
    """One request's."""

    key: str
    """The id of the API key, for logs."""

    is_package: bool
    """Whether it can run programs itself."""

    keys: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)


def read_keys(header: str) -> dict[str, str]:
    """Read the header of keys; raises `KeysUnreadableError`."""
    if not header:
        return {}
    try:
        if len(header) > MOST_KEY_CHARACTERS:
            raise KeysUnreadableError
        padded = header + "=" * (-len(header) % 4)
        found = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise KeysUnreadableError from None
    if (
        not isinstance(found, dict)
        or len(found) > MOST_KEYS
        or not all(map(_is_key, found.items()))
    ):
        raise KeysUnreadableError
    return found


def _is_key(pair: tuple[object, object]) -> bool:
    name, value = pair
    return (
        isinstance(name, str)
        and isinstance(value, str)
        and _NAME.fullmatch(name) is not None
        and _VALUE.fullmatch(value) is not None
    )
