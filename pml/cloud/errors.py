"""What can go wrong around the cloud, one class per situation an operator can act on.

    CloudError (PmlError)
    ├── NamespaceTakenError        namespace_taken: server tools of others have this namespace
    ├── ToolTakenError             tool_taken: another entry has this tool
    ├── HashTakenError             hash_taken: other content has this name and 4 hex
    ├── DatabaseUnusableError      database_unusable: it cannot be opened or does not answer
    ├── DriverMissingError         driver_missing: PostgreSQL without its library
    ├── KeyUnknownError            key_unknown: no key has this id
    ├── ScopeInvalidError          scope_invalid: a right that no key can have
    └── AddressUnusableError       address_unusable: nobody can listen there

What cannot be published as it is: `pml/loader/publishing/errors.py`. What a stranger asked for
and does not get is an answer with a status, made in `web`.
"""

from pml.errors import PmlError
from sandbox_host.errors import printable

_SHOWN = 200  # characters of a text that somebody else wrote


class CloudError(PmlError):
    """The cloud cannot do what it was asked."""

    code = "cloud"


class NamespaceTakenError(CloudError):
    """Tools that run at the cloud are called by namespace: each has one owner."""

    code = "namespace_taken"

    def __init__(self, namespace: str, owner: str) -> None:
        """Name both."""
        super().__init__(
            f"the namespace `{namespace}` belongs to `{owner}`",
            hint="choose another namespace: callers' keys go to whoever has it",
        )


class ToolTakenError(CloudError):
    """A tool that runs at the cloud is offered by one entry."""

    code = "tool_taken"

    def __init__(self, tool: str, base: str) -> None:
        """Name both."""
        super().__init__(f"`{tool}` is offered by {base} already")


class HashTakenError(CloudError):
    """Two contents of one name that begin with the same 4 hex."""

    code = "hash_taken"

    def __init__(self, fqdn: object) -> None:
        """Name the version that is there."""
        super().__init__(
            f"{fqdn} is published with other content, and never changes",
            hint="the name ends with the first 4 hex of the hash: change the content a little",
        )


class DatabaseUnusableError(CloudError):
    """The database cannot be opened or does not answer."""

    code = "database_unusable"

    def __init__(self, reason: str) -> None:
        """Name the reason; a driver's words may hold the address, never the password."""
        super().__init__(f"the database cannot be used: {printable(reason.strip(), _SHOWN)}")


class DriverMissingError(CloudError):
    """PostgreSQL was asked for, and its library is not installed."""

    code = "driver_missing"

    def __init__(self) -> None:
        """Say how to get it."""
        super().__init__(
            "PostgreSQL needs the library psycopg", hint="pip install 'pml[postgres]'"
        )


class KeyUnknownError(CloudError):
    """No key has this id."""

    code = "key_unknown"

    def __init__(self, key: str) -> None:
        """Name it."""
        super().__init__(f"no key `{printable(key, 40)}`", hint="pml cloud keys list")


class ScopeInvalidError(CloudError):
    """A right that no key can have."""

    code = "scope_invalid"

    def __init__(self, scope: str) -> None:
        """Name it, and those that there are."""
        super().__init__(
            f"`{printable(scope, 80)}` is no right of a key",
            hint="read, call, metrics, publish:ORG or publish:*",
        )


class AddressUnusableError(CloudError):
    """Nobody can listen there."""

    code = "address_unusable"

    def __init__(self, host: str, port: int, reason: str) -> None:
        """Name it and the reason."""
        super().__init__(f"cannot listen on {host} port {port}: {reason}")
