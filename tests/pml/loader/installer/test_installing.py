"""Real npm and pip, against a registry on loopback that the user's own settings name."""

import dataclasses
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import anyio
import pytest

from pml.loader.installer import (
    Installed,
    Installer,
    IntegrityError,
    Machine,
    ManagerMissingError,
    NoWheelError,
    PackageUnknownError,
    RecordDamagedError,
    RegistryUnreachableError,
    Wanted,
    wanted_in,
)
from pml.model import Progress

from .conftest import KEY, SERVER, without
from .registry import Registry

ONCE = Path(__file__).with_name("install_once.py")
NPX, UVX = "npx acme@1.0.0 --flag", "pipx run acme==1.0.0 --flag"
BIN = {"acme": "bin/index.js"}


def publish(registry: Registry) -> None:
    registry.offer_npm("acme", "1.0.0", {"bin/index.js": SERVER}, bin=BIN)
    registry.wheel("acme", "1.0.0", {"acme.py": "def main(): print('served')\n"}, "acme:main")


async def installed(installer: Installer, command: str) -> tuple[Installed, Wanted]:
    wanted = wanted_in(command)
    package = await installer.resolve(wanted)
    return await installer.install(package, wanted.manager), wanted


def output(command: tuple[str, ...]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def left_over(machine: Machine) -> list[str]:
    """Give what is in the store beside packages and locks."""
    return [path.name for path in machine.packages.glob("*/.*") if path.suffix != ".lock"]


@pytest.mark.parametrize("command", [NPX, UVX])
async def test_a_package_is_installed_verified_and_started_directly(
    installer: Installer, registry: Registry, command: str
) -> None:
    publish(registry)
    made, wanted = await installed(installer, command)
    verified = installer.verify(made, wanted)
    assert verified.command[-1] == "--flag"
    assert not any(word.endswith(("npx", "npm", "uvx", "pip")) for word in verified.command)
    assert output(verified.command) == "served"


async def test_what_is_installed_is_not_fetched_again(
    installer: Installer, registry: Registry
) -> None:
    publish(registry)
    first, _ = await installed(installer, NPX)
    second, _ = await installed(installer, NPX)
    assert first == second
    assert len(registry.fetched) == 1


async def test_scripts_of_packages_are_not_run(
    installer: Installer, registry: Registry, tmp_path: Path
) -> None:
    """An attack: a package, and one that it depends on, that run code when they are installed."""
    evil = dict.fromkeys(("preinstall", "install", "postinstall", "prepare"), "touch ran")
    registry.offer_npm("deep", "1.0.0", {}, scripts=evil)
    registry.offer_npm(
        "acme", "1.0.0", {"bin/index.js": SERVER}, bin=BIN, scripts=evil,
        dependencies={"deep": "1.0.0"},
    )  # fmt: skip
    made, _ = await installed(installer, NPX)
    assert (made.tree / "node_modules" / "deep" / "package.json").is_file()
    assert list(tmp_path.rglob("ran")) == []


async def test_source_distributions_are_not_built(
    installer: Installer, registry: Registry, machine: Machine, tmp_path: Path
) -> None:
    """An attack: a package without a wheel, whose setup.py runs when pip looks at it."""
    registry.source("acme", "1.0.0", f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(NoWheelError) as caught:
        await installed(installer, UVX)
    assert "source distributions are not installed" in str(caught.value.hint)
    assert registry.fetched == []
    assert not (tmp_path / "ran").exists()
    assert left_over(machine) == []


@pytest.mark.parametrize("command", ["npx acme", "npx acme@^1", "pipx run acme"])
async def test_what_is_not_pinned_becomes_one_version(
    installer: Installer, registry: Registry, command: str
) -> None:
    publish(registry)
    package = await installer.resolve(wanted_in(command))
    assert (package.name, package.version) == ("acme", "1.0.0")
    assert not any(path.endswith(".tgz") for path in registry.fetched)


async def test_a_range_takes_the_version_that_npm_would_take(
    installer: Installer, registry: Registry
) -> None:
    for version in ("1.0.0", "1.2.0", "1.10.0", "2.0.0"):
        registry.offer_npm("acme", version, {"bin/index.js": SERVER}, bin=BIN)
    found = [
        (await installer.resolve(wanted_in(f"npx acme{asked}"))).version
        for asked in ("@^1", "@>=1", "@1.2.x")
    ]
    assert found == ["1.10.0", "2.0.0", "1.2.0"]


FLIPS = {"npm": (NPX, "node_modules/acme/bin/index.js"), "pypi": (UVX, "lib/*/*/acme.py")}


@pytest.mark.parametrize(("command", "file"), FLIPS.values(), ids=FLIPS)
async def test_one_flipped_byte_is_found_even_with_its_time_put_back(
    installer: Installer, registry: Registry, command: str, file: str
) -> None:
    publish(registry)
    made, wanted = await installed(installer, command)
    _age(made, installer, wanted)
    [path] = made.tree.glob(file)
    facts, content = path.stat(), path.read_bytes()
    with path.open("r+b") as opened:
        opened.write(bytes([content[0] ^ 1]))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    with pytest.raises(IntegrityError) as caught:
        installer.verify(made, wanted, name="memory")
    first, second = caught.value.message.split("\n")
    assert first == "Integrity check failed for memory@1.0.0"
    assert second == f"Expected {made.tree_integrity}, got {caught.value.actual}"
    assert caught.value.actual.startswith("sha256-")
    path.write_bytes(content)
    assert installer.verify(made, wanted).tree_integrity == made.tree_integrity


def _age(made: Installed, installer: Installer, wanted: Wanted) -> None:
    """Have a stamp kept as if the package had been installed long ago."""
    from pml.loader.installer import trees  # noqa: PLC0415 - only here

    before = trees._SETTLED_NS
    trees._SETTLED_NS = -(1 << 62)
    try:
        installer.verify(made, wanted)
    finally:
        trees._SETTLED_NS = before
    assert made.tree.with_name("stamp").is_file()


async def test_a_known_stamp_saves_reading_and_a_forged_one_does_not_count(
    installer: Installer, registry: Registry
) -> None:
    publish(registry)
    made, wanted = await installed(installer, NPX)
    installer.verify(made, wanted)
    assert not made.tree.with_name("stamp").exists()  # too new: a write in this tick is unseen
    _age(made, installer, wanted)
    stamp = made.tree.with_name("stamp")
    stamp.write_bytes(stamp.read_bytes().replace(b"sha256-", b"sha256_"))
    with pytest.raises(RecordDamagedError):
        installer.verify(made, wanted)


@pytest.mark.parametrize("what", ["tree", "tree/node_modules/acme"])
async def test_a_package_that_is_gone_is_not_started(
    installer: Installer, registry: Registry, what: str, tmp_path: Path
) -> None:
    publish(registry)
    made, wanted = await installed(installer, NPX)
    made.tree.parent.joinpath(what).rename(tmp_path / "away")
    with pytest.raises(IntegrityError):
        installer.verify(made, wanted)


async def test_a_damaged_package_is_installed_anew(
    installer: Installer, registry: Registry, machine: Machine
) -> None:
    publish(registry)
    made, wanted = await installed(installer, NPX)
    (made.tree / "node_modules" / "acme" / "bin" / "index.js").write_text("evil()")
    again, _ = await installed(installer, NPX)
    assert again == made
    assert installer.verify(again, wanted)
    assert left_over(machine) == []


async def test_another_package_in_a_good_ones_place_is_found(
    installer: Installer, registry: Registry
) -> None:
    """An attack: the right hash for another package."""
    publish(registry)
    registry.offer_npm("other", "1.0.0", {"bin/index.js": "evil()"}, bin={"other": "bin/index.js"})
    made, wanted = await installed(installer, NPX)
    other, _ = await installed(installer, "npx other@1.0.0")
    made.tree.parent.rename(made.tree.parent.with_name("aside"))
    other.tree.parent.rename(made.tree.parent)
    with pytest.raises(IntegrityError):
        installer.verify(made, wanted)
    with pytest.raises(RecordDamagedError):
        await installed(installer, NPX)


@pytest.mark.parametrize("command", [NPX, UVX])
async def test_a_hash_that_a_registry_promises_is_compared_before_anything_is_kept(
    installer: Installer, registry: Registry, machine: Machine, command: str
) -> None:
    publish(registry)
    package = wanted_in(command).exact
    assert package is not None
    with pytest.raises(IntegrityError) as caught:
        await installer.install(package, "pip", name="memory", expected="sha256-abc123")
    assert caught.value.message == (
        "Integrity check failed for memory@1.0.0\n"
        f"Expected sha256-abc123, got {caught.value.actual}"
    )
    assert list(machine.packages.glob("*/acme*")) == []
    assert left_over(machine) == []
    made = await installer.install(package, "pip", expected=caught.value.actual)
    assert made.integrity == caught.value.actual


async def test_the_same_version_with_other_content_has_another_hash(
    installer: Installer, machine: Machine, registry: Registry, tmp_path: Path
) -> None:
    """An attack: a version that was published again, or a mirror that serves another."""
    publish(registry)
    made, _ = await installed(installer, NPX)
    registry.offer_npm("acme", "1.0.0", {"bin/index.js": f"{SERVER}// evil\n"}, bin=BIN)
    elsewhere = Installer(
        Machine(machine.environ, machine.user_home, machine.support, tmp_path / "new"), KEY
    )
    with pytest.raises(IntegrityError):
        await elsewhere.install(made.package, "npm", expected=made.integrity)


@pytest.mark.parametrize("command", ["npx nobody@1.0.0", "npx acme@9.9.9", "npx nobody"])
async def test_a_package_that_is_not_there_is_named(
    installer: Installer, registry: Registry, machine: Machine, command: str
) -> None:
    publish(registry)
    with pytest.raises(PackageUnknownError, match=r"nobody|acme@9\.9\.9"):
        await installed(installer, command)
    assert left_over(machine) == []


@pytest.mark.parametrize("command", [NPX, UVX, "npx acme"])
async def test_without_a_registry_the_error_says_to_restore_the_connection(
    machine: Machine, registry: Registry, command: str
) -> None:
    registry.close()
    with pytest.raises(RegistryUnreachableError) as caught:
        await installed(Installer(machine, KEY), command)
    assert "restore the connection" in str(caught.value.hint)


async def test_what_is_installed_works_without_a_registry(
    installer: Installer, registry: Registry
) -> None:
    publish(registry)
    made, wanted = await installed(installer, NPX)
    registry.close()
    assert (await installed(installer, NPX))[0] == made
    assert output(installer.verify(made, wanted).command) == "served"


async def test_without_npm_the_error_says_what_to_install(machine: Machine) -> None:
    with pytest.raises(ManagerMissingError, match="npm is needed") as caught:
        await installed(Installer(without(machine, "npm"), KEY), NPX)
    assert "Node.js" in str(caught.value.hint)


async def test_uvx_with_uv_gives_the_same_package(machine: Machine, registry: Registry) -> None:
    publish(registry)
    folder = machine.user_home / ".config" / "uv"
    folder.mkdir()
    (folder / "uv.toml").write_text(f'index-url = "{registry.url}/simple/"\n', encoding="utf-8")
    path = f"{sysconfig.get_path('scripts')}:{machine.environ['PATH']}"
    with_uv = dataclasses.replace(machine, environ={**machine.environ, "PATH": path})
    installer = Installer(with_uv, KEY)
    made, wanted = await installed(installer, "uvx acme --flag")
    assert (machine.packages / "home" / "uv" / "cache").is_dir()
    assert output(installer.verify(made, wanted).command) == "served"
    elsewhere = dataclasses.replace(machine, packages=machine.packages / "pip")
    by_pip, _ = await installed(Installer(elsewhere, KEY), UVX)
    assert by_pip.integrity == made.integrity


async def test_uvx_without_uv_is_done_by_pip(machine: Machine, registry: Registry) -> None:
    publish(registry)
    made, _ = await installed(Installer(without(machine, "uv"), KEY), "uvx acme@1.0.0")
    assert (made.tree / "bin" / "acme").is_file()


async def test_one_of_several_programs_is_started_by_name(
    installer: Installer, registry: Registry
) -> None:
    other = "#!/usr/bin/env node\nconsole.log('other')\n"
    registry.offer_npm(
        "acme", "1.0.0", {"a.js": SERVER, "b.js": other}, bin={"acme": "a.js", "b": "b.js"}
    )
    made, wanted = await installed(installer, "npx acme@1.0.0")
    assert output(installer.verify(made, wanted).command) == "served"
    second = wanted_in("npx -p acme@1.0.0 b")
    assert output(installer.verify(made, second).command) == "other"


async def test_the_users_keys_do_not_reach_the_package_manager(
    installer: Installer, machine: Machine, registry: Registry
) -> None:
    """The manager sees a token only if the user's settings for it name it."""
    publish(registry)
    host = registry.url.removeprefix("http:")
    with (machine.user_home / ".npmrc").open("a") as file:
        file.write(f"{host}/:_authToken=${{SECRET_KEY}}\n")
    await installed(installer, NPX)
    assert any("s3cr3t" in header.get("authorization", "") for header in registry.headers)
    (machine.user_home / ".npmrc").write_text(f"registry={registry.url}/\n")
    registry.headers.clear()
    registry.offer_npm("acme", "2.0.0", {"bin/index.js": SERVER}, bin=BIN)
    await installed(installer, "npx acme@2.0.0")
    assert registry.headers
    assert not any("s3cr3t" in str(header) for header in registry.headers)


async def test_progress_is_told_from_begin_to_end_and_never_backwards(
    installer: Installer, registry: Registry
) -> None:
    publish(registry)
    told: list[Progress] = []
    wanted = wanted_in("npx acme")
    package = await installer.resolve(wanted, told.append)
    await installer.install(package, "npm", on_progress=told.append)
    done = [one.done for one in told]
    assert done == sorted(done)
    assert (told[0].done, told[-1].done, told[-1].total) == (0, 100, 100)
    assert len(done) > 5
    assert "acme@1.0.0" in str(told[-1].message)


def _process(machine: Machine) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, ONCE, NPX, machine.user_home, machine.packages],
        stdout=subprocess.PIPE, text=True, env=dict(machine.environ),
    )  # fmt: skip


