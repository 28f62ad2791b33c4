"""The MCP face: what a client sees of PML, over stdio, in both eras of the protocol.

    await serve(benches, options)   # until the client hangs up

The official SDK speaks the protocol; here is what the tools of the model mean. Knows the runner,
the catalogue of tools and the client; gets everything else handed in as a `Bench`. Above: assembly
and the command line. The SDK takes half a second to import, so only `pml stdio` imports this room.
"""

from pml.gateway.bench import Bench, Benches
from pml.gateway.catalog import Catalog
from pml.gateway.server import Options, serve

__all__ = ["Bench", "Benches", "Catalog", "Options", "serve"]
