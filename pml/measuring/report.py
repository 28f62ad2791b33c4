"""Results as text for a terminal: a table with small bars, verdicts, and what to doubt. Pure.

What servers are called and say is a stranger's: it is capped here, and escaped where it is shown.
"""

from collections.abc import Callable, Iterator, Sequence

from pml.measuring.comparing import Comparison, Verdict
from pml.measuring.figures import (
    AIMED_SECONDS,
    BYTES_PER_TOKEN,
    REQUIRED_SECONDS,
    SECTIONS,
    UNITS,
    Figure,
    Results,
)

_BLOCKS = " ▏▎▍▌▋▊▉█"
_BAR_CHARACTERS = 12
_NAME_CHARACTERS = 24
_REASON_CHARACTERS = 160
_DIGITS = 3

Row = tuple[str, ...]
Escape = Callable[[str], str]


def number(value: float) -> str:
    """Give three significant digits, without an exponent."""
    digits, size = _DIGITS, abs(value)
    while size >= 1 and digits > 0:
        size, digits = size / 10, digits - 1
    return f"{value:,.{digits}f}"


def bar(share: float) -> str:
    """Draw a share of 1 in eighths of a character; what is there at all is seen."""
    eighths = round(min(max(share, 0.0), 1.0) * _BAR_CHARACTERS * 8)
    whole, rest = divmod(max(eighths, 1 if share > 0 else 0), 8)
    return _BLOCKS[8] * whole + (_BLOCKS[rest] if rest else "")


def verdict(figure: Figure) -> str:
    """Judge an overhead by what is required, and by what we aim at."""
    if not figure.is_overhead:
        return ""
    required = figure.summary.p99 <= REQUIRED_SECONDS
    reached = figure.summary.p50 <= AIMED_SECONDS
    return (
        f"p99 <= 50 ms: {'met' if required else 'MISSED'},"
        f" aim p50 <= 1 ms: {'reached' if reached else 'not reached'}"
    )


def table(results: Results, escape: Escape) -> str:
    """Give all sections, what was not measured, and the notes."""
    lines: list[str] = []
    for section in SECTIONS:
        figures = [one for one in results.figures if one.section == section]
        lines += [
            *_aligned(_rows(section, figures, escape)),
            *_missing(results, section, escape),
            "",
        ]
    return "\n".join([*lines, *notes(results)])


def comparison(found: Sequence[Comparison], escape: Escape) -> str:
    """Give each compared figure with its growth, the machine's speed taken out."""
    rows = [("compared", "", "growth", "")]
    for one in found:
        word = one.verdict.upper() if one.verdict is Verdict.WORSE else str(one.verdict)
        name = _cut(escape(one.figure.subject), _NAME_CHARACTERS)
        rows.append((name, escape(one.figure.title), f"{one.growth:+.0%}", word))
    return "\n".join(_aligned(rows))


def notes(results: Results) -> list[str]:
    """Say where the numbers come from, and what to doubt."""
    facts = results.facts
    machine = f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}"
    versions = f"Python {facts['python']}, wasmtime {facts['wasmtime']}, pml {facts['pml']}"
    load = f"{facts['loadBefore']:g} before, {facts['loadAfter']:g} after"
    found = [f"{facts['date']}; {machine}; {versions}", f"load average: {load}"]
    if results.doubts:
        found.append(f"A NOISY RUN: {'; '.join(results.doubts)}")
    if results.quick:
        found.append("a quick run: few samples, p99 means little")
    return found


def _rows(section: str, figures: Sequence[Figure], escape: Escape) -> Iterator[Row]:
    sizes = section == "tokens"
    heads = ("bytes", "~tokens", "") if sizes else ("p50", "p95", "p99")
    yield section, "", "", *heads, "", ""
    for figure in figures:
        scale = UNITS[figure.unit]
        found = figure.summary
        values: Row = tuple(number(one / scale) for one in (found.p50, found.p95, found.p99))
        if sizes:
            values = f"{found.p50:,.0f}", f"{found.p50 / BYTES_PER_TOKEN:,.0f}", ""
        elif not figure.is_time:
            values = values[0], "", ""
        name = _cut(escape(figure.subject), _NAME_CHARACTERS)
        title = escape(figure.title)
        yield name, title, figure.unit, *values, bar(_share(figure, figures)), verdict(figure)


def _share(figure: Figure, figures: Sequence[Figure]) -> float:
    """Compare with the longest of the same subject and kind."""
    like = [one.summary.p50 for one in figures
            if one.is_time == figure.is_time and one.subject == figure.subject]  # fmt: skip
    return figure.summary.p50 / max(like) if max(like) > 0 else 0.0


def _missing(results: Results, section: str, escape: Escape) -> Iterator[str]:
    for one in results.missing:
        if one.section == section:
            name = _cut(escape(one.subject), _NAME_CHARACTERS)
            yield f"  {name}  {_cut(escape(one.reason), _REASON_CHARACTERS)}"


def _aligned(rows: Iterator[Row] | Sequence[Row]) -> list[str]:
    lines = list(rows)
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = []
    for position, line in enumerate(lines):
        cells = [
            cell.rjust(width) if _is_number(lines, column) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text.append(f"{'' if position == 0 else '  '}{'  '.join(cells)}".rstrip())
    # the heading is not indented: its first cell takes the room
    text[0] = text[0].replace(lines[0][0], f"{lines[0][0]}  ", 1)
    return text


def _is_number(lines: Sequence[Row], column: int) -> bool:
    return all(not line[column] or line[column][0] in "+-0123456789" for line in lines[1:])


def _cut(text: str, most: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"
