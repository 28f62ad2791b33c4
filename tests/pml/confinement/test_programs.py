"""From a command to the file that runs and the folders it needs; on real files in a folder of the test's own."""

import os
import sys
import venv
from pathlib import Path

import pytest

from pml.confinement import (
    CommandNotFoundError,
    CommandUnreadableError,
    PackageRunnerError,
    Places,
    Program,
    ShimError,
)
from pml.confinement.programs import Resolved, resolve

PYTHON = os.path.realpath(sys.executable)


def executable(path: Path, content: str = "\x7fELF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)
    return path


@pytest.fixture
def find(places: Places, tmp_path: Path):
    def find(
        command: str, *args: str, path: str = "/usr/bin:/bin", may_install: bool = False
    ) -> Resolved:
        return resolve(Program(command, args), path=path, places=places, may_install=may_install)

    return find


def test_a_program_of_the_system_needs_no_folder_of_its_own(find) -> None:
    found = find("sh", "-c", "exit 0")
    assert found.file == Path("/bin/sh").resolve()
    assert found.argv[1:] == ("-c", "exit 0")
    assert found.packages == ()


def test_a_command_that_is_not_there_is_named(find) -> None:
    for command in ("no-such-program", "", "/no/such/program", "./nothing", "a\0b"):
        with pytest.raises(CommandNotFoundError) as caught:
            find(command)
        assert caught.value.hint


def test_a_relative_command_is_looked_up_in_the_workspace(find, places: Places) -> None:
    server = executable(places.workspace / "bin" / "server")
    assert find("bin/server").file == server.resolve()


def test_a_folder_or_a_file_without_permission_is_no_program(find, tmp_path: Path) -> None:
    (tmp_path / "bin" / "folder").mkdir(parents=True)
    (tmp_path / "bin" / "plain").write_text("x")
    for command in ("folder", "plain"):
        with pytest.raises(CommandNotFoundError):
            find(command, path=str(tmp_path / "bin"))


def test_an_interpreter_outside_the_system_brings_its_prefix(find, tmp_path: Path) -> None:
    node = executable(tmp_path / "nvm" / "v20" / "bin" / "node")
    link = tmp_path / "links" / "node"
    link.parent.mkdir()
    link.symlink_to(node)
    found = find("node", "-e", "1", path=str(link.parent))
    assert found.file == node
    assert found.argv[0] == str(node), "the link itself will not be visible"
    assert found.prefixes == (tmp_path / "nvm" / "v20",)


def test_a_lone_program_in_the_home_brings_only_itself(find, places: Places) -> None:
    server = executable(places.user_home / ".local" / "bin" / "server")
    assert find(str(server)).prefixes == (server,)


def test_a_script_brings_its_interpreter_and_its_package(find, tmp_path: Path) -> None:
    node = executable(tmp_path / "node" / "bin" / "node")
    package = tmp_path / "app" / "node_modules" / "outer" / "node_modules" / "inner"
    script = executable(package / "cli.js", "#!/usr/bin/env node\n")
    link = tmp_path / "app" / "node_modules" / ".bin" / "cli"
    link.parent.mkdir()
    link.symlink_to(script)
    found = find(str(link), "--flag", path=f"{node.parent}:/usr/bin")
    assert found.file == node
    assert found.argv == (str(node), str(script), "--flag")
    assert found.packages == (tmp_path / "app" / "node_modules",)
    assert found.prefixes == (tmp_path / "node",)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("#!/usr/bin/env -S node --harmony  --x", ["--harmony", "--x"]),
        ("#! /usr/bin/env node", []),
        ("#!{node} --a --b", ["--a --b"]),
        ("#!/usr/bin/env -Snode --x", ["--x"]),
    ],
)
def test_the_first_line_is_read_as_the_kernel_and_env_do(
    find, tmp_path: Path, line, words
) -> None:
    node = executable(tmp_path / "node" / "bin" / "node")
    script = executable(tmp_path / "app" / "server.js", line.format(node=node) + "\ncode")
    found = find(str(script), path=f"{node.parent}:/usr/bin")
    assert found.argv == (str(node), *words, str(script))
    assert found.packages == (script.parent,)


