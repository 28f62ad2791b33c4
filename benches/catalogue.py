"""What is measured and beside whom, in the order of the report."""

from types import ModuleType

from benches import (
    cancel,
    erase,
    first_program,
    fresh,
    heartbeat,
    host_call,
    json_megabyte,
    memory,
    parallel,
    snapshot,
    thousand,
    warm,
)
from benches.peers import deno_worker, monty, quickjs_native, quickjs_rs

OURS = "pml"
OUR_TITLE = "sandbox_host"

MEASUREMENTS: dict[str, ModuleType] = {
    "fresh": fresh,
    "warm": warm,
    "host_call": host_call,
    "parallel": parallel,
    "snapshot": snapshot,
    "memory": memory,
    "thousand": thousand,
    "erase": erase,
    "json_megabyte": json_megabyte,
    "first_program": first_program,
    "heartbeat": heartbeat,
    "cancel": cancel,
}

PEERS: dict[str, ModuleType] = {
    "quickjs_native": quickjs_native,
    "quickjs_rs": quickjs_rs,
    "monty": monty,
    "deno_worker": deno_worker,
}


def title(subject: str) -> str:
    """Give a subject's name for people."""
    return OUR_TITLE if subject == OURS else str(PEERS[subject].TITLE)
