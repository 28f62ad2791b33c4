"""`pml cloud`: the other half, that an organisation can host itself.

A registry of versions that never change, and an MCP face that runs programs and calls tools which
need nothing of the user's machine. Workers keep nothing: any number of them serve one database.

    store/                 SQLite or PostgreSQL: versions, keys
    tools/                 search, execute, calls with the caller's keys
    web/                   Starlette: the registry, the MCP face, limits, metrics, logs
    serving                uvicorn, one or several workers

Above: `pml/cli/cloud.py`. Below: `pml/loader/publishing` (what is handed in, checked), analysis,
discovery, backends, the sandbox. The user's policy and approvals are not here: they are at the
user's own gateway.
"""
