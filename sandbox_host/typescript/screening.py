"""Which sources need no eraser at all.

A question asked before the eraser: could this text contain syntax that only TypeScript has? The
answer may be a wrong yes, never a wrong no.
"""

import re

# Everything TypeScript adds to JavaScript shows one of these marks:
#   :   annotations, index signatures        <   type parameters, arguments and casts
#   !   `x!`, `let x!: T` (`!=` is not one)  ?   `a?` in parameters and members (`?.` and `??` are
#   }   see below                                not)
#   \   a keyword may be spelled with an escape
# NUL, a byte order mark and lone surrogates are for the eraser to refuse or repair. A `}` could
# close a function that the caller puts around the source; the eraser is who checks that.
_MARKS = re.compile("[:<\\\\}\0\ufeff\ud800-\udfff]|!(?!=)|(?<!\\?)\\?(?![.?])")

# ... or one of these words. `function` and `class` are there for overload signatures and
# `this` for the `this` parameter, which need no mark.
_WORDS = re.compile(
    r"(?<![A-Za-z_$])(?:abstract|accessor|as|class|declare|enum|export|function|global|implements"
    r"|import|interface|module|namespace|override|private|protected|public|readonly|satisfies"
    r"|static|this|type)(?![A-Za-z0-9_$])"
)


def needs_erasing(source: str) -> bool:
    """Whether `source` must go through the eraser; False only if erasing would change nothing."""
    return bool(_MARKS.search(source) or _WORDS.search(source))