def test_a_first_line_that_names_nothing_is_refused(find, tmp_path: Path) -> None:
    with pytest.raises(CommandUnreadableError):
        find(str(executable(tmp_path / "a", "#!\n")))
    with pytest.raises(CommandUnreadableError):
        find(str(executable(tmp_path / "b", "#!/usr/bin/env\n")))
    with pytest.raises(CommandNotFoundError):
        find(str(executable(tmp_path / "c", "#!/no/such/interpreter\n")))


def test_scripts_that_interpret_each_other_without_end_are_refused(find, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    executable(loop, f"#!{loop}\n")
    with pytest.raises(CommandUnreadableError):
        find(str(loop))


def test_a_node_program_brings_the_folder_of_its_package(find, tmp_path: Path) -> None:
    node = executable(tmp_path / "node" / "bin" / "node")
    package = tmp_path / "server"
    (package / "dist").mkdir(parents=True)
    (package / "package.json").write_text("{}")
    (package / "dist" / "index.js").write_text("")
    for args in (
        ("dist/index.js",), ("--enable-source-maps", "dist/index"), ("-r", "./pre.js", "dist/index.js", "x"),
    ):  # fmt: skip
        words = [str(package / word) if word.startswith("dist") else word for word in args]
        assert find(str(node), *words).packages == (package,)


def test_a_python_program_brings_its_project_or_its_folder(find, tmp_path: Path) -> None:
    lone, project = tmp_path / "lone" / "server.py", tmp_path / "project" / "src" / "server.py"
    for script in (lone, project):
        script.parent.mkdir(parents=True)
        script.write_text("")
    (tmp_path / "project" / "pyproject.toml").write_text("")
    assert find(PYTHON, str(lone)).packages == (lone.parent,)
    assert find(PYTHON, "-X", "utf8", "-u", str(project)).packages == (tmp_path / "project",)


def test_a_marker_left_in_the_home_makes_no_package_of_the_home(find, places: Places) -> None:
    script = places.workspace / "tools" / "server.js"
    script.parent.mkdir()
    script.write_text("")
    (places.user_home / "package.json").write_text("{}")
    node = executable(places.user_home.parent / "node" / "bin" / "node")
    assert find(str(node), str(script)).packages == (script.parent,)


def test_arguments_of_a_module_or_of_inline_code_are_no_program(find, tmp_path: Path) -> None:
    for args in (("-m", "server"), ("-c", "pass")):
        assert find(PYTHON, *args, str(tmp_path)).packages == ()


def test_a_script_of_a_virtual_environment_keeps_its_environment(find, tmp_path: Path) -> None:
    made = tmp_path / "made"
    venv.create(made, symlinks=True)
    script = executable(made / "bin" / "server", f"#!{made}/bin/python\n")
    found = find(str(script))
    assert found.argv == (str(made / "bin" / "python"), str(script))
    assert found.file == Path(PYTHON)
    assert made in found.prefixes
    assert Path(PYTHON).parent.parent in {path.resolve() for path in found.prefixes}


@pytest.mark.parametrize("command", ["npx", "uvx", "npm", "pipx"])
def test_a_command_that_installs_needs_net_and_spawn(find, tmp_path: Path, command: str) -> None:
    executable(tmp_path / "bin" / command)
    with pytest.raises(PackageRunnerError) as caught:
        find(command, "server", path=str(tmp_path / "bin"))
    assert '"net": true, "spawn": true' in str(caught.value.hint)
    assert find(command, "server", path=str(tmp_path / "bin"), may_install=True)


def test_a_shim_is_not_the_program(find, tmp_path: Path) -> None:
    executable(tmp_path / ".pyenv" / "shims" / "python3", "#!/usr/bin/env bash\n")
    with pytest.raises(ShimError) as caught:
        find("python3", path=str(tmp_path / ".pyenv" / "shims"))
    assert caught.value.hint == "name the program that it picks: pyenv which python3"
