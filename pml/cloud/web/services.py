"""What lives as long as a worker, in one value."""

import dataclasses

import anyio

from pml.cloud.records import Entry
from pml.cloud.settings import Settings
from pml.cloud.store import Store
from pml.cloud.web.access import Rates
from pml.cloud.web.logs import Journal
from pml.cloud.web.metrics import Metrics
from pml.cloud.web.remembering import Remembered


@dataclasses.dataclass(frozen=True, slots=True)
class Services:
    """All that requests work with."""

    settings: Settings
    store: Store
    threads: anyio.CapacityLimiter
    """In which the database is asked."""

    journal: Journal
    metrics: Metrics
    rates: Rates
    versions: Remembered[Entry]
    pages: Remembered[tuple[int, bytes]]
    """By what was asked for: the generation it is of, and the page."""
