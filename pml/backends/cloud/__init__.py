"""The user's side of a cloud: tools that run there, called like any other.

    async with Cloud(CloudAccess(url, key), keys) as cloud:
        tavily = CloudBackend("tavily", cloud)
        result = await tavily.call_tool("search", {"query": "pml"}, timeout_seconds=60)

`connection.py` speaks to the cloud over `pml.backends.http`, `backend.py` is one namespace of its
tools. `programs.py` says which programs may leave this machine; it is imported by name, since it
brings the analysis. Policy comes before: whoever calls has asked it.
"""

from pml.backends.cloud.backend import CloudBackend, cloud_backends
from pml.backends.cloud.connection import Cloud, CloudAccess

__all__ = [
    "Cloud",
    "CloudAccess",
    "CloudBackend",
    "cloud_backends",
]
