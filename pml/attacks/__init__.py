"""The hostile corpus: guests, servers, definitions, answers and forgeries, tried on this machine.

    async for outcome in carried_out(CORPUS, Surroundings(cwd, environ, home)): ...

One file per family. Each attack is first shown to work on something that does not defend itself;
only then does it mean something that PML refuses it. Nothing here defends anything, nothing is
sent off this machine, and what is harmed is a stand-in made for it.

Above: `tests/escapes`. Below: every room, through its public face.
"""

from pml.attacks.attack import RISKS, Attack, Outcome, Risk, Stage, Tried, Verdict
from pml.attacks.carrying_out import carried_out
from pml.attacks.corpus import CORPUS

__all__ = [
    "CORPUS",
    "RISKS",
    "Attack",
    "Outcome",
    "Risk",
    "Stage",
    "Tried",
    "Verdict",
    "carried_out",
]
