"""What of changed permissions may be used: of two sets of rules, what both permit. Pure.

For every tool, with deny < ask < allow: what `both` decides is at most what the trusted rules
decide and at most what the new ones decide. It may be less: of two allow rules that only overlap
neither counts, because no rule says what they share.
"""

from collections.abc import Iterable, Iterator

from pml.config import Permissions
from pml.policy import rule_covers
from pml.trust.change import Difference, direction


def both(old: Permissions, new: Permissions) -> Permissions:
    """Give the rules that may be used; if nothing was loosened, exactly the new ones."""
    if all(one.kind == "tightened" for one in compared(old, new)):
        return new
    allow = [rule for rule in new.allow if _covered(rule, old.allow)]
    allow += [rule for rule in old.allow if _covered(rule, new.allow) and rule not in allow]
    return Permissions(
        tuple(allow),
        _joined(new.ask, old.ask),
        _joined(new.deny, old.deny),
        places=new.places,
    )


def compared(old: Permissions, new: Permissions) -> Iterator[Difference]:
    """Give every rule that came or went, unless another makes that no difference."""
    for rule in _missing(new.allow, old.allow):
        yield _rule("allow", rule, added=True)
    for rule in _missing(old.allow, new.allow):
        yield _rule("allow", rule, added=False)
    # where nothing is allowed, all asks anyway
    guards = (*new.ask, *new.deny) if new.allow else ("*",)
    for rule in _missing(old.ask, guards):
        yield _rule("ask", rule, added=False)
    for rule in _missing(new.ask, old.ask):
        yield _rule("ask", rule, added=True)
    for rule in _missing(old.deny, new.deny):
        yield _rule("deny", rule, added=False)
    for rule in _missing(new.deny, old.deny):
        yield _rule("deny", rule, added=True)


_WORDS = {
    ("allow", True): "would be called without asking",
    ("allow", False): "is asked about again",
    ("ask", True): "is asked about",
    ("ask", False): "would no longer be asked about for sure",
    ("deny", True): "is denied",
    ("deny", False): "would no longer be denied",
}


def _rule(name: str, rule: str, *, added: bool) -> Difference:
    kind = direction(looser=added == (name == "allow"))
    sentence = f"`{rule}` {_WORDS[name, added]}"
    old, new = (None, rule) if added else (rule, None)
    return Difference(("permissions", name), kind, old, new, sentence)


def _missing(rules: Iterable[str], others: Iterable[str]) -> list[str]:
    known = tuple(others)
    return [rule for rule in dict.fromkeys(rules) if not _covered(rule, known)]


def _covered(rule: str, by: Iterable[str]) -> bool:
    return any(rule_covers(other, rule) for other in by)


def _joined(new: tuple[str, ...], old: tuple[str, ...]) -> tuple[str, ...]:
    return (*new, *_missing(old, new))
