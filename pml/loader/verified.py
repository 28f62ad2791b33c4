"""Code that may run: made here alone, after the hash was taken over the very bytes.

A test walks all other rooms and fails where one makes a `VerifiedCode` itself.
"""

import dataclasses

from pml.fqdn import Fqdn, checked_integrity, integrity_of
from pml.loader.errors import CodeNotTextError
from pml.loader.lockfile.errors import IntegrityError


@dataclasses.dataclass(frozen=True, slots=True)
class VerifiedCode:
    """The source of one version of a capability."""

    fqdn: Fqdn
    """With its hash."""

    source: str = dataclasses.field(repr=False)
    integrity: str


def verified(fqdn: Fqdn, content: bytes, integrity: str, *, place: str = "") -> VerifiedCode:
    """Compare content with what was promised; raises `IntegrityError`, `CodeNotTextError`.

    The 4 hex in the name must be those of the content, too: a right hash under a wrong name is
    refused. `place` says where the content was, for whoever has to look.
    """
    actual = integrity_of(content)
    if actual != checked_integrity(integrity):
        raise IntegrityError(fqdn, integrity, actual, reason=place)
    if not fqdn.fits(actual):
        raise IntegrityError(fqdn, f"sha256-{fqdn.hash}...", actual, reason="its name has another")
    try:
        source = content.decode()
    except UnicodeDecodeError as error:
        raise CodeNotTextError(str(fqdn), error.start) from None
    return VerifiedCode(fqdn.with_hash(actual.removeprefix("sha256-")), source, integrity)
