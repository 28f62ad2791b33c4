"""Levels, refusals and records of `confine`, through its public face."""

import dataclasses
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pml.confinement import (
    ConfinementError,
    GrantLeadsOutError,
    GrantMissingError,
    Grants,
    GrantTooWideError,
    HostsNotEnforceableError,
    Level,
    LevelBelowFloorError,
    LevelUnavailableError,
    NetInvalidError,
    PrefixTooWideError,
    ProcessLimits,
    Program,
    Support,
)

POOR = Support(Level.PARTIAL, 0, reason="no Landlock", hint="a newer kernel")


def test_levels_are_ordered() -> None:
    order = [Level.OFF, Level.PARTIAL, Level.LANDLOCK, Level.FULL]
    for weaker, level in enumerate(order):
        for number, other in enumerate(order):
            assert level.at_least(other) is (weaker >= number)


def test_the_best_level_is_taken_unless_told_otherwise(confined) -> None:
    assert confined().level is Level.FULL
    assert confined(level=Level.LANDLOCK).level is Level.LANDLOCK


def test_a_level_below_the_floor_is_refused(confined) -> None:
    with pytest.raises(LevelBelowFloorError) as caught:
        confined(support=POOR)
    assert "no Landlock" in caught.value.message
    assert caught.value.hint == "a newer kernel"
    assert confined(support=POOR, floor=Level.PARTIAL).level is Level.PARTIAL
    with pytest.raises(LevelBelowFloorError):
        confined(level=Level.LANDLOCK, floor=Level.FULL)


def test_off_needs_its_own_word(confined) -> None:
    with pytest.raises(LevelBelowFloorError):
        confined(level=Level.OFF)
    with pytest.raises(LevelBelowFloorError):
        confined(level=Level.OFF, floor=Level.OFF)
    assert confined(level=Level.OFF, allow_off=True).level is Level.OFF


def test_a_level_that_the_machine_cannot_do_is_refused(confined) -> None:
    for level, support in (
        (Level.FULL, POOR), (Level.LANDLOCK, POOR), (Level.LANDLOCK, Support(Level.FULL, 0, Path("/usr/bin/bwrap"), "0.8.0")),
    ):  # fmt: skip
        with pytest.raises(LevelUnavailableError):
            confined(support=support, level=level)


def test_a_prefix_that_would_open_the_home_is_refused(confined, places) -> None:
    """Attack on oneself: `~/bin/node` must not turn into "read all of home"."""
    home = places.user_home
    for folder in (home, home / ".local", home.parent):
        node = folder / "bin" / "node"
        node.parent.mkdir(parents=True, exist_ok=True)
        node.write_text("\x7fELF")
        node.chmod(0o755)
        with pytest.raises(PrefixTooWideError) as caught:
            confined(program=Program(str(node)))
        assert str(folder) in caught.value.message


def test_a_folder_with_keys_in_it_is_somebodys_home(confined, tmp_path) -> None:
    other = tmp_path / "elsewhere"
    (other / ".ssh").mkdir(parents=True)
    (other / "server.py").write_text("")
    with pytest.raises(PrefixTooWideError):
        confined(program=Program(sys.executable, (str(other / "server.py"),)))


def test_a_script_right_in_the_home_is_refused(confined, places) -> None:
    (places.user_home / "server.py").write_text("")
    with pytest.raises(PrefixTooWideError):
        confined(program=Program(sys.executable, (str(places.user_home / "server.py"),)))


def test_a_grant_that_does_not_exist_is_refused(confined, tmp_path) -> None:
    for grants in (Grants(fs_read=(tmp_path / "no",)), Grants(fs_write=(tmp_path / "no",))):
        with pytest.raises(GrantMissingError):
            confined(grants)


