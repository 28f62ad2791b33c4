"""Takes known secrets out of text and JSON, whatever they were encoded with.

    redactor = Redactor({"GITHUB_TOKEN": token})
    redactor.text(f"Authorization: Basic {b64encode(token)}")  # ... [secret GITHUB_TOKEN]

Masked are the value and its base64 (any alignment, both alphabets), hex, URL-encoded and
JSON-escaped forms, inside longer text and in keys of objects. Not masked: what was encrypted,
compressed, reversed or split. Pure; above: audit, assembly, whoever shows something.
"""

from pml.redaction.redactor import LEAST_CHARACTERS, Redactor
from pml.redaction.selection import looks_secret, secrets_of

__all__ = ["LEAST_CHARACTERS", "Redactor", "looks_secret", "secrets_of"]
