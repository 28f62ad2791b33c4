"""Results as a picture: bars by section on a logarithmic scale, as plain SVG.

It carries its own background, so that it can be read on a light page and on a dark one.
"""

import math
import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from pml.measuring.errors import PictureUnwritableError
from pml.measuring.figures import SECTIONS, UNITS, Figure, Results
from pml.measuring.report import number

_WIDTH, _LEFT, _RIGHT, _MARGIN = 860, 400, 110, 20
_BAR, _GAP, _HEADING, _TOP = 15, 5, 34, 56
_TITLE_CHARACTERS = 58
_STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de; }
  .text { fill: #1f2328; } .soft { fill: #59636e; }
  .ours { fill: #0969da; } .theirs { fill: #afb8c1; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d; }
    .text { fill: #f0f6fc; } .soft { fill: #9198a1; }
    .ours { fill: #4493f8; } .theirs { fill: #656c76; }
  }
  text { font: 12px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }
  .heading { font-weight: 600; font-size: 13px; } .title { font-weight: 600; font-size: 16px; }
"""


def check_place(path: Path) -> None:
    """Raise `PictureUnwritableError` for a place where no file can be written."""
    folder = path.parent
    if path.is_dir():
        raise PictureUnwritableError(path, "it is a folder")
    if not folder.is_dir():
        raise PictureUnwritableError(path, f"{folder} is no folder")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise PictureUnwritableError(path, "permission denied")


def write(path: Path, results: Results) -> None:
    """Draw into a file."""
    try:
        path.write_text(drawn(results), encoding="utf-8")
    except OSError as error:
        raise PictureUnwritableError(path, error.strerror or str(error)) from None


def drawn(results: Results) -> str:
    """Give the SVG."""
    parts: list[str] = []
    top = _TOP
    for heading, figures in _groups(results):
        parts += _group(heading, figures, top)
        top += _HEADING + len(figures) * (_BAR + _GAP)
    height = top + 34
    facts = results.facts
    foot = f"{facts['cpu']}, {facts['cores']} cores; Python {facts['python']}; {facts['date']}"
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="pml bench">',
        f"<style>{_STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="8"/>',
        _text(_MARGIN, 30, "title text", "pml bench"),
        _text(_MARGIN, 47, "soft", "p50; shorter is better; a logarithmic scale for each group"),
    ]
    return "\n".join([*head, *parts, _text(_MARGIN, height - 14, "soft", foot), "</svg>", ""])


def _groups(results: Results) -> Iterator[tuple[str, Sequence[Figure]]]:
    """Give times and sizes of each section apart: they have no scale in common."""
    for section in SECTIONS:
        for kind, is_time in (("time", True), ("size", False)):
            found = [
                one for one in results.figures
                if (one.section, one.is_time) == (section, is_time) and one.summary.p50 > 0
            ]  # fmt: skip
            if found:
                yield f"{section}, {kind}", found


def _group(heading: str, figures: Sequence[Figure], top: int) -> Iterator[str]:
    values = [one.summary.p50 for one in figures]
    low = math.floor(math.log10(min(values) * 0.6))
    high = max(low + 1, math.ceil(math.log10(max(values))))
    yield _text(_MARGIN, top + 22, "heading text", heading)
    for row, figure in enumerate(figures):
        y = top + _HEADING + row * (_BAR + _GAP)
        share = (math.log10(figure.summary.p50) - low) / (high - low)
        width = max((_WIDTH - _LEFT - _RIGHT) * share, 1)
        kind = "ours" if figure.is_ours else "theirs"
        words = f"{figure.subject}: {figure.title}".replace("`", "")[:_TITLE_CHARACTERS]
        value = f"{number(figure.summary.p50 / UNITS[figure.unit])} {figure.unit}"
        yield _text(_LEFT - 8, y + 12, "text", words, "end")
        shape = f'width="{width:.1f}" height="{_BAR}" rx="2"'
        yield f'<rect class="{kind}" x="{_LEFT}" y="{y}" {shape}/>'
        yield _text(_LEFT + width + 6, y + 12, "soft", value)


def _text(x: float, y: float, kind: str, words: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    shown = "".join(c if c.isprintable() else "?" for c in words)
    return f'<text class="{kind}" {place}>{escape(shown)}</text>'
