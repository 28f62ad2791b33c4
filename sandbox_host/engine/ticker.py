"""The clock that interrupts guests: a thread that moves the engine's epoch while guests run."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator

import wasmtime

TICK_SECONDS = 0.002
"""How long a guest may hold a thread before it is asked whether to go on."""

RELAXED_TICKS = 5
"""Ticks, 10 ms in all, between two polls of a guest that has a thread of its own."""

_LINGER_SECONDS = 0.05  # ticks on after the last entry, so that the next one need not wake it


class Ticker:
    """Ticks while `keep` is called often enough, and sleeps otherwise."""

    def __init__(self, engine: wasmtime.Engine) -> None:
        """Prepare; the thread starts with the first `keep`."""
        self._engine = engine
        self._until = 0.0
        self._parked = True
        self._holds: list[None] = []  # a list, because its append and pop are atomic
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._starting = threading.Lock()

    def keep(self, now: float) -> None:
        """Tick for a while from `now` (`time.perf_counter`). Cheap: called at every poll."""
        self._until = now + _LINGER_SECONDS
        if self._parked or self._process != os.getpid():
            self._start()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Tick until the block ends, for work that nobody polls."""
        self._holds.append(None)
        self.keep(time.perf_counter())
        try:
            yield
        finally:
            self._holds.pop()

    def _start(self) -> None:
        with self._starting:
            if self._process != os.getpid():  # forked: the thread stayed behind
                self._process, self._thread, self._wake = os.getpid(), None, threading.Event()
                self._holds = []
            if self._thread is None:
                self._thread = threading.Thread(target=self._tick, name="pml-ticker", daemon=True)
                self._thread.start()
        self._wake.set()

    def _tick(self) -> None:
        increment, sleep, clock = self._engine.increment_epoch, time.sleep, time.perf_counter
        while True:
            self._wake.wait()
            self._wake.clear()
            self._parked = False
            # at least one tick, however late this thread was woken: a guest may be waiting for it
            wanted = True
            while wanted:
                sleep(TICK_SECONDS)
                increment()
                wanted = clock() < self._until or bool(self._holds)
            # parked is set before the last ticks and the last look: a guest that was entered in
            # between either yields now, or its `keep` sees that we are parked and wakes us
            self._parked = True
            for _ in range(RELAXED_TICKS):
                increment()
            if clock() < self._until or self._holds:
                self._wake.set()
