"""All attacks that ship with PML, in the order of their families. The tests carry them out too."""

from pml.attacks import guest_files
from pml.attacks.attack import Attack

CORPUS: tuple[Attack, ...] = (*guest_files.ATTACKS,)
