"""Setting a workspace up: `.pml.json`, the client's own file, `.gitignore`.

    plan = plan_setup(around, Client.CLAUDE, program)   # reads, decides, writes nothing
    write_all(plan.changes)                             # all of it, or nothing

Knows files and clients, not the terminal: `pml/cli/init.py` asks and tells.
"""

from pml.onboarding.clients import Client, Surroundings, find_program, next_step
from pml.onboarding.files import FileChange, write_all
from pml.onboarding.planning import SetupPlan, plan_setup, trust_created

__all__ = [
    "Client",
    "FileChange",
    "SetupPlan",
    "Surroundings",
    "find_program",
    "next_step",
    "plan_setup",
    "trust_created",
    "write_all",
]
