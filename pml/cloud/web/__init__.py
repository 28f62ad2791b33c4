"""The cloud over HTTP: Starlette routes around the store and the tools.

app          all routes, and what lives as long as a worker
front        around every request: its time, its log line, its count
registry     GET /mcp, GET and PUT /mcp/{fqdn}
face         POST /mcp: MCP, in both eras
access       keys and rates
answers      bodies and headers; pure
metrics  logs  remembering
"""
