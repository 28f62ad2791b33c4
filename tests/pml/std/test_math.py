"""`math`: expressions, exact numbers, statistics, bases, against Python."""

import fractions
import math
import operator
import statistics
from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_DOWN,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    ROUND_UP,
    Decimal,
    localcontext,
)
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Builtin

SETTINGS = settings(max_examples=40, deadline=None)
ROUNDINGS = {
    "half_even": ROUND_HALF_EVEN, "half_up": ROUND_HALF_UP, "half_down": ROUND_HALF_DOWN,
    "up": ROUND_UP, "down": ROUND_DOWN, "ceiling": ROUND_CEILING, "floor": ROUND_FLOOR,
}  # fmt: skip
OPERATORS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "%": operator.mod,
}  # fmt: skip

# An expression as text, with what it is worth.
Worth = tuple[str, fractions.Fraction | None]


def joined(parts: tuple[Worth, str, Worth]) -> Worth:
    (left, a), sign, (right, b) = parts
    text = f"({left}) {sign} ({right})"
    if a is None or b is None or (sign in "/%" and b == 0):
        return text, None
    return text, fractions.Fraction(OPERATORS[sign](a, b))


def negated(one: Worth) -> Worth:
    return f"-({one[0]})", None if one[1] is None else -one[1]


EXPRESSIONS: st.SearchStrategy[Worth] = st.recursive(
    st.decimals(0, 1000, places=2).map(lambda one: (str(one), fractions.Fraction(one))),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(list(OPERATORS)), inner).map(joined), inner.map(negated)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7), ("(1 + 2) * 3", 9), ("-2^2", -4), ("2^3^2", 512), ("2**-1", 0.5),
        ("10 - 4 - 3", 3), ("16 / 4 / 2", 2), ("--3", 3), ("-7 % 3", 2), ("7 % -3", -2),
        (".5 + 1.e1 + 2E-1", 10.7), ("round(2.5) + round(3.5)", 6), ("round(1234.5, -2)", 1200),
        ("round(2.675, 2)", 2.68), ("log(8, 2)", 3), ("ln(e)", 1), ("max(1, 5, 3) - min(2, 1)", 4),
        ("gcd(12, 18) + lcm(4, 6)", 18), ("factorial(5)", 120), ("hypot(3, 4)", 5),
        ("cos(pi)", -1), ("degrees(tau)", 360), ("sign(-4) * floor(-1.5)", 2), ("cbrt(27)", 3),
        ("atan2(0, 1)", 0), ("x * größe", 6),
    ],
)  # fmt: skip
async def test_expressions_are_worth_what_they_say(
    builtin: Builtin, expression: str, value: float
) -> None:
    found = await builtin("evaluate", expression=expression, variables={"x": 2, "größe": 3})
    assert found["value"] == pytest.approx(value, rel=1e-15, abs=1e-15)


@SETTINGS
@given(worth=EXPRESSIONS)
async def test_exact_values_are_those_of_fractions(builtin: Builtin, worth: Worth) -> None:
    text, value = worth
    if value is None:
        assert "Division by zero" in await builtin.refused("evaluate_exact", expression=text)
        return
    found = await builtin("evaluate_exact", expression=text)
    assert found["fraction"] == f"{value.numerator}/{value.denominator}"
    assert found["isExact"] == (fractions.Fraction(found["text"]) == value)
    approximate = await builtin("evaluate", expression=text.replace("%", "+"))
    assert math.isfinite(approximate["value"])


