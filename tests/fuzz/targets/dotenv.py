"""`.env` of a workspace.

Promised: refused with an error of ours or read; what was read can be written, and reads the same;
no value was ever a command or a variable for another reader.
"""

from pathlib import Path

from pml.errors import PmlError
from pml.keys.dotenv import parse_dotenv
from tests.fuzz.oracles import only_ours, shown

FILE = Path(".env")
WORDS = (
    b"export ",
    b"KEY=",
    b"'",
    b'"',
    b"\\",
    b"\\n",
    b"$(",
    b"${",
    b"\\$",
    b"`",
    b"#",
    b" #",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b"=",
    b"\xc2\x85",
)


def one(data: bytes) -> None:
    """Read, write in double quotes, read."""
    text = data.decode(errors="replace")
    with only_ours():
        found = parse_dotenv(text, FILE)
        values = {}
        for name, value in found.items():
            if isinstance(value, PmlError):
                shown(value.message)
            else:
                assert "\0" not in value
                values[name] = value if "'" not in value or "`" not in value else ""
        again = "".join(f"{name}={_quoted(value)}\n" for name, value in values.items())
        if "\r\n" not in again:  # an end of line of another system is one
            assert parse_dotenv(again, FILE) == values


def _quoted(value: str) -> str:
    """Write a value; a backtick beside a single quote has no form."""
    if "'" not in value:
        return f"'{value}'"
    return '"' + "".join(f"\\{c}" if c in '"\\$' else c for c in value) + '"'
