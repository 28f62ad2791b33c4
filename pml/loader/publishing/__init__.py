"""Publishing: what somebody hands in, checked, and how it is sent to a registry.

    reading  shapes        from a file to a `Publication`; pure, for both ends
    sending                `PUT {registry}/mcp/{fqdn}`, and what the answer means

Above: assembly and `pml publish`, which send; `pml/cloud`, which is handed in. Which files may be
sent, to whom and with which key is decided above.
"""

from pml.loader.publishing.errors import PublicationInvalidError, PublishingError
from pml.loader.publishing.publication import Draft, Outcome, Publication
from pml.loader.publishing.reading import (
    BUILTIN,
    MOST_BYTES,
    code_publication,
    filled,
    metadata_publication,
    publication_of,
    variables,
)
from pml.loader.publishing.sending import Publisher

__all__ = [
    "BUILTIN",
    "MOST_BYTES",
    "Draft",
    "Outcome",
    "Publication",
    "PublicationInvalidError",
    "Publisher",
    "PublishingError",
    "code_publication",
    "filled",
    "metadata_publication",
    "publication_of",
    "variables",
]
