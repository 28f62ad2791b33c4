"""What swc gets wrong when it blanks out types, put right.

Works on a source and its stripped code of the same length: whatever was erased is a space in the
code. Both faults would let a statement run on into the next one, silently.
"""

import re

_TRIVIA = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)

# What would continue an expression that the erased `;` had ended.
_CONTINUES = frozenset("([`+-/")

# A class member without a value, on a line of its own. `abstract new` is a type.
_BARE_MEMBER = re.compile(
    r"^[ \t]*(?:(?:private|protected|public|static|override|readonly)[ \t]+)*"
    r"(?:declare|abstract)\b(?!\s+new\b)",
    re.MULTILINE,
)
_CONTINUES_FIELD = re.compile(r"[\[*]|in\b|instanceof\b")

_BEYOND_BMP = 0x10000


def aligned(source: str, code: str) -> str:
    """`code` with one space for an erased character beyond the BMP, where swc writes two."""
    if len(source) == len(code):
        return code
    kept, place = [], 0
    for char in source:
        kept.append(code[place : place + 1])
        place += 2 if ord(char) >= _BEYOND_BMP and code[place : place + 1] != char else 1
    return "".join(kept)


def with_semicolons(source: str, code: str) -> str:
    """`code` with the `;` that swc erased or forgot to write."""
    if len(source) != len(code):
        return code
    places = [*_erased_semicolons(source, code), *_unended_fields(source, code)]
    if not places:
        return code
    chars = list(code)
    for place in places:
        chars[place] = ";"
    return "".join(chars)


def _erased_semicolons(source: str, code: str) -> list[int]:
    """`foo()⏎ type X = 1⏎ ;[1].map(f)`: the `;` goes with the type."""
    places = []
    place = source.find(";")
    while place >= 0:
        if code[place] == " ":
            after = _after_trivia(source, place + 1)
            if source[after : after + 1] in _CONTINUES and code[after] == source[after]:
                places.append(place)
        place = source.find(";", place + 1)
    return places


def _after_trivia(text: str, place: int) -> int:
    while trivia := _TRIVIA.match(text, place):
        place = trivia.end()
    return place


def _unended_fields(source: str, code: str) -> list[int]:
    """`e = 5⏎ declare f: string⏎ ['g'] = 6`: nothing is left between 5 and `[`."""
    places = []
    for member in _BARE_MEMBER.finditer(source):
        last = member.end() - 1
        after = _after_trivia(code, last)
        if after > last and _CONTINUES_FIELD.match(code, after):
            places.append(last)
    return places
