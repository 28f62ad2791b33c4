"""Why something is not published.

    PublishingError (LoaderError)
    ├── PublicationInvalidError      publication_invalid: a file that cannot be published as it is
    ├── PublicationWithheldError     publication_withheld: a file that must not leave this machine
    ├── NameTwiceError               name_twice: two files of one name
    ├── NowhereToPublishError        no_cloud: no registry is configured for it
    ├── RegistryUnknownError         registry_unknown: nobody trusted the registry that was named
    ├── PublicationForbiddenError    publication_forbidden: the key may not publish that name
    ├── PublicationRefusedError      publication_refused: the registry says no
    └── PublishedOtherwiseError      published_otherwise: its answer is about something else

A registry that does not answer is a `RegistryOfflineError`, an answer that cannot be used a
`RegistryRefusedError`. Words of a registry are untrusted: capped, control characters escaped.
"""

from pml.loader.errors import LoaderError
from sandbox_host.errors import printable

_SHOWN = 200  # characters of a text that somebody else wrote
_ADDRESS = 120  # of an address


class PublishingError(LoaderError):
    """Something is not published."""

    code = "publishing"


class PublicationInvalidError(PublishingError):
    """A file that cannot be published as it is."""

    code = "publication_invalid"

    def __init__(self, name: str, reason: str, hint: str | None = None) -> None:
        """Name the file, and what is wrong where."""
        super().__init__(f"{name} cannot be published: {printable(reason, _SHOWN)}", hint=hint)


class PublicationWithheldError(PublishingError):
    """A file that must not leave this machine."""

    code = "publication_withheld"

    def __init__(self, name: str, reason: str, hint: str | None = None) -> None:
        """Name the file and why; never what it holds."""
        super().__init__(f"{name} was not sent: {reason}", hint=hint)


class NameTwiceError(PublishingError):
    """Two files would be published under one name."""

    code = "name_twice"

    def __init__(self, name: str, first: str, second: str) -> None:
        """Name both."""
        super().__init__(
            f"{first} and {second} have the same name, {name}: nothing was sent",
            hint="publish one of them, or give the other a name of its own",
        )


class NowhereToPublishError(PublishingError):
    """No cloud is configured."""

    code = "no_cloud"

    def __init__(self) -> None:
        """Say how to configure one."""
        super().__init__(
            "there is no registry to publish to: no trusted `.pml.json` names a `cloud`",
            hint='write "cloud": {"url": "https://...", "apiKey": "${PML_API_KEY}"}, then run'
            " `pml trust`; or name one of the `registries` with --to",
        )


class RegistryUnknownError(PublishingError):
    """A registry that nobody trusted."""

    code = "registry_unknown"

    def __init__(self, url: str) -> None:
        """Name it."""
        super().__init__(
            f"`{printable(url, _ADDRESS)}` is neither the trusted `cloud` of `.pml.json` nor one"
            " of its `registries`: nothing was sent",
            hint="add it to `registries`, then run `pml trust`",
        )


class PublicationForbiddenError(PublishingError):
    """The key may not publish names of that organisation."""

    code = "publication_forbidden"

    def __init__(self, registry: str, name: str, org: str) -> None:
        """Name the right that is missing, and who can give it."""
        super().__init__(
            f"the registry {printable(registry, _ADDRESS)} does not let your key publish `{name}`:"
            f" names of `{org}` take the scope publish:{org}",
            hint="use a name of your own organisation, or ask whoever runs the registry for a key:"
            f" pml cloud keys create NAME --may publish:{org}",
        )


class PublicationRefusedError(PublishingError):
    """The registry says no."""

    code = "publication_refused"

    def __init__(self, registry: str, name: str, reason: str, hint: str | None = None) -> None:
        """Name both and the reason."""
        super().__init__(
            f"the registry {printable(registry, _ADDRESS)} did not publish `{name}`: {reason}",
            hint=hint,
        )


class PublishedOtherwiseError(PublishingError):
    """The registry says yes, and means something else than what it was sent."""

    code = "published_otherwise"

    def __init__(self, registry: str, sent: tuple[str, str], answered: tuple[str, str]) -> None:
        """Show name and hash of both."""
        said = " ".join(printable(one, _ADDRESS) for one in answered if one) or "nothing at all"
        super().__init__(
            f"the registry {printable(registry, _ADDRESS)} was sent {' '.join(sent)} and says that"
            f" it published {said}: what it keeps is not what you wrote",
            hint="do not use what it has under this name; tell whoever runs it",
        )
