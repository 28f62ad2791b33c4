"""`python -m pml` is the `pml` command."""

import sys

from pml.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
