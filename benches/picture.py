"""The picture for the README: bars on a logarithmic scale, as plain SVG.

It carries its own background, so that it can be read on a light page and on a dark one whatever
the browser thinks of the page.
"""

import math
from collections.abc import Iterator
from html import escape

from benches.catalogue import MEASUREMENTS, OURS, PEERS, title
from benches.harness import UNITS, Figure
from benches.report import number
from benches.run import Results

SHOWN = ("fresh", "host_call", "idle_pss", "restore", "first_js", "json", "loop_gap")
"""The figures that an embedder chooses by; shorter is better in all."""

_WIDTH, _LEFT, _RIGHT, _MARGIN = 860, 236, 96, 20
_BAR, _GAP, _HEADING, _TOP = 15, 5, 50, 60
_STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de; }
  .text { fill: #1f2328; } .soft { fill: #59636e; } .grid { stroke: #d0d7de; }
  .ours { fill: #0969da; } .peer { fill: #afb8c1; } .floor { fill: #d8b4a0; }
  @media (prefers-color-scheme: dark) {
    .card { fill: #0d1117; stroke: #3d444d; }
    .text { fill: #f0f6fc; } .soft { fill: #9198a1; } .grid { stroke: #3d444d; }
    .ours { fill: #4493f8; } .peer { fill: #656c76; } .floor { fill: #8a6552; }
  }
  text { font: 12px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; }
  .heading { font-weight: 600; font-size: 13px; } .title { font-weight: 600; font-size: 16px; }
"""


def draw(results: Results) -> str:
    """Give the SVG."""
    parts: list[str] = []
    top = _TOP
    for figure in _figures(results):
        parts.extend(_group(figure, results, top))
        top += _HEADING + len(results.figures[figure.name]) * (_BAR + _GAP)
    height = top + 34
    facts = results.facts
    foot = (
        f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, "
        f"wasmtime {facts['wasmtime']}; {facts['date']}; p50 of one run, `make bench`"
    )
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="benchmarks">',
        f"<style>{_STYLE}</style>",
        f'<rect class="card" x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="8"/>',
        _text(_MARGIN, 30, "title text", "A WebAssembly sandbox beside its peers"),
        _text(_MARGIN, 49, "soft", "shorter is better; a logarithmic scale for each group"),
    ]
    return "\n".join([*head, *parts, _text(_MARGIN, height - 14, "soft", foot), "</svg>", ""])


def _figures(results: Results) -> Iterator[Figure]:
    known = {figure.name: figure for module in MEASUREMENTS.values() for figure in module.FIGURES}
    for name in SHOWN:
        if OURS in results.figures.get(name, {}):
            yield known[name]


def _group(figure: Figure, results: Results, top: int) -> Iterator[str]:
    subjects, scale = results.figures[figure.name], UNITS[figure.unit]
    values = {name: subjects[name].p50 / scale for name in (OURS, *PEERS) if name in subjects}
    low, high = _decades(list(values.values()))
    heading = figure.title.replace("`", "")
    yield _text(_MARGIN, top + 20, "heading text", f"{heading}, {figure.unit}")
    first, last = top + _HEADING - 6, top + _HEADING + len(values) * (_BAR + _GAP) - _GAP
    for decade in range(low, high + 1):
        x = _place(10.0**decade, low, high)
        yield f'<line class="grid" x1="{x:.1f}" y1="{first}" x2="{x:.1f}" y2="{last}"/>'
        yield _text(x, first - 3, "soft", f"{10.0**decade:g}", "middle")
    for row, (name, value) in enumerate(values.items()):
        y = top + _HEADING + row * (_BAR + _GAP)
        end = _place(value, low, high)
        kind = {OURS: "ours", "quickjs_native": "floor"}.get(name, "peer")
        shape = f'width="{max(end - _LEFT, 1):.1f}" height="{_BAR}" rx="2"'
        yield _text(_LEFT - 8, y + 12, "text" if name == OURS else "soft", title(name), "end")
        yield f'<rect class="{kind}" x="{_LEFT}" y="{y}" {shape}/>'
        ratio = "" if name == OURS else f" ({number(value / values[OURS])} x)"
        yield _text(end + 6, y + 12, "text" if name == OURS else "soft", number(value) + ratio)


def _decades(values: list[float]) -> tuple[int, int]:
    """Give the powers of ten around the values; a bar of the smallest must still be seen."""
    low = math.floor(math.log10(min(values) * 0.6))
    return low, max(low + 1, math.ceil(math.log10(max(values))))


def _place(value: float, low: int, high: int) -> float:
    room = _WIDTH - _LEFT - _RIGHT
    return _LEFT + room * (math.log10(value) - low) / (high - low)


def _text(x: float, y: float, kind: str, words: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(words)}</text>'