@SETTINGS
@given(
    numbers=st.lists(st.integers(1, 9), min_size=2, max_size=6),
    signs=st.lists(st.sampled_from(["+", "-", "*", "/", "%", "- -"]), min_size=5)
    | st.lists(st.sampled_from(["+", "-", "*", "/", "**", "- -", "**-"]), min_size=5),
)
async def test_precedence_is_pythons(
    builtin: Builtin, numbers: list[int], signs: list[str]
) -> None:
    pairs = zip(signs, numbers[1:], strict=False)
    text = f"{numbers[0]}.0" + "".join(f" {sign} {number}.0" for sign, number in pairs)
    try:
        value = eval(text)  # noqa: S307 - numbers and signs
    except OverflowError:
        assert "too large" in await builtin.refused("evaluate", expression=text)
        return
    found = await builtin("evaluate", expression=text)
    assert found["value"] == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("1 +", "A value is expected, not the end, at position 4: 1 + <HERE> "),
        ("(1 + 2", '")" is expected for the "(" at position 1, not the end, at position 7'),
        ("2 3", '"3" is not expected: a sign such as * is missing, at position 3'),
        ("1 + $", '"$" is not understood, at position 5'),
        ("foo(1)", 'There is no function "foo"; there are abs, sign, '),
        ("constructor(1)", 'There is no function "constructor"'),
        ("y", '"y" has no value; there are pi, tau, e, x'),
        ("sqrt", '"sqrt" is a function: "(" is expected after it'),
        ("atan2(1)", '"atan2" takes 2 values, not 1, at position 1'),
        ("1 / (2 - 2)", "Division by zero, at position 3"),
        ("0 ^ -1", "Division by zero, at position 3"),
        ("1 % 0", "Division by zero"),
        ("sqrt(-1)", "There is no real number for this, at position 1"),
        ("(-8) ^ (1/3)", "There is no real number for this, at position 6"),
        ("ln(0)", "A logarithm is of a number above 0"),
        ("10^400", "The number is too large for a float; evaluate_exact has no such bound"),
        ("factorial(2.5)", "An integer is expected"),
        ("factorial(5001)", "A factorial is of 0 to 5000"),
        ("(" * 150 + "1" + ")" * 150, "Nested deeper than 100, at position 101"),
        ("2^" * 150 + "1", "Nested deeper than 100"),
        ("-" * 150 + "1", "Nested deeper than 100"),
        (" ", "A value is expected, not the end"),
        ("process.exit()", '"." is not understood, at position 8'),
    ],
)
async def test_what_cannot_be_evaluated_is_told_with_its_place(
    builtin: Builtin, expression: str, words: str
) -> None:
    assert words in await builtin.refused("evaluate", expression=expression, variables={"x": 1})


async def test_a_long_chain_is_no_depth(builtin: Builtin) -> None:
    assert (await builtin("evaluate", expression="+".join(["1"] * 4000)))["value"] == 4000


async def test_a_variable_hides_a_constant_and_must_be_a_number(builtin: Builtin) -> None:
    assert (await builtin("evaluate", expression="e", variables={"e": 5}))["value"] == 5
    assert "`variables.x` must be a number" in await builtin.refused(
        "evaluate", expression="x", variables={"x": "1"}
    )


@pytest.mark.parametrize(
    ("arguments", "text", "is_exact"),
    [
        ({"expression": "0.1 + 0.2"}, "0.3", True),
        ({"expression": "1 / 3"}, "0.33333333333333333333", False),
        ({"expression": "2 / 3", "places": 2}, "0.67", False),
        ({"expression": "2 ^ 100"}, str(2**100), True),
        ({"expression": "2 ^ -2"}, "0.25", True),
        ({"expression": "factorial(50) / factorial(48)"}, "2450", True),
        ({"expression": "1.10 * 3", "places": 4}, "3.3000", True),
        ({"expression": "0.125", "places": 2}, "0.12", False),
        ({"expression": "0.125", "places": 2, "rounding": "half_up"}, "0.13", False),
        ({"expression": "-0.001", "places": 2}, "0.00", False),
        ({"expression": "a * b", "variables": {"a": "1e30", "b": 0.1}}, "1" + "0" * 29, True),
        ({"expression": "(-1) ^ 1000000001"}, "-1", True),
        ({"expression": "lcm(4, 6) + gcd(2^70, 6^40) % 7 + ceil(-0.5) + trunc(-1.5)"}, "13", True),
        ({"expression": "round(2.5) + round(12.345, 2)"}, "14.34", True),
    ],
)
async def test_exact_arithmetic_rounds_only_when_told(
    builtin: Builtin, arguments: dict[str, Any], text: str, is_exact: bool
) -> None:
    found = await builtin("evaluate_exact", **arguments)
    assert (found["text"], found["isExact"]) == (text, is_exact)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("10 ^ (10 ^ 10)", "The number has more than 200000 bits, at position 4"),
        ("2 ^ 150000 * 2 ^ 150000", "The number has more than 200000 bits"),
        ("1e99999", "The exponent is beyond 10000, at position 1"),
        ("2 ^ 0.5", "An exact power has an integer as its exponent, at position 3"),
        ("0 ^ -1", "Division by zero"),
        ("gcd(1.5, 2)", "An integer is expected"),
        ("round(1, 1001)", "There are at most 1000 places"),
    ],
)
async def test_exact_numbers_have_bounds(builtin: Builtin, expression: str, words: str) -> None:
    assert words in await builtin.refused("evaluate_exact", expression=expression)


