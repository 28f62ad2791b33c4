"""Publishing from a workspace, wired: which files may leave it, to whom, and with which key.

Everything is checked before the first file is sent. What must not leave: files outside the
workspace, files that look secret, and any that holds a key that this workspace knows. What was
trusted of `.pml.json` says to whom; the key goes to the cloud's own origin and nowhere else.
"""

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from pml.assembly.servers import known_secrets, redactor_of
from pml.assembly.setup import Setup
from pml.audit import Audit
from pml.backends.cloud.errors import CloudKeyMissingError
from pml.backends.http.addresses import endpoint_of
from pml.backends.http.fetching import HttpFetch
from pml.errors import NameForManyError, PmlError, SourceUnreadableError
from pml.keys import Keys
from pml.loader.publishing import (
    MOST_BYTES,
    Draft,
    Outcome,
    Publication,
    PublicationInvalidError,
    Publisher,
    publication_of,
)
from pml.loader.publishing.errors import (
    NameTwiceError,
    NowhereToPublishError,
    PublicationWithheldError,
    RegistryUnknownError,
)
from pml.loader.registry import Registry
from pml.redaction import Redactor, secrets_of
from pml.secret_files import is_secret_path

_SUFFIXES = frozenset({".ts", ".js", ".json"})


def registry_to_publish_to(setup: Setup, to: str | None) -> Registry:
    """Give the trusted registry that is meant, with the key if it is the cloud's origin."""
    cloud = setup.config.cloud
    url = _trusted(setup, to)
    if cloud is None or not _same_origin(url, cloud.url):
        return Registry(url)
    if cloud.api_key is None:
        raise CloudKeyMissingError
    return Registry(url, cloud.api_key)


def _trusted(setup: Setup, to: str | None) -> str:
    cloud = setup.config.cloud
    own = [] if cloud is None else [cloud.url]
    if to is None:
        if not own:
            raise NowhereToPublishError
        return own[0]
    for known in (*own, *setup.config.registries):
        if known.rstrip("/") == to.rstrip("/"):
            return known
    raise RegistryUnknownError(to)


def drafts_of(setup: Setup, files: Sequence[Path], name: str | None = None) -> tuple[Draft, ...]:
    """Read and check all files; raises what is wrong with the first that cannot be sent."""
    if name is not None and len(files) > 1:
        raise NameForManyError
    secrets = _secrets(setup)
    found: dict[str, Draft] = {}
    for file in files:
        content = _content(setup, file)
        what = publication_of(str(file), content, name)
        _refuse_keys(setup, str(file), what, content, secrets)
        base = what.fqdn.base
        if base in found:
            raise NameTwiceError(base, found[base].file, str(file))
        found[base] = Draft(str(file), what, content)
    return tuple(found.values())


async def publish(
    setup: Setup,
    registry: Registry,
    drafts: Sequence[Draft],
    told: Callable[[Draft, Outcome], None],
) -> None:
    """Send drafts in their order, each told when it is published; the first error ends it.

    A line of the audit goes before each: if it cannot be written, nothing is sent.
    """
    audit = Audit(setup.state, redactor_of(setup, shapes=True))
    try:
        async with HttpFetch() as fetch:
            publisher = Publisher(registry, fetch)
            for draft in drafts:
                told(draft, await _published(publisher, draft, audit))
    finally:
        audit.close()


async def _published(publisher: Publisher, draft: Draft, audit: Audit) -> Outcome:
    what = draft.publication
    facts = {
        "fqdn": str(what.version), "integrity": what.integrity, "file": draft.file,
        "registry": publisher.url,
    }  # fmt: skip
    audit.write("publishing", facts)
    try:
        outcome = await publisher.publish(draft)
    except PmlError as error:
        audit.note("publishing_failed", {**facts, "code": error.code})
        raise
    audit.note("published", {**facts, "outcome": outcome.value})
    return outcome


def _same_origin(one: str, other: str) -> bool:
    return endpoint_of("registry", one).origin == endpoint_of("cloud", other).origin


def _content(setup: Setup, file: Path) -> bytes:
    """Read a file of the workspace, unless its place or name says that it must stay there."""
    name, root = str(file), os.path.realpath(setup.workspace)
    real = Path(os.path.realpath(file))
    if not real.is_relative_to(root):
        hint = f"publish files of {setup.workspace}"
        raise PublicationWithheldError(name, "it lies outside the workspace", hint)
    for path in (file.name, str(real.relative_to(root))):
        seems = is_secret_path(path)
        if seems is not None:
            raise PublicationWithheldError(name, f"it looks like {seems}")
    if file.suffix.lower() not in _SUFFIXES:
        reason = "it is neither code (.ts, .js) nor the metadata of a server (.json)"
        raise PublicationInvalidError(name, reason)
    return _read(name, real)


def _read(name: str, real: Path) -> bytes:
    """Read a file, never a pipe or device, and no further than it may be long."""
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise SourceUnreadableError(name, "it is no file")
            return os.read(descriptor, MOST_BYTES + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        raise SourceUnreadableError(name, getattr(error, "strerror", None) or str(error)) from None


def _secrets(setup: Setup) -> dict[str, str]:
    """Give the keys that this workspace knows, whoever they are for."""
    cloud = setup.config.cloud
    own = {} if cloud is None else {**cloud.own_keys, "PML_API_KEY": cloud.api_key or ""}
    lines = _keys(setup).names_in_file()
    dotenv = {name: value for name, value in lines.items() if isinstance(value, str)}
    return {**secrets_of(dotenv), **known_secrets(setup), **own}


def _refuse_keys(
    setup: Setup, file: str, what: Publication, content: bytes, secrets: dict[str, str]
) -> None:
    keys, text = _keys(setup), content.decode()
    needed = {name: keys.lookup(name) for name in what.metadata.get("envRequired", ())}
    known = {**secrets, **{name: one.value for name, one in needed.items() if one is not None}}
    for name, value in known.items():
        if Redactor({name: value}).text(text) != text:
            hint = "take it out; code names the keys that it needs in `envRequired`"
            raise PublicationWithheldError(file, f"it holds the value of {name}", hint)


def _keys(setup: Setup) -> Keys:
    folder = setup.loaded.folder if setup.loaded is not None else setup.workspace
    return Keys(setup.environ, folder)
