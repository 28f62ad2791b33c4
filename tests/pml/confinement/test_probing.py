"""What is found where something is missing: emulated for a child, without touching the machine."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pml.confinement import Level, probe

ROOT = Path(__file__).resolve().parents[3]
ENVIRON = dict(os.environ)

TELL = """
import json, os, sys
sys.path.insert(0, {root!r})
{before}
from pml.confinement import probe
support = probe({{"PATH": "/usr/bin:/bin"}})
print(json.dumps([support.best, support.landlock_abi, support.reason, support.hint]))
"""

REFUSE_LANDLOCK = """
import struct
from pml.confinement.child import kernel
def filtered(*instructions):
    kernel.no_new_privileges()
    kernel.filter_calls(b"".join(struct.pack("=HBBI", *one) for one in instructions))
# load the number; landlock_create_ruleset (444) fails; all else is allowed
filtered((0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50000 | {code}), (0x06, 0, 0, 0x7FFF0000))
"""


def probed(before: str = "", wrapper: tuple[str, ...] = ()) -> list:
    code = TELL.format(root=str(ROOT), before=before)
    done = subprocess.run(
        [*wrapper, sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_machine_is_asked_and_not_guessed() -> None:
    support = probe(ENVIRON)
    assert (support.best is Level.FULL) == (support.reason is None)
    if support.best is Level.FULL:
        assert support.bwrap is not None
        assert support.bwrap_version


def test_without_bubblewrap_landlock_is_the_best(tmp_path: Path) -> None:
    support = probe({"PATH": str(tmp_path)})
    assert support.best is (Level.LANDLOCK if support.landlock_abi else Level.PARTIAL)
    assert support.bwrap is None
    assert support.reason == "bubblewrap is not installed"
    assert "install bubblewrap" in str(support.hint)


def test_a_bubblewrap_in_the_current_folder_is_not_taken(tmp_path: Path, monkeypatch) -> None:
    """Attack: a cloned repository brings its own `bwrap`, and PATH has an entry such as `./bin`."""
    (tmp_path / "bin").mkdir()
    shutil.copy("/bin/true", tmp_path / "bin" / "bwrap")
    monkeypatch.chdir(tmp_path)
    assert probe({"PATH": "./bin:bin:"}).bwrap != tmp_path / "bin" / "bwrap"


@pytest.mark.parametrize("code", [38, 95], ids=["not built", "switched off"])
def test_without_landlock_and_bubblewrap_little_is_left(code: int) -> None:
    before = REFUSE_LANDLOCK.format(code=code)
    best, abi, *_ = probed(before)
    assert abi == 0
    with_bwrap = shutil.which("bwrap", path="/usr/bin:/bin")
    assert best in {"partial", "full"} if with_bwrap else best == "partial"


def test_a_bubblewrap_that_is_refused_is_told_apart_from_a_missing_one(needs) -> None:
    """Inside a sandbox that allows no further user namespaces."""
    needs(Level.FULL)
    wrapper = (
        "bwrap", "--unshare-user", "--disable-userns", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
    )  # fmt: skip
    best, abi, reason, hint = probed(wrapper=wrapper)
    assert best == ("landlock" if abi else "partial")
    assert "user namespaces" in reason or "bubblewrap does not work here" in reason
    assert hint


def test_a_bubblewrap_that_hangs_or_is_none_is_survived(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    fake.chmod(0o755)
    support = probe({"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert support.best is not Level.FULL
    assert "no" in str(support.reason)


def test_elsewhere_there_is_no_sandbox(monkeypatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    support = probe({})
    assert support.best is Level.OFF
    assert support.reason == "no OS sandbox on darwin yet"
