"""`pml cloud serve` with settings that no option has: limits small enough to hit."""

import json
import sys

from pml.cloud.serving import serve
from pml.cloud.settings import Settings

if __name__ == "__main__":
    serve(Settings(**json.loads(sys.argv[1])), lambda address: print(address, flush=True))  # noqa: T201