def test_a_grant_that_holds_the_home_or_other_servers_is_refused(
    confined, places, tmp_path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(places.user_home)
    for path in (Path("/"), places.user_home, link, places.user_home.parent, places.home.parent):
        for grants in (Grants(fs_read=(path,)), Grants(fs_write=(path,))):
            with pytest.raises(GrantTooWideError):
                confined(grants)


@pytest.mark.parametrize("path", ["/proc", "/proc/self", "/sys/kernel", "/dev", "/dev/null"])
def test_the_kernels_own_files_cannot_be_granted(confined, path) -> None:
    with pytest.raises(GrantTooWideError):
        confined(Grants(fs_read=(Path(path),)))


def test_a_grant_that_a_link_leads_out_of_the_workspace_is_refused(confined, places) -> None:
    """Attack: another server replaces a granted folder by a link to the user's keys."""
    keys = places.user_home / ".ssh"
    keys.mkdir()
    (places.workspace / "x").mkdir()
    (places.workspace / "docs").symlink_to(keys)
    for path in (places.workspace / "docs", Path("docs"), places.workspace / "x" / ".." / "docs"):
        with pytest.raises(GrantLeadsOutError):
            confined(Grants(fs_read=(path,)))


def test_hosts_cannot_be_granted_yet_and_ports_can(confined) -> None:
    for hosts in (("api.github.com:443",), ("*:443", "example.org"), ("*",)):
        with pytest.raises(HostsNotEnforceableError):
            confined(Grants(net=hosts))
    for hosts in (("*:0",), ("*:65536",), ("*:http",), ("*:",)):
        with pytest.raises(NetInvalidError):
            confined(Grants(net=hosts))
    assert "TCP only to ports 5432, 53" in confined(Grants(net=("*:5432",))).enforced
    assert "no sockets" in confined(Grants(net=())).enforced


def test_elsewhere_only_the_environment_is_cleaned(confined, monkeypatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    nothing = Support(Level.OFF, reason="no OS sandbox on darwin yet")
    with pytest.raises(LevelBelowFloorError):
        confined(support=nothing)
    planned = confined(support=nothing, allow_off=True)
    assert planned.argv[1:] == ("-c", "exit 0")
    assert planned.enforced == ("only named environment variables",)
    assert planned.missing == ("everything but environment",)


def test_every_error_has_a_code_of_its_own() -> None:
    classes, codes = [ConfinementError], set()
    for kind in classes:
        classes += kind.__subclasses__()
        codes.add(kind.code)
    assert len(codes) == len(classes)


def test_less_protection_is_never_silent(confined) -> None:
    """What a level does not enforce grows as the level falls."""
    grants = Grants(fs_write=(), spawn=True, net=True)
    full, landlock = confined(grants), confined(grants, level=Level.LANDLOCK)
    partial = confined(grants, level=Level.PARTIAL, floor=Level.PARTIAL)
    assert set(full.missing) < set(landlock.missing) | {
        "programs it writes itself can run, confined as it is"
    }
    assert any("file system" in words for words in partial.missing)
    assert confined(level=Level.OFF, allow_off=True).missing == (
        "everything but environment and limits",
    )


@pytest.mark.parametrize(
    ("abi", "words"),
    [(2, "emptying the user's files"), (5, "signals to the user's other processes"), (3, "which TCP ports it connects to")],
)  # fmt: skip
def test_what_an_old_landlock_lacks_is_said(confined, abi: int, words: str) -> None:
    grants = Grants(spawn=True, net=True)
    old, new = Support(Level.LANDLOCK, abi, reason="old"), Support(Level.LANDLOCK, 7, reason="old")
    assert words in confined(grants, support=old).missing
    assert words not in confined(grants, support=new).missing


def test_the_record_has_what_the_audit_keeps(confined) -> None:
    support = Support(Level.LANDLOCK, 4, reason="bubblewrap is not installed")
    record = confined(support=support).record()
    assert record["level"] == "landlock"
    assert record["wanted"] == "full"
    assert record["reason"] == "bubblewrap is not installed"
    assert record["landlockAbi"] == 4
    assert record["bwrapVersion"] is None
    assert len(record["seccompHash"]) == len(record["policyHash"]) == 64
    assert record["enforced"]
    assert record["missing"]
    assert confined().record()["reason"] is None
    assert confined().record()["bwrapVersion"] == "0.8.0"


def test_the_hash_changes_with_what_is_enforced_and_with_nothing_else(confined, places) -> None:
    base = confined().policy_hash
    assert confined().policy_hash == base
    assert (
        confined(Grants(env={"A": "1"})).policy_hash
        == confined(Grants(env={"A": "2"})).policy_hash
    )
    others = [
        confined(Grants(env={"A": "1"})), confined(Grants(spawn=True)), confined(Grants(net=True)),
        confined(Grants(fs_write=(places.workspace,))), confined(Grants(fs_read=(places.workspace,))),
        confined(Grants(limits=ProcessLimits(memory_bytes=1 << 30))), confined(level=Level.LANDLOCK),
    ]  # fmt: skip
    assert len({base, *(other.policy_hash for other in others)}) == len(others) + 1


def test_a_confinement_that_fails_starts_nothing(confined, support, needs, places) -> None:
    """A newer Landlock than the kernel has: the launcher must not go on without it."""
    needs(Level.LANDLOCK)
    marker = places.home / "started"
    planned = confined(
        program=Program("sh", ("-c", f"echo > {marker}")),
        support=dataclasses.replace(support, best=Level.LANDLOCK, landlock_abi=1000),
    )
    done = subprocess.run(
        planned.argv, env=dict(planned.environment), capture_output=True, text=True, check=False
    )
    assert done.returncode == 125
    assert "cannot start" in done.stderr
    assert not marker.exists()


@pytest.mark.parametrize("level", list(Level))
@pytest.mark.parametrize(("code", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)])
def test_the_exit_status_is_the_servers(confined, support, needs, level, code, status) -> None:
    needs(level)
    planned = confined(
        program=Program("sh", ("-c", code)),
        support=support,
        level=level,
        floor=Level.PARTIAL,
        allow_off=True,
    )
    done = subprocess.run(
        planned.argv,
        env=dict(planned.environment),
        cwd=planned.cwd,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == status


@pytest.mark.parametrize("level", list(Level))
def test_a_pipe_that_closes_ends_a_server_as_usual(confined, support, needs, level) -> None:
    """Python ignores SIGPIPE, and what is ignored is inherited: the launcher must undo that."""
    needs(level)
    planned = confined(
        program=Program("sh", ("-c", "while echo y; do :; done")),
        support=support, level=level, floor=Level.PARTIAL, allow_off=True,
    )  # fmt: skip
    with subprocess.Popen(
        planned.argv, env=dict(planned.environment), stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(10) == 128 + 13


@pytest.mark.parametrize("level", list(Level))
def test_threads_work_without_spawn(confined, support, needs, level) -> None:
    needs(level)
    node = shutil.which("node")
    code = "import threading; t = threading.Thread(target=print, args=('in a thread',)); t.start(); t.join()"
    programs = [Program(str(Path(sys.executable).resolve()), ("-c", code))]
    if node:
        worker = (
            "new (require('worker_threads').Worker)('console.log(`in a thread`)', {eval: true})"
        )
        programs.append(Program(node, ("-e", worker)))
    for program in programs:
        planned = confined(
            program=program, support=support, level=level, floor=Level.PARTIAL, allow_off=True
        )
        done = subprocess.run(
            planned.argv, env=dict(planned.environment), capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "in a thread"
