"""Tells quickly that none of many strings is in a text, which is the usual case.

Long strings are looked for by samples: of the text only every so many characters are looked at,
and each string is known by all the samples that could fall into it. So the cost hardly depends on
how many strings there are.
"""

from collections.abc import Iterable

_SAMPLE = 4  # characters
_LONG = 16  # characters; samples of shorter strings would be too close together to pay


class Finder:
    """Many strings to look for."""

    def __init__(self, strings: Iterable[str]) -> None:
        """Prepare the samples."""
        known = sorted(set(strings), key=len)
        self.least = len(known[0]) if known else 0
        """The length of the shortest."""

        self._short = tuple(one for one in known if len(one) < _LONG)
        self._long = tuple(one for one in known if len(one) >= _LONG)
        # an occurrence of the shortest one has room for a whole sample wherever it begins
        self._step = len(self._long[0]) - _SAMPLE + 1 if self._long else 0
        self._samples = frozenset(
            one[start : start + _SAMPLE] for one in self._long for start in range(self._step)
        )

    def finds(self, text: str) -> bool:
        """Say whether one of them is in the text."""
        for one in self._short:
            if one in text:
                return True
        if not self._long or not self._has_sample(text):
            return False
        return any(one in text for one in self._long)

    def _has_sample(self, text: str) -> bool:
        samples = self._samples
        for start in range(0, len(text) - _SAMPLE + 1, self._step):
            if text[start : start + _SAMPLE] in samples:
                return True
        return False
