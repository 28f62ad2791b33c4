"""Where the rooms are wired: workspace, configuration, sandbox level, backends, audit, policy.

    prepared = prepare(workspace, environ, home)         # reads and checks, starts nothing
    async with opened_servers(prepared.setup, observer) as opened:
        rights = rights_of(prepared.setup, opened)

Knows every room and no protocol; nothing below it knows it.
"""

from pml.assembly.confining import confined, planned_level
from pml.assembly.rights import QuestionWords, rights_of, store_of
from pml.assembly.servers import Opened, opened_servers, redactor_of
from pml.assembly.setup import Prepared, Setup, prepare

__all__ = [
    "Opened",
    "Prepared",
    "QuestionWords",
    "Setup",
    "confined",
    "opened_servers",
    "planned_level",
    "prepare",
    "redactor_of",
    "rights_of",
    "store_of",
]
