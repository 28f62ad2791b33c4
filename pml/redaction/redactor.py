"""Masks known secrets in text and JSON. What is sure not to hold one costs a few microseconds."""

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pml.redaction import forms, shapes
from pml.redaction.finding import Finder

LEAST_CHARACTERS = 6
"""Shorter values are masked only where they stand alone: `42` or `dev` is part of many words."""

_MOST_ROUNDS = 3  # of masking; more only if a mask made a new secret with what is around it
_LAST_MASK = "***"  # too short to hold any secret
_AWKWARD = frozenset("%\\ ")  # characters that decoding could take for something else


class _Secret:
    """One value, and all that it can look like."""

    def __init__(self, name: str, value: str) -> None:
        self.name = name
        self.value = value
        self.mask = _LAST_MASK
        raw = value.encode(errors="surrogatepass")
        aligned = tuple(forms.aligned_base64(raw))
        self.strings = (value, *aligned, *map(forms.url_safe, aligned))
        self.hex = raw.hex()
        self.awkward = not _AWKWARD.isdisjoint(value)

    @functools.cached_property
    def pattern(self) -> re.Pattern[str]:
        return forms.pattern(self.value)

    def may_be_in(self, text: str, plain: str, lowered: str) -> bool:
        if self.hex in lowered or any(one in text for one in self.strings):
            return True
        if plain is not text and any(one in plain for one in self.strings):
            return True
        return self.awkward and any(mark in text for mark in "%\\+")


class Redactor:
    """Knows secrets by name; never shows them."""

    def __init__(self, secrets: Mapping[str, str], *, shapes: bool = False) -> None:
        """Prepare; with `shapes`, mask tokens that are known by their shape too: for logs."""
        self._given = dict(secrets)
        self._shapes = shapes
        self._prepare(secrets)

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Know more secrets from now on."""
        new = {name: value for name, value in secrets.items() if value not in self._given.values()}
        for name, value in new.items():
            free = name if name not in self._given else f"{name} ({len(self._given)})"
            self._given[free] = value
        if new:
            self._prepare(self._given)

    def _prepare(self, secrets: Mapping[str, str]) -> None:
        values = {form: name for name, value in secrets.items() for form in _stripped(value)}
        self._alone = {one: name for one, name in values.items() if len(one) < LEAST_CHARACTERS}
        long = sorted(values.keys() - self._alone.keys(), key=lambda one: (-len(one), one))
        self._secrets = [_Secret(values[one], one) for one in long]
        self._strings = Finder(string for one in self._secrets for string in one.strings)
        self._hexes = Finder(one.hex for one in self._secrets)
        self._has_awkward = any(one.awkward for one in self._secrets)
        self._has_number = any(one[:1].isdigit() or one[:1] == "-" for one in values)
        for secret in self._secrets:
            secret.mask = self._mask(secret.name)

    def __repr__(self) -> str:
        """Tell how many there are."""
        return f"Redactor({len(self._secrets) + len(self._alone)} secrets)"

    def text(self, text: str) -> str:
        """Give the text with every known secret masked; without one, the text itself."""
        if self._alone and text in self._alone:
            return self._mask(self._alone[text])
        if self._secrets and self._finds(text):
            text = self._masked(text)
        return shapes.masked(text) if self._shapes else text

    def value(self, value: Any) -> Any:
        """Give JSON with every known secret masked, in keys and numbers too.

        What is no JSON, such as a path, is given as text.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._key(key): self.value(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(one) for one in value]
        if value is None or isinstance(value, int | float):
            return self._number(value) if self._has_number else value
        return self.text(str(value))

    def _number(self, value: float | None) -> Any:
        shown = str(value)
        masked = self.text(shown)
        return value if masked == shown else masked

    def _key(self, key: Any) -> Any:
        return self.text(key) if isinstance(key, str) else self._number(key)

    def _finds(self, text: str) -> bool:
        if len(text) < self._strings.least:
            return False
        if self._strings.finds(text):
            return True
        if len(text) >= self._hexes.least and self._hexes.finds(text.lower()):
            return True
        if "%" not in text and "\\" not in text:
            return self._has_awkward and "+" in text
        return self._has_awkward or self._strings.finds(forms.decoded(text))

    def _masked(self, text: str) -> str:
        for _ in range(_MOST_ROUNDS):
            before = text
            views = text, forms.decoded(text), text.lower()
            for secret in self._secrets:
                if secret.may_be_in(*views):
                    text = secret.pattern.sub(secret.mask, text)
                    views = text, forms.decoded(text), text.lower()
            if text == before:
                return text
        plain = forms.decoded(text)
        return _LAST_MASK if self._strings.finds(text) or self._strings.finds(plain) else text

    def _mask(self, name: str) -> str:
        """Give a mask that is no secret itself: one may be called like another's value."""
        shown = "".join(c if c.isprintable() else "?" for c in name[:64])
        for mask in (f"[secret {shown}]", "[secret]"):
            if not any(one.value in mask for one in self._secrets):
                return mask
        return _LAST_MASK


def _stripped(value: str) -> Iterable[str]:
    """Give a value, and what programs make of one that was read with its line break."""
    return {one for one in (value, value.strip()) if one}
