"""The hash by which a call's arguments are known: in the audit, and in approvals.

Arguments themselves are never written: they may hold secrets. Pure.
"""

import json
from typing import Any

import blake3


def argument_hash(arguments: Any) -> str:
    """Give the blake3 hash of canonical JSON: sorted keys, no spaces, UTF-8.

    Raises ValueError for what JSON has no form for. Two values have one hash only if every
    reader of JSON takes them for the same: `1` and `1.0` differ, the order of keys does not count.
    """
    text = json.dumps(
        arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return blake3.blake3(text.encode(errors="surrogatepass")).hexdigest()
