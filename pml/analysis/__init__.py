"""What a program would call, read from its source without running it: an advice, never a check.

    found = analyse(erased.code, erased.original)
    [call.tool for call in found.calls]  # ["filesystem:read_file", ...]

Names computed at run time, and `mcp` handed to other code, cannot be enumerated: they are told as
dynamic spots. So nothing here may stand in for the decision at the call. Pure, never raises on a
source, and bounded for any source up to 1 MiB. The only room that imports tree-sitter. Knows
JavaScript, not policy or servers. Above: `pml plan` and whoever shows a forecast.
"""

from pml.analysis.analysing import analyse
from pml.analysis.findings import (
    Analysis,
    Branch,
    Call,
    Dynamic,
    Expression,
    Function,
    Loop,
    Parallel,
    Place,
    Problem,
    Step,
)

__all__ = [
    "Analysis",
    "Branch",
    "Call",
    "Dynamic",
    "Expression",
    "Function",
    "Loop",
    "Parallel",
    "Place",
    "Problem",
    "Step",
    "analyse",
]
