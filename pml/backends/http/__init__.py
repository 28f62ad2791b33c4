"""Remote MCP servers over Streamable HTTP, in both protocol eras.

    backend      the face: `HttpBackend`
    connection   keeps a session: opens, shares, rests, renews
    calls        tools/list, tools/call
    opening  listening  hearing  answering     the protocol's other conversations
    session      JSON-RPC requests over exchanges; judging: what a status means
    wire         HTTP exchanges with one endpoint
    dialing      resolves, judges, connects
    addresses  headers  messages  events       pure

Why not the official SDK's transport: it reads whole bodies whatever their size, takes any answer
on a call's stream for that call's, waits as long as the server says before it resumes, and turns
every HTTP status into a JSON-RPC error, so that a lost session, missing credentials and a broken
server look the same from above. We must tell these apart. It also takes 0.7 s to import, this
0.2 s. The HTTP is by the library that it uses too, `httpcore2` of `httpx2`.
"""

from pml.backends.http.backend import HttpBackend

__all__ = ["HttpBackend"]
