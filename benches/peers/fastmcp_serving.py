"""A FastMCP proxy on stdio in front of a command, with a connected client.

The faster of the two ways that its documentation shows.
"""

import sys

import anyio


async def main() -> None:
    """Serve until the client hangs up."""
    from fastmcp import Client  # noqa: PLC0415 - may be absent
    from fastmcp.client.transports import StdioTransport  # noqa: PLC0415
    from fastmcp.server import create_proxy  # noqa: PLC0415

    _, command, *args = sys.argv
    async with Client(StdioTransport(command, args), mode="legacy") as client:
        await create_proxy(client).run_async("stdio", show_banner=False)


if __name__ == "__main__":
    anyio.run(main)
