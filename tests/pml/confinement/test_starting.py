"""Real programs, started: installations as they are found on people's machines."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pml.confinement import Grants, Level, Program, confine

ENVIRON = dict(os.environ)
CONFINED = [Level.FULL, Level.LANDLOCK]
PYTHON = Path(os.path.realpath(sys.executable))


@pytest.fixture
def run(places, support, needs):
    def run(level: Level, program: Program, grants: Grants | None = None) -> str:
        needs(level)
        planned = confine(
            program, grants or Grants(), places, support=support, environ=ENVIRON, level=level
        )
        done = subprocess.run(
            planned.argv, env=planned.environment, cwd=planned.cwd, capture_output=True, text=True,
            check=False, start_new_session=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment as uv makes them: the installation is known by a link to its folder."""
    installation = tmp_path / "python" / "cpython-3-linux"
    installation.parent.mkdir()
    installation.symlink_to(PYTHON.parent.parent)
    made = tmp_path / "environment"
    (made / "bin").mkdir(parents=True)
    (made / "bin" / "python").symlink_to(installation / "bin" / PYTHON.name)
    (made / "pyvenv.cfg").write_text(f"home = {installation}/bin\n")
    site = made / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    site.mkdir(parents=True)
    (site / "server.py").write_text("import json, ssl, sys; print(json.dumps(sys.prefix))")
    return made


@pytest.mark.parametrize("level", CONFINED)
def test_a_virtual_environment_works_whose_installation_is_known_by_a_link(
    run, environment, level
) -> None:
    told = run(level, Program(str(environment / "bin" / "python"), ("-m", "server")))
    assert told == f'"{environment}"'


@pytest.mark.parametrize("level", CONFINED)
def test_a_script_of_a_virtual_environment_works_from_a_link(
    run, environment, tmp_path, level
) -> None:
    script = environment / "bin" / "server"
    script.write_text(f"#!{environment}/bin/python\nimport server\n")
    script.chmod(0o755)
    link = tmp_path / "links" / "server"
    link.parent.mkdir()
    link.symlink_to(script)
    assert run(level, Program(str(link))) == f'"{environment}"'


@pytest.mark.parametrize("level", CONFINED)
def test_a_script_of_the_workspace_works(run, places, level) -> None:
    (places.workspace / "tool").mkdir()
    (places.workspace / "tool" / "part.py").write_text("words = 'found'")
    (places.workspace / "tool" / "server.py").write_text("import part; print(part.words)")
    assert run(level, Program(str(PYTHON), ("tool/server.py",))) == "found"


@pytest.mark.parametrize("level", CONFINED)
def test_a_server_that_may_spawn_finds_its_tools(run, level) -> None:
    told = run(level, Program("sh", ("-c", "echo one | cat; ls -d /usr")), Grants(spawn=True))
    assert told.split() == ["one", "/usr"]


@pytest.mark.parametrize("level", CONFINED)
def test_a_server_starts_in_the_workspace_even_if_it_cannot_look_into_it(
    run, places, level
) -> None:
    assert run(level, Program("sh", ("-c", "pwd -P"))) == str(places.workspace.resolve())


@pytest.mark.parametrize("level", CONFINED)
def test_temporary_files_go_to_a_place_of_its_own(run, places, level) -> None:
    code = "import tempfile; print(tempfile.mkdtemp())"
    made = Path(run(level, Program(str(PYTHON), ("-c", code))))
    assert made.parent == places.tmp.resolve()
    assert made.is_dir()
