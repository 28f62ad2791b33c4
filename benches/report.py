"""Results as text: a table for the terminal, the same as Markdown for `docs/benchmarks.md`."""

from collections.abc import Iterator

from benches.catalogue import MEASUREMENTS, OURS, PEERS, title
from benches.harness import UNITS, Figure, Summary
from benches.machine import BUSY_LOAD
from benches.run import Results, figures_of

_SIGNIFICANT = 3


def number(value: float) -> str:
    """Give three significant digits, without an exponent."""
    if value == 0:
        return "0"
    digits = _SIGNIFICANT
    size = abs(value)
    while size >= 1 and digits > 0:
        size /= 10
        digits -= 1
    return f"{value:,.{digits if abs(value) >= 0.1 else digits + 1}f}"


def verdicts(figure: Figure, subjects: dict[str, Summary]) -> list[tuple[str, bool]]:
    """Say of each part of a figure's target whether this run met it."""
    target, scale = figure.target, UNITS[figure.unit]
    ours = subjects.get(OURS)
    if ours is None:
        return []
    found = []
    limits = (
        ("p50", target.p50, ours.p50),
        ("p99", target.p99, ours.p99),
        ("max", target.most, ours.most),
    )
    for word, limit, value in limits:
        if limit is not None:
            found.append((f"{word} <= {limit:g}", value / scale <= limit))
    for peer, most in target.against.items():
        if peer in subjects:
            ratio = ours.p50 / subjects[peer].p50
            found.append((f"<= {most:g} x {title(peer)}", ratio <= most))
    return found


def target_words(figure: Figure, subjects: dict[str, Summary]) -> str:
    """Give the verdicts as words."""
    words = [f"{text}: {'met' if met else 'MISSED'}" for text, met in verdicts(figure, subjects)]
    aim = figure.target.aim
    if aim is not None and OURS in subjects:
        reached = subjects[OURS].p50 / UNITS[figure.unit] <= aim
        words.append(f"aim {aim:g}: {'reached' if reached else 'not reached'}")
    return ", ".join(words)


def rows(results: Results) -> Iterator[tuple[str, ...]]:
    """Give figure (on its first row only), subject, p50, p99, min, max, ratio, target."""
    for name, figure in figures_of(results):
        subjects, scale = results.figures[figure.name], UNITS[figure.unit]
        ours = subjects.get(OURS)
        heading = f"{figure.title} [{figure.unit}]"
        for subject in (OURS, *PEERS):
            if subject not in subjects:
                continue
            found = subjects[subject]
            values = (found.p50, found.p99, found.least, found.most)
            ratio = f"{number(found.p50 / ours.p50)} x" if ours and subject != OURS else ""
            target = target_words(figure, subjects) if subject == OURS else ""
            shown = (number(value / scale) for value in values)
            yield heading, title(subject), *shown, ratio, target
            heading = ""
        if figure is MEASUREMENTS[name].FIGURES[0]:  # the absent peers stand under the first
            for subject, why in results.missing.get(name, {}).items():
                yield heading, title(subject), "-", "-", "-", "-", "", why
                heading = ""


HEADINGS = ("measurement", "", "p50", "p99", "min", "max", "to ours", "target, or why not")


def table(results: Results) -> str:
    """Give the table for a terminal."""
    lines = [HEADINGS, *rows(results)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS) - 1)]
    text = []
    for line in lines:
        if line[0] and text:
            text.append("")
        cells = [
            cell.ljust(width) if column < 2 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=False))
        ]
        text.append("  ".join([*cells, line[-1]]).rstrip())
    return "\n".join([*text, "", *notes(results)])


def markdown(results: Results) -> str:
    """Give the table for the documentation."""
    text = [" | ".join(("", *HEADINGS, "")).strip(), "|---|---|--:|--:|--:|--:|--:|---|"]
    for heading, subject, *values, words in rows(results):
        first = f"**{heading}**" if heading else ""
        text.append("| " + " | ".join((first, subject, *values, words)) + " |")
    return "\n".join([*text, "", *(f"- {note}" for note in notes(results))])


def notes(results: Results) -> list[str]:
    """Say where the numbers come from, and what to doubt."""
    facts = results.facts
    versions = ", ".join(
        f"{name} {version or 'ABSENT'}" for name, version in facts["peers"].items()
    )
    load = f"{facts['load_before']} before, {facts.get('load_after', '?')} after"
    machine = f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}"
    found = [
        f"{facts['date']}; {machine}; Python {facts['python']}, wasmtime {facts['wasmtime']}",
        f"peers: {versions}; sandbox_host as of {facts['code']}",
        f"load average: {load}",
    ]
    if facts["load_before"] > BUSY_LOAD:
        found.append("the machine was not idle: trust the ratios and the minima, not the rest")
    if facts.get("code_changed"):
        found.append("THE CODE CHANGED DURING THE RUN: these figures are of no one version")
    if results.quick:
        found.append("a quick run: few samples, one round; p99 means little")
    return found
