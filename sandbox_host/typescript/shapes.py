"""The two shapes of a program: an ES module, and the body of an async function.

swc reads modules. A body, with its top-level `return`, is read inside a function and cut out of
the answer. The function must not be one that the source can close and open again (`} {`): it is

    async()=>{LABEL:try{ source
    }catch{break LABEL}}

where only the `try` that LABEL names may be followed by that `catch`. A source that closes the
`try` has ended the scope of LABEL, and one label made of a digest of the source cannot be
written inside that source. Under a label swc lets any `break` pass, so a source with a jump is
read once more without one.
"""

import hashlib
import re
from dataclasses import dataclass

from sandbox_host.typescript.errors import EraserBrokenError

_FRAME_CHANGED = "the code around a function body came back changed"
_JUMP = re.compile(r"\b(?:break|continue)\b|\\u")
_RETURN = re.compile(r"\breturn\b")
_MODULE_STATEMENT = re.compile(r"^\s*(?:import|export)\b(?!\s*[(.])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shape:
    """What stands around the source while it is read."""

    prefix: str = ""
    suffix: str = ""
    printed_prefix: str = ""  # the same as swc prints it when it transforms
    printed_suffix: str = ""

    def wrap(self, source: str) -> str:
        """The text for swc to read."""
        return self.prefix + source + self.suffix

    def cut(self, code: str) -> str:
        """The source's part of stripped code."""
        return _between(code, self.prefix, self.suffix)

    def cut_printed(self, code: str) -> str:
        """The source's part of transformed code."""
        return _between(code, self.printed_prefix, self.printed_suffix)


MODULE = Shape()

UNLABELLED_BODY = Shape(prefix="async()=>{", suffix="\n}")
"""Says where a jump leads, not where the body ends."""


def body_of(source: str) -> Shape:
    """The shape that reads `source` as the body of an async function."""
    label = "_" + hashlib.blake2b(source.encode(), digest_size=16).hexdigest()
    return Shape(
        prefix=f"async()=>{{{label}:try{{",
        suffix=f"\n}}catch{{break {label}}}}}",
        printed_prefix=f"async ()=>{{\n    {label}: try {{\n",
        printed_suffix=f"    }} catch  {{\n        break {label};\n    }}\n}};\n",
    )


def jumps(source: str) -> bool:
    """Whether `source` may hold a jump that only the label of its shape allows."""
    return bool(_JUMP.search(source))


def looks_like_body(source: str) -> bool:
    """Which shape to try first. A source that has both shapes is erased alike in both."""
    return bool(_RETURN.search(source)) and not _MODULE_STATEMENT.search(source)


def _between(code: str, prefix: str, suffix: str) -> str:
    end = len(code) - len(suffix)
    if not (code.startswith(prefix) and code.endswith(suffix) and len(prefix) <= end):
        raise EraserBrokenError(_FRAME_CHANGED)
    return code[len(prefix) : end]
