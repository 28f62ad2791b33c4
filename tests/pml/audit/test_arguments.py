import blake3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.audit import argument_hash

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@given(st.dictionaries(st.text(), values, max_size=5))
def test_the_order_of_keys_does_not_count(arguments: dict[str, object]) -> None:
    turned = dict(reversed(list(arguments.items())))
    assert argument_hash(turned) == argument_hash(arguments)


def test_the_hash_is_that_of_canonical_json() -> None:
    wanted = blake3.blake3('{"a":"é","b":[1,2.5,null]}'.encode()).hexdigest()
    assert argument_hash({"b": [1, 2.5, None], "a": "é"}) == wanted


@pytest.mark.parametrize(
    ("one", "other"), [({"a": 1}, {"a": "1"}), ({"a": 1}, {"a": 1.0}), ({}, {"a": None}), ([], {})]
)
def test_other_arguments_have_another_hash(one: object, other: object) -> None:
    assert argument_hash(one) != argument_hash(other)


def test_half_a_character_has_a_hash_and_no_number_has_none() -> None:
    assert argument_hash({"a": "\ud800"}) != argument_hash({"a": "?"})
    with pytest.raises(ValueError, match="Out of range"):
        argument_hash({"a": float("nan")})
