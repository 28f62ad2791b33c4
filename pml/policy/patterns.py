"""What a rule matches: `*`, `server`, `server:*`, `server:tool`, globs of either with `*` and `?`.

A tool id is a server, the first colon, and the server's own name for the tool. A rule speaks of
both parts: `server` alone is `server:*`. In the server part a wildcard stands for no colon, in the
tool part for anything. Letters of another case are other letters. Rules and ids are untrusted (a
program chooses the names it calls): every question is answered in polynomial time.
"""

import functools
import re

_ANY = "*"
_COLON = ":"
_WILD = re.compile(r"[*?]{2,}")
_MOST_KEPT = 1024  # compiled rules: those of a configuration, asked about at every call


def rule_matches(rule: str, tool: str) -> bool:
    """Say whether a rule speaks of a tool."""
    return matcher(rule).fullmatch(_whole(tool, no_tool="")) is not None


def rule_covers(a: str, b: str) -> bool:
    """Say whether all that `b` matches, whatever it is, `a` matches too."""
    return _compiled(_spread(normal(a)), single="[^*]").fullmatch(normal(b)) is not None


@functools.lru_cache(_MOST_KEPT)
def matcher(rule: str) -> re.Pattern[str]:
    """Give what matches the ids (with their colon) that a rule speaks of."""
    return _compiled(normal(rule), single=".")


def normal(rule: str) -> str:
    """Give the one way to write a rule: both parts, and in a run of wildcards `?` before `*`."""
    return _WILD.sub(lambda run: _run(run[0]), _whole(rule, no_tool=_ANY))


def specificity(rule: str) -> tuple[int, int, int, str]:
    """Give a key that sorts narrow rules before the wider ones that cover them."""
    text = normal(rule)
    singles, runs = text.count("?"), text.count(_ANY)
    return singles + runs - len(text), -singles, runs, rule


def is_exact(rule: str) -> bool:
    """Say whether a rule names one tool."""
    return _COLON in rule and not set("*?") & set(rule)


def _whole(text: str, *, no_tool: str) -> str:
    return text if _COLON in text else f"{text}{_COLON}{no_tool}"


def _run(wildcards: str) -> str:
    return "?" * wildcards.count("?") + (_ANY if _ANY in wildcards else "")


def _spread(rule: str) -> str:
    """Put a `*` beside each `?` of its run, which changes no meaning: `??*` is `*?*?*`.

    So the characters that `a` demands may stand on either side of a `*` in `b`.
    """
    return re.sub(r"\?+\*", lambda run: _ANY + f"?{_ANY}" * (len(run[0]) - 1), rule)


def _compiled(rule: str, *, single: str) -> re.Pattern[str]:
    server, _, tool = rule.partition(_COLON)
    no_colon = "[^:]" if single == "." else "[^*:]"
    parts = _part(server, no_colon, "[^:]"), _part(tool, single, ".")
    return re.compile(_COLON.join(parts), re.DOTALL)


def _part(glob: str, single: str, several: str) -> str:
    """Translate one part; atomic groups take the first fit for good, so nothing is tried twice."""
    first, *rest = (_pieces(piece, single) for piece in glob.split(_ANY))
    if not rest:
        return first
    middle = "".join(f"(?>{several}*?{piece})" for piece in rest[:-1] if piece)
    # the last piece is anchored by what follows it
    return f"{first}{middle}{several}*{rest[-1]}"


def _pieces(text: str, single: str) -> str:
    return single.join(re.escape(piece) for piece in text.split("?"))
