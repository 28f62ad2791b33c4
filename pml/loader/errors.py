"""What can go wrong on the way from a name to code that may run.

    LoaderError (PmlError)
    ├── RegistryOfflineError      registry_offline: nobody answers, and nothing is kept here
    ├── RegistryRefusedError      registry_refused: an address or answer that must not be used
    ├── NotInRegistryError        not_found: no registry knows the name
    ├── HashMismatchError         hash_mismatch: the registry has no version of that hash
    ├── WrongNameError            wrong_name: an answer about something else
    ├── MetadataInvalidError      metadata_invalid: a description that cannot be used
    ├── CodeNotTextError          code_not_text
    ├── NotReadyError             not_ready: what a human must do or allow first
    │   └── KeysMissingError          keys_missing
    ├── CodeGoneError             code_gone: what was kept vanished while it was loaded
    ├── NoRuleError               no_rule: nothing of it would stay in the lockfile
    ├── NotCodeError              not_code: a server where a capability is wanted
    ├── RegistryRoutingError      server_routed: it runs at the cloud and not here
    ├── RemoteServerError         remote_server: an address, which only the user can configure
    ├── ServerTwiceError          server_twice: two packages under one name, and nobody may choose
    └── PublishingError           `pml/loader/publishing/errors.py`

Content that is not what was promised is an `IntegrityError` of `pml/loader/lockfile/errors.py`.
Words of a registry are untrusted: capped, control characters escaped.
"""

from collections.abc import Sequence

from pml.errors import PmlError
from sandbox_host.errors import printable

_SHOWN = 200  # characters of a registry's own words
_ADDRESS = 120  # of its address


class LoaderError(PmlError):
    """Something that a registry serves cannot be used."""

    code = "loader"


class RegistryOfflineError(LoaderError):
    """Nobody answers, and nothing that could be used instead is kept here."""

    code = "registry_offline"

    def __init__(self, registry: str, reason: str, name: str | None = None) -> None:
        """Name the registry, why, and what was wanted of it."""
        wanted = "" if name is None else f" and `{name}` is not kept on this machine"
        super().__init__(
            f"the registry {printable(registry, _ADDRESS)} cannot be reached"
            f" ({printable(reason, _SHOWN)}){wanted}",
            hint="restore the connection, then try again: what ran once runs offline",
        )
        self._facts = registry, reason

    def about(self, name: str) -> "RegistryOfflineError":
        """Give the same, where nothing of this name is kept here."""
        return RegistryOfflineError(*self._facts, name)


class RegistryRefusedError(LoaderError):
    """An address that must not be asked, or an answer that must not be used."""

    code = "registry_refused"

    def __init__(self, registry: str, what: str, hint: str | None = None) -> None:
        """Name the registry and what is wrong."""
        super().__init__(f"the registry {printable(registry, _ADDRESS)}: {what}", hint=hint)


class NotInRegistryError(LoaderError):
    """No registry knows the name."""

    code = "not_found"

    def __init__(self, name: str, registries: Sequence[str]) -> None:
        """Name it, and who was asked."""
        asked = ", ".join(printable(one, _ADDRESS) for one in registries)
        super().__init__(
            f"MCP '{name}' not in registry",
            hint=f"asked: {asked}" if asked else "`registries` in `.pml.json` names none",
        )


class HashMismatchError(LoaderError):
    """The registry has no version of that hash."""

    code = "hash_mismatch"

    def __init__(self, name: str, current: str | None) -> None:
        """Name what was wanted, and what is current."""
        super().__init__(
            f"the registry has no version `{name}`",
            hint=None if current is None else f"its current version is {current}",
        )
        self.current = current


class WrongNameError(LoaderError):
    """An answer about something else than what was asked for."""

    code = "wrong_name"

    def __init__(self, asked: str, answered: str) -> None:
        """Name both."""
        super().__init__(
            f"the registry was asked for `{asked}` and answers about"
            f" `{printable(answered, _SHOWN)}`: it is not used"
        )


class MetadataInvalidError(LoaderError):
    """A description that cannot be used."""

    code = "metadata_invalid"

    def __init__(self, name: str, what: str) -> None:
        """Name whose, and what is wrong with it."""
        super().__init__(f"the description of `{name}` cannot be used: {printable(what, _SHOWN)}")


class CodeNotTextError(LoaderError):
    """Code that is no UTF-8."""

    code = "code_not_text"

    def __init__(self, name: str, position: int) -> None:
        """Name the first byte that is wrong."""
        super().__init__(
            f"the code of `{name}` is not UTF-8: the byte at position {position} cannot be read"
        )


class RegistryRoutingError(LoaderError):
    """It runs at the cloud and not here."""

    code = "server_routed"

    def __init__(self, name: str) -> None:
        """Name it."""
        super().__init__(f"`{name}` runs at the cloud and has no code for this machine")


class RemoteServerError(LoaderError):
    """A server elsewhere: a registry must not choose whom this machine talks to."""

    code = "remote_server"

    def __init__(self, name: str, address: str) -> None:
        """Name it and where it is."""
        shown = printable(address, _ADDRESS)
        super().__init__(
            f"`{name}` is a server at {shown}: a registry does not choose whom PML talks to",
            hint="if you mean it, add it to `mcpServers` in `.pml.json` yourself, with its `url`",
        )


class ServerTwiceError(LoaderError):
    """Two descriptions of one server that are not the same."""

    code = "server_twice"

    def __init__(self, name: str, sources: Sequence[str]) -> None:
        """Name the server and all that describe it."""
        super().__init__(
            f"the server `{name}` is another for each of {', '.join(sources)}: none is used",
            hint=f"remove all but one, or configure `{name}` yourself in `mcpServers`",
        )


class CodeGoneError(LoaderError):
    """What is kept here vanished while it was loaded."""

    code = "code_gone"

    def __init__(self, name: str) -> None:
        """Name it."""
        super().__init__(
            f"the kept code of `{name}` is gone", hint="try again: it is fetched anew"
        )


class NoRuleError(LoaderError):
    """No rule speaks of it, so it would be removed from the lockfile as soon as that is loaded."""

    code = "no_rule"

    def __init__(self, tool: str) -> None:
        """Name one of its tools."""
        super().__init__(
            f"no rule of `allow` or `ask` speaks of `{tool}`, and the lockfile keeps only what one"
            " speaks of: nothing was locked",
            hint=f'add "{tool}" to `ask` or `allow` in `.pml.json`, run `pml trust`, try again',
        )


class NotCodeError(LoaderError):
    """It is a server, not code that could run in the sandbox."""

    code = "not_code"

    def __init__(self, name: str, kind: str) -> None:
        """Name it and what it is."""
        super().__init__(
            f"`{name}` is a server ({kind}), not a capability",
            hint="add it as a server, then call its tools",
        )


class NotReadyError(LoaderError):
    """Somebody must do or allow something before it can run."""

    code = "not_ready"

    def __init__(self, name: str, what: str, hint: str | None = None) -> None:
        """Name it and the first thing that is missing."""
        super().__init__(f"`{name}` cannot run yet: {what}", hint=hint)


class KeysMissingError(NotReadyError):
    """A key that it needs is nowhere."""

    code = "keys_missing"

    def __init__(self, name: str, missing: Sequence[tuple[str, str]]) -> None:
        """Name each with whoever requires it."""
        sentences = ", ".join(f"{owner} requires {key}" for owner, key in missing)
        first = missing[0][1]
        super().__init__(
            name,
            sentences,
            hint=f"put `{first}=...` into the workspace's `.env`, or `export {first}=...` before"
            " you start pml, then call it again",
        )