async def test_a_variable_that_is_no_number_is_refused(builtin: Builtin) -> None:
    words = await builtin.refused("evaluate_exact", expression="x", variables={"x": "1,5"})
    assert words == '"1,5" is not a decimal number'


@SETTINGS
@given(
    value=st.decimals(-1000, 1000, places=4), places=st.integers(-2, 5),
    rounding=st.sampled_from(list(ROUNDINGS)),
)  # fmt: skip
async def test_rounding_is_that_of_decimal(
    builtin: Builtin, value: Decimal, places: int, rounding: str
) -> None:
    found = await builtin("round", value=str(value), places=places, rounding=rounding)
    with localcontext() as context:
        context.prec = 50
        expected = value.quantize(Decimal(1).scaleb(-places), rounding=ROUNDINGS[rounding])
    assert Decimal(found["text"]) == expected
    assert expected != 0 or not found["text"].startswith("-")
    assert found["value"] == float(expected)


@SETTINGS
@given(values=st.lists(st.integers(-1000, 1000).map(lambda n: n / 8), min_size=1, max_size=20))
async def test_statistics_are_those_of_python(builtin: Builtin, values: list[float]) -> None:
    found = await builtin("statistics", values=values)
    near = {"rel": 1e-9, "abs": 1e-9}
    assert found["count"] == len(values)
    assert found["sum"] == pytest.approx(math.fsum(values), **near)
    assert found["mean"] == pytest.approx(statistics.fmean(values), **near)
    assert found["median"] == pytest.approx(statistics.median(values), **near)
    assert (found["min"], found["max"]) == (min(values), max(values))
    population = statistics.pvariance(values)
    assert found["populationVariance"] == pytest.approx(population, **near)
    assert found["populationStandardDeviation"] == pytest.approx(math.sqrt(population), **near)
    if len(values) == 1:
        assert (found["sampleVariance"], found["sampleStandardDeviation"]) == (None, None)
        return
    assert found["sampleVariance"] == pytest.approx(statistics.variance(values), **near)
    quartiles = statistics.quantiles(values, n=4, method="inclusive")
    assert [one["value"] for one in found["percentiles"]] == pytest.approx(quartiles, **near)


async def test_modes_and_percentiles_at_the_ends(builtin: Builtin) -> None:
    found = await builtin("statistics", values=[3, 1, 3, 2, 1], percentiles=[0, 100])
    assert found["modes"] == [1, 3]
    assert [one["value"] for one in found["percentiles"]] == [1, 3]
    assert (await builtin("statistics", values=[1, 2]))["modes"] == []
    assert (await builtin("statistics", values=[7]))["modes"] == [7]
    assert "at least 1 items" in await builtin.refused("statistics", values=[])
    assert "`percentiles[0]` must be at most 100" in await builtin.refused(
        "statistics", values=[1], percentiles=[101]
    )


@SETTINGS
@given(number=st.integers(-(2**200), 2**200), base=st.integers(2, 36))
async def test_a_number_comes_back_from_any_base(builtin: Builtin, number: int, base: int) -> None:
    there = (await builtin("convert_base", number=str(number), to=base))["text"]
    assert int(there, base) == number
    back = await builtin("convert_base", number=there.upper(), **{"from": base}, to=10)
    assert back["text"] == str(number)


async def test_prefixes_are_understood_and_other_digits_refused(builtin: Builtin) -> None:
    for number, options, text in [
        ("0xFF", {}, "255"), ("-0b101", {}, "-5"), ("0o17", {}, "15"), ("1_000", {}, "1000"),
        ("0b1", {"from": 16}, "177"), ("0xff", {"from": 16}, "255"), ("-0", {}, "0"),
    ]:  # fmt: skip
        assert (await builtin("convert_base", number=number, to=10, **options))["text"] == text
    words = await builtin.refused("convert_base", number="129", **{"from": 8}, to=10)
    assert words == '"9" is no digit of base 8: 129'
    for number in ("1.5", "--1", "_", "０"):
        assert "digit" in await builtin.refused("convert_base", number=number, to=2)
