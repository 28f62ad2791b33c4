"""How a command ends, and the one place where the process's environment comes in."""

import os
from collections.abc import Mapping

DONE, FAILED, USAGE, APPROVAL, INTERRUPTED = 0, 1, 2, 3, 130
"""Done; refused or failed; usage or internal; a human must be asked; interrupted."""


def process_environment() -> Mapping[str, str]:
    """Give a copy: what changes later changes nothing here."""
    return dict(os.environ)  # noqa: TID251 - the edge
