"""What the MCP face offers: `search`, `execute`, and calls of tools that run at the cloud.

    directory    what there is, as an index and as a routing table; anew after each publication
    calling      one call, with the caller's keys: a remote server, a capability, a built-in
    executing    a program: run here, or handed back to where it can run
    searching    finding tools
    results      facts as results; pure
    caller       who asks

Decides nothing about the user's permissions: their own gateway did, before it asked.
"""
