"""What is measured and beside whom, in the order of the report."""

from types import ModuleType

from benches import (
    cancel,
    capability,
    cloud,
    discovery,
    erase,
    first_program,
    fresh,
    gate,
    gateway,
    heartbeat,
    host_call,
    install,
    json_megabyte,
    memory,
    parallel,
    server_call,
    snapshot,
    thousand,
    warm,
)
from benches.peers import (
    deno_worker,
    fastmcp_proxy,
    mcp_sdk,
    minimal_client,
    monty,
    npx,
    quickjs_native,
    quickjs_rs,
)

OURS = "pml"
OUR_TITLE = "PML"

MEASUREMENTS: dict[str, ModuleType] = {
    "fresh": fresh,
    "warm": warm,
    "host_call": host_call,
    "gate": gate,
    "capability": capability,
    "parallel": parallel,
    "snapshot": snapshot,
    "memory": memory,
    "thousand": thousand,
    "erase": erase,
    "json_megabyte": json_megabyte,
    "first_program": first_program,
    "heartbeat": heartbeat,
    "cancel": cancel,
    "server_call": server_call,
    "gateway": gateway,
    "discovery": discovery,
    "install": install,
    "cloud": cloud,
}

PEERS: dict[str, ModuleType] = {
    "quickjs_native": quickjs_native,
    "quickjs_rs": quickjs_rs,
    "monty": monty,
    "deno_worker": deno_worker,
    "minimal_client": minimal_client,
    "mcp_sdk": mcp_sdk,
    "fastmcp_proxy": fastmcp_proxy,
    "npx": npx,
}


def kind(module: ModuleType) -> str:
    """Say what a measurement or a peer is about: a sandbox, unless it says otherwise."""
    return str(getattr(module, "KIND", "sandbox"))


def title(subject: str) -> str:
    """Give a subject's name for people."""
    return OUR_TITLE if subject == OURS else str(PEERS[subject].TITLE)
