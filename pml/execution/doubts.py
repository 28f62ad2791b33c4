"""Why a call is asked about although a rule allows it: it names a file that looks secret. Pure."""

import urllib.parse
from collections.abc import Iterator
from typing import Any

from pml.secret_files import is_secret_path
from sandbox_host import Call
from sandbox_host.errors import printable


def secret_file(call: Call) -> str | None:
    """Say which argument names a file that holds secrets, and why it seems so."""
    for name, value in call.args.items():
        for text in _texts(value):
            reason = is_secret_path(text)
            if reason is None and "%" in text:
                reason = is_secret_path(urllib.parse.unquote(text))
            if reason is not None:
                return f"`{printable(name, 60)}` names a file that looks secret: {reason}"
    return None


def _texts(value: Any) -> Iterator[str]:
    """Give every text inside a value; a guest's values are nested 200 levels at most."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
