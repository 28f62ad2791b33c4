"""Arguments beside a schema that a stranger wrote: `{"schema": ..., "arguments": ...}`.

Promised: nothing is raised, whatever the schema is; the complaint can be shown; time is bounded.
"""

import json

from pml.backends.capability.arguments import checker
from tests.fuzz.oracles import shown

WORDS = (
    b'{"schema":', b'"arguments":', b'"type":', b'"object"', b'"integer"', b'"properties":{', b'"required":["a"]', b'"$ref":"#"', b'"$ref":"http://x"',
    b'"anyOf":[', b'"not":', b'"if":', b'"pattern":"(a+)+$"', b'"minimum":', b'"multipleOf":', b'"uniqueItems":true', b'"enum":[', b'"const":',
    b'"$schema":"http://json-schema.org/draft-07/schema#"', b'"$id":"', b'"$dynamicRef":"#a"', b'"dependentSchemas":{', b'"contains":', b"1e999",
    b"0", b"-1", b"1e400", b"null", b"true", b"[", b"]", b"{", b"}", b",", b":", b'"', b"\\u202e", b'"additionalProperties":', b'"propertyNames":',
)  # fmt: skip


def one(data: bytes) -> None:
    """Check."""
    try:
        said = json.loads(data)
        schema, arguments = said["schema"], said["arguments"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return
    if isinstance(schema, dict) and isinstance(arguments, dict):
        shown(checker(schema)(arguments) or "")
