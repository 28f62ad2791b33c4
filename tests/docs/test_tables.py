"""Tables that repeat what the code says, and links that must lead somewhere."""

import dataclasses
import re
import tomllib

import pytest

from sandbox_host.limits import Limits
from sandbox_host.mounts import PROTECTED

from .conftest import PAGES, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`(?!\])", re.DOTALL)
MADE_BY_BENCH = {"docs/benchmarks.md", "docs/benchmarks.svg"}


def words(name: str, value: float) -> str:
    if not name.endswith("_bytes"):
        return f"{value:,g}" if isinstance(value, float) else f"{value:,}"
    return f"{value >> 20} MiB" if value >= 1 << 20 else f"{value >> 10} KiB"


@pytest.mark.parametrize("field", dataclasses.fields(Limits), ids=lambda field: field.name)
def test_the_readme_has_each_limit_with_its_default(field: dataclasses.Field[float]) -> None:
    assert f"| `{field.name}` | {words(field.name, field.default)} |" in README


def test_the_readme_names_every_protected_path_that_is_no_shell_file() -> None:
    model = README[README.index("## Security model") :]
    shells = re.compile(r"rc$|profile$|log(in|out)$|zshenv$")
    for sequence in PROTECTED:
        name = "/".join(sequence)
        assert shells.search(name) or f"`{name}`" in model, name


def test_the_advisory_gate_is_the_one_that_is_installed() -> None:
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [bounds] = [text for text in project["dependencies"] if text.startswith("wasmtime")]
    oldest, newest = re.findall(r"[\d.]+", bounds)
    assert f"older than {oldest}" in security
    assert f"from {newest} on" in security


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings_that_exist(page: str) -> None:
    text = CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for path, heading in LINK.findall(text):
        target = (ROOT / page).parent / path if path else ROOT / page
        if target.resolve().relative_to(ROOT).as_posix() in MADE_BY_BENCH:
            continue
        assert target.exists(), path
        if heading:
            titles = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert heading in {title.lower().replace(" ", "-") for title in titles}, heading