async def test_a_process_killed_in_the_middle_leaves_nothing_that_counts(
    installer: Installer, machine: Machine, registry: Registry
) -> None:
    publish(registry)
    registry.hold()
    with _process(machine) as process:
        assert await anyio.to_thread.run_sync(registry.reached.wait, 60)
        process.kill()
    assert list(machine.packages.glob("npm/acme*")) == []
    assert len(left_over(machine)) == 1
    registry.released.set()
    made, wanted = await installed(installer, NPX)
    assert output(installer.verify(made, wanted).command) == "served"
    assert left_over(machine) == []


async def test_a_cancelled_installation_leaves_nothing(
    installer: Installer, machine: Machine, registry: Registry
) -> None:
    publish(registry)
    registry.hold()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(installed, installer, NPX)
        assert await anyio.to_thread.run_sync(registry.reached.wait, 60)
        tasks.cancel_scope.cancel()
    assert list(machine.packages.glob("npm/acme*")) == []
    assert left_over(machine) == []


async def test_two_processes_at_once_end_with_one_good_package(
    installer: Installer, machine: Machine, registry: Registry
) -> None:
    publish(registry)
    registry.hold()
    with _process(machine) as first:
        assert await anyio.to_thread.run_sync(registry.reached.wait, 60)
        with _process(machine) as second:
            registry.released.set()
            hashes = {first.communicate()[0], second.communicate()[0]}
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(registry.fetched) == 1
    made, wanted = await installed(installer, NPX)
    assert hashes == {made.tree_integrity}
    assert installer.verify(made, wanted)
    assert left_over(machine) == []
