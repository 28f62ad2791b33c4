"""`--args`: JSON on a command line, with errors that name the place."""

import json
from typing import Any, Never

from pml.errors import ArgsInvalidError

_TOO_DEEP = "it is nested too deeply"


def parse_args(text: str | None) -> Any:
    """Read it; nothing given is None."""
    if text is None:
        return None

    def refuse(word: str) -> Never:
        raise ArgsInvalidError(word)

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ArgsInvalidError(error.msg.lower(), line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise ArgsInvalidError(_TOO_DEEP) from None
    except ValueError as error:  # an integer of thousands of digits
        raise ArgsInvalidError(str(error)) from None
