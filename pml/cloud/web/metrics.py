"""What is counted, for Prometheus. Labels are words of ours, so their number is bounded.

Several workers count into files of one folder (`PROMETHEUS_MULTIPROC_DIR`, set by `serving` before
they start), so that whichever worker is asked tells for all.
"""

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

MEDIA_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The counts of one worker."""

    def __init__(self, folder: str | None) -> None:
        """Count; with a folder, together with other workers."""
        self._folder = folder
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "pml_cloud_requests",
            "Requests answered.",
            ["route", "status"],
            registry=self._registry,
        )
        self.seconds = Histogram(
            "pml_cloud_request_seconds",
            "Time to answer a request.",
            ["route"],
            registry=self._registry,
        )
        self.calls = Counter(
            "pml_cloud_tool_calls", "Tool calls.", ["kind", "outcome"], registry=self._registry
        )
        self.runs = Counter(
            "pml_cloud_runs", "Programs, by what became of them.", ["outcome"],
            registry=self._registry,
        )  # fmt: skip

    def text(self) -> bytes:
        """Give all counts in Prometheus' format."""
        if self._folder is None:
            return generate_latest(self._registry)
        gathered = CollectorRegistry()
        MultiProcessCollector(gathered, self._folder)  # type: ignore[no-untyped-call]
        return generate_latest(gathered)
