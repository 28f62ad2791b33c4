"""Setting a workspace up: `.pml.json`, the client's own file, `.gitignore`, keys in `.env`.

    plan = plan_setup(around, wishes)              # reads, decides, writes nothing
    prepare_trust(plan, human=said_yes)            # raises if that could not be kept
    write_all(plan.changes)                        # all of it, or nothing
    trust_written(plan, now, human=said_yes)       # never more than was made or seen

Knows files and clients, not the terminal: `pml/cli/init.py` asks and tells.
"""

from pml.onboarding.clients import Client, Surroundings, find_program, next_step
from pml.onboarding.files import FileChange, write_all
from pml.onboarding.importing import Found, Left, Taken
from pml.onboarding.planning import Cloud, SetupPlan, Wishes, plan_setup
from pml.onboarding.trusting import prepare_trust, trust_written

__all__ = [
    "Client",
    "Cloud",
    "FileChange",
    "Found",
    "Left",
    "SetupPlan",
    "Surroundings",
    "Taken",
    "Wishes",
    "find_program",
    "next_step",
    "plan_setup",
    "prepare_trust",
    "trust_written",
    "write_all",
]
