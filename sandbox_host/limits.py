"""What one program may use: each limit with its reason, and an error that names it."""

import dataclasses

MEBIBYTE = 1 << 20
MOST_MEMORY_BYTES = 4096 * MEBIBYTE  # all that 32 bits can address


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The budgets of one run. Raising them is the embedder's choice, never the program's."""

    memory_bytes: int = 64 * MEBIBYTE
    """The guest's linear memory; a fresh one takes about 2 MiB."""

    cpu_seconds: float = 5.0
    """Time in which the guest computes; waiting for calls and timers costs nothing of it."""

    wall_seconds: float = 300.0
    """Everything between `run` or `resume` and its outcome, calls and timers included."""

    code_bytes: int = MEBIBYTE
    """Source text, UTF-8. Written code is a few KB; this leaves room for bundles."""

    input_bytes: int = 16 * MEBIBYTE
    """The arguments, and each answer to a call, as JSON."""

    output_bytes: int = 4 * MEBIBYTE
    """The program's value, and each call's arguments, as JSON."""

    log_bytes: int = 256 << 10
    """All console output: a model reads it, so more is a mistake."""

    calls: int = 10_000
    """Host calls in all; a loop that goes wild stops here."""

    calls_in_flight: int = 64
    """Host calls at once; the rest wait their turn."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        for field in dataclasses.fields(self):
            value, floor = getattr(self, field.name), _FLOORS.get(field.name, 0)
            if not value > 0 or value < floor:
                raise ValueError(_Invalid.format(name=field.name, value=value, floor=floor))
            if isinstance(value, int) and value > MOST_MEMORY_BYTES:
                raise ValueError(_Invalid.format(name=field.name, value=value, floor=floor))
        if self.memory_bytes > MOST_MEMORY_BYTES:
            raise ValueError(
                _Invalid.format(name="memory_bytes", value=self.memory_bytes, floor=0)
            )


_FLOORS = {"memory_bytes": 4 * MEBIBYTE, "output_bytes": 1024, "log_bytes": 1024, "calls": 1}
_Invalid = "{name}={value} cannot work: positive, at least {floor}, memory at most 4 GiB"
