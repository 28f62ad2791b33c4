"""`pml trust` on a real terminal: what it shows, whom it believes."""

import dataclasses
import json
import os
import select
import subprocess
import sys
import time

import pytest

CONFIG = {
    "permissions": {"allow": ["s:read"], "deny": ["s:delete"]},
    "mcpServers": {"s": {"command": "sh", "args": ["-c", "\x1b[2Jevil"], "env": {"KEY": "abcdefgh"}}},
}  # fmt: skip

PML = """
import sys
import typer
from pml.cli.console import Console
from pml.cli.trust import trust
from pml.errors import PmlError

app = typer.Typer(add_completion=False, rich_markup_mode=None)
app.callback()(lambda: None)
app.command("trust")(trust)
console = Console.standard(sys.stdout, sys.stderr, {"TERM": "xterm"} if "--colour" in sys.argv else {"NO_COLOR": "1"})
try:
    code = app([one for one in sys.argv[1:] if one != "--colour"], obj=console, standalone_mode=False)
except PmlError as error:
    console.error(error.message, hint=error.hint)
    code = 1
sys.exit(code)
"""


@dataclasses.dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str = ""


@pytest.fixture
def environ(folder):
    kept = {name: os.environ[name] for name in ("PATH", "VIRTUAL_ENV") if name in os.environ}
    return {**kept, "HOME": str(folder.home), **folder.environ}


@pytest.fixture
def piped(folder, environ):
    def run(*arguments: str, stdin: str = "", **env: str) -> Ended:
        command = ["setsid", "--wait", sys.executable, "-c", PML, "trust", *arguments]
        done = subprocess.run(
            command, input=stdin.encode(), capture_output=True, cwd=folder.path,
            env=environ | env, check=False, timeout=60,
        )  # fmt: skip
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


def received(descriptor: int, until: str) -> str:
    text = ""
    deadline = time.monotonic() + 60
    while until not in text:
        ready, _, _ = select.select([descriptor], [], [], max(0, deadline - time.monotonic()))
        assert ready, f"no {until!r} in {text!r}"
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not part:
            break
        text += part.decode()
    return text.replace("\r\n", "\n")


@pytest.fixture
def typed(folder, environ):
    """`pml trust` with a terminal of its own, at which somebody types an answer to the question."""

    def run(answer: str, *arguments: str, before: str = "", during=lambda: None) -> Ended:
        parent, child = os.openpty()
        if before:
            os.write(parent, before.encode())
        process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", sys.executable, "-c", PML, "trust", *arguments],
            stdin=child, stdout=child, stderr=child, cwd=folder.path, env=environ,
        )  # fmt: skip
        os.close(child)
        try:
            text = received(parent, "[y/N] ")
            if "[y/N]" in text:
                during()
                os.write(parent, answer.encode())
                text += received(parent, "never said")
            return Ended(process.wait(60), text)
        finally:
            os.close(parent)

    return run


def test_the_whole_way_from_a_clone_to_a_trusted_workspace(folder, typed, piped):
    folder.write(CONFIG)
    before = piped("--show")
    assert before.code == 3
    assert "not trusted yet" in before.out
    asked = typed("y\n")
    assert asked.code == 0
    assert "trusted" in asked.out
    assert folder.use().changes == ()
    after = piped("--show")
    assert (after.code, after.out.splitlines()[-1]) == (
        0,
        "the configuration is as you trusted it",
    )


def test_the_question_shows_what_would_run_escaped_and_without_keys(folder, typed):
    folder.write(CONFIG)
    text = typed("n\n").out
    assert "mcpServers.s.command: server `s` has this command\n    + sh\n" in text
    assert '+ ["-c", "\\u001b[2Jevil"]' in text
    assert "permissions.allow: `s:read` would be called without asking" in text
    assert "+ (8 characters not shown)" in text
    assert "abcdefgh" not in text
    assert all(c.isprintable() or c in "\n\t" for c in text)


def test_on_a_terminal_with_colour_the_signs_are_still_there(folder, typed):
    folder.trust(CONFIG)
    folder.write(CONFIG | {"permissions": {"allow": ["s:write"]}})
    text = typed("n\n", "--colour").out
    assert "\x1b[32m+ s:write\x1b[0m" in text
    assert "\x1b[31m- s:delete\x1b[0m" in text


@pytest.mark.parametrize("answer", ["\n", "n\n", "yess\n", "\x04", "yes please\n"])
def test_anything_but_yes_trusts_nothing(folder, typed, answer):
    folder.write(CONFIG)
    assert typed(answer).code == 1
    assert folder.use().config.permissions.allow == ()


def test_what_was_typed_before_the_question_is_no_answer(folder, typed):
    """Attack: a program that the user started before leaves `y` in the terminal's buffer."""
    folder.write(CONFIG)
    assert typed("\n", before="y\ny\n").code == 1
    assert not folder.use().is_trusted


@pytest.mark.parametrize("stdin", ["y\n", ""])
@pytest.mark.parametrize("variable", ["PML_TRUST", "PML_YES", "CI"])
def test_without_a_terminal_nothing_is_trusted(folder, piped, stdin, variable):
    """Attack: a model with a shell runs the command, answers on stdin, sets variables."""
    folder.write(CONFIG)
    ended = piped(stdin=stdin, **{variable: "always"})
    assert ended.code == 3
    assert "no terminal" in ended.err
    assert not folder.store.state.exists()


@pytest.mark.parametrize("option", ["--yes", "-y", "--force"])
def test_there_is_no_option_that_answers_beforehand(folder, piped, option):
    folder.write(CONFIG)
    assert piped(option).code != 0
    assert not folder.use().is_trusted


def test_what_is_trusted_is_what_was_shown(folder, typed):
    """Attack: the file is changed while the human reads."""
    folder.write(CONFIG)
    evil = CONFIG | {"permissions": {"allow": ["*"]}}
    assert typed("y\n", during=lambda: folder.write(evil)).code == 0
    effect = folder.use()
    assert effect.config.permissions.allow == ("s:read",)
    assert [change.new for change in effect.waiting if change.path == "permissions.allow"] == ["*"]


def test_data_for_machines_tells_the_same_and_trusts_nothing(folder, piped):
    folder.trust(CONFIG)
    folder.write(CONFIG | {"permissions": {"allow": ["*"], "deny": ["s:delete"]}})
    ended = piped("--json")
    assert ended.code == 3
    document = json.loads(ended.out)
    assert document["trusted"] is True
    assert document["changes"] == [
        {
            "path": "permissions.allow", "kind": "loosened", "waits": True, "old": None, "new": "*",
            "sentence": "`*` would be called without asking",
        }
    ]  # fmt: skip


def test_a_tightening_can_be_made_to_stay(folder, typed):
    """Whoever writes the file could undo it, back to what was trusted."""
    folder.trust(CONFIG)
    folder.write(CONFIG | {"permissions": {"deny": ["s:delete"]}})
    assert "applies already" in typed("y\n").out
    assert folder.use(CONFIG).config.permissions.allow == ()


def test_a_damaged_record_is_told_in_the_question(folder, typed):
    folder.trust(CONFIG)
    folder.store.path.write_text("{}")
    ended = typed("y\n")
    assert "does not count" in ended.out
    assert ended.code == 0
    assert folder.use().changes == ()


def test_a_broken_file_is_an_error(folder, piped):
    folder.write("{")
    assert piped("--show").code == 1
