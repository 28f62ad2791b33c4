"""The `pml` command: parses, calls one function, prints one result."""
