"""Where a registry may send us: from a name to one version of it, at the same place. Pure."""

from urllib.parse import urljoin, urlsplit

from pml.errors import PmlError
from pml.fqdn import Fqdn
from sandbox_host.errors import printable

_SHOWN = 120  # characters of an address


def version_at(asked: str, location: str, name: Fqdn) -> Fqdn | str:
    """Give the version that the address `asked` is redirected to, or why it is not followed."""
    try:
        there, here = urlsplit(urljoin(asked, location)), urlsplit(asked)
        same = (there.scheme, there.netloc) == (here.scheme, here.netloc)
    except ValueError:
        return "it redirects to what is no address"
    if not same:
        shown = printable(f"{there.scheme}://{there.netloc}", _SHOWN)
        return f"it redirects to {shown}, another origin"
    folder, _, last = there.path.rpartition("/")
    elsewhere = f"it redirects `{name}` to `{printable(there.path, _SHOWN)}`"
    if name.hash is not None or folder != here.path.rpartition("/")[0] or there.query:
        return elsewhere
    try:
        found = Fqdn.parse(last)
    except PmlError:
        return elsewhere
    return found if found.base == name.base and found.hash is not None else elsewhere
