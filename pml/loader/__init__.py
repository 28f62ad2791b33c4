"""From a name to code that may run: registry, cache, lockfile, installer. Doing, never deciding.

What comes out is verified: its hash was compared over the very bytes. Whether a human must be
asked is given as a value; nobody is asked here. Above: the backends, assembly, the commands.
Below: `pml.policy`, `pml.routing`, `pml.config`, `pml.places`, `pml.fqdn`.
"""
