import io
import json

from hypothesis import given
from hypothesis import strategies as st

from pml.cli.console import Console, shown

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def console(*, is_terminal: bool = False) -> Console:
    return Console(io.BytesIO(), io.StringIO(), stdout_is_terminal=is_terminal)


@given(st.text())
def test_shown_text_is_harmless_and_plain_text_is_unchanged(text: str) -> None:
    result = shown(text)
    assert all(character.isprintable() or character in "\n\t" for character in result)
    if all(character.isprintable() for character in text):
        assert result == text


@given(json_values, st.booleans())
def test_a_document_reads_back_as_the_same_value(value: object, is_terminal: bool) -> None:
    here = console(is_terminal=is_terminal)
    here.document(value)
    assert json.loads(here.stdout.getvalue()) == value


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_string_reaches_a_pipe_byte_for_byte(text: str) -> None:
    here = console()
    here.result(text)
    assert here.stdout.getvalue() == f"{text}\n".encode()


def test_an_error_is_message_then_place_then_hint() -> None:
    here = console()
    here.error("it broke", excerpt="  --> here:1:1", hint="mend it")
    assert here.stderr.getvalue() == "error: it broke\n  --> here:1:1\nhint: mend it\n"
