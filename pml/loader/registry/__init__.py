"""Asking registries: what a name stands for now, and the code behind it.

    async with HttpFetch() as fetch:
        registries = Registries([Registry("https://registry.example")], fetch)
        described = await registries.describe(Fqdn.parse("acme.tools.text.shout"))

`client.py` asks one registry, `registries.py` several in their order. Nothing is kept here and
nothing is run; every answer is checked against the name that was asked for.
"""

from pml.loader.registry.client import Described, Registry, RegistryClient, Unchanged
from pml.loader.registry.registries import Registries

__all__ = ["Described", "Registries", "Registry", "RegistryClient", "Unchanged"]
