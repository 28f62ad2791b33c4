from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.keys import EnvFileInvalidError
from pml.keys.dotenv import parse_dotenv

PATH = Path("/app/.env")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("A=b", "b"),
        ("  export\tA = b  ", "b"),
        ("A=", ""),
        ("A=  # nothing", ""),
        ("A=b#c", "b#c"),
        ("A=b # c", "b"),
        ("A=b c", "b c"),
        ("A=b=c==", "b=c=="),
        ("A=pa$$word$1", "pa$$word$1"),
        ("A='${B} `c` # \\n'", "${B} `c` # \\n"),
        (r'A="b\n\t\"\\\$"', 'b\n\t"\\$'),
        (r'A="\${B}"', "${B}"),
        ('A="-----BEGIN\nabc\n-----END" # a key', "-----BEGIN\nabc\n-----END"),
        ("A='b\nc'", "b\nc"),
        ("A=b\r\n", "b"),
        ("\n# c\n\nA=b\n\n", "b"),
        ("A=é", "é"),
    ],
)
def test_a_value_is_read_as_it_stands(text: str, value: str) -> None:
    assert parse_dotenv(text, PATH) == {"A": value}


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("A=1\nhunter2", 2, "a line is `NAME=value`"),
        ("A=1\n\n1A=hunter2", 3, "a line is `NAME=value`"),
        ("export hunter2", 1, "a line is `NAME=value`"),
        ("\ufeffA=hunter2", 1, "a line is `NAME=value`"),
        ('B="x\ny"\nA="hunter2', 3, "a quote is not closed"),
        ("A='hunter2", 1, "a quote is not closed"),
        ("A='hunter2'x", 1, "something stands after the closing quote"),
    ],
)
def test_a_line_that_means_nothing_is_told_by_its_number_alone(
    text: str, line: int, reason: str
) -> None:
    with pytest.raises(EnvFileInvalidError) as caught:
        parse_dotenv(text, PATH)
    assert caught.value.message.startswith(f"/app/.env:{line}: {reason}")
    assert caught.value.line == line
    assert "hunter2" not in f"{caught.value!r}{caught.value.hint}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A=${B}", "variables and commands are not filled in here"),
        ("A=$(hunter2)", "variables and commands are not filled in here"),
        ("A=`hunter2`", "variables and commands are not filled in here"),
        ('A="${B:-hunter2}"', "variables and commands are not filled in here"),
        (r'A="\d"', "an unknown escape"),
        ("A=\0", "the value has a NUL character"),
        ("A=1\nA=2", "A is already set, on line 2"),
    ],
)
def test_a_value_that_cannot_be_meant_concerns_its_name_alone(text: str, reason: str) -> None:
    found = parse_dotenv(f"B=1\n{text}\nC=3", PATH)
    assert (found["B"], found["C"]) == ("1", "3")
    problem = found["A"]
    assert isinstance(problem, EnvFileInvalidError)
    assert reason in problem.message
    assert "hunter2" not in f"{problem!r}"


@given(st.text(alphabet=st.characters(exclude_characters="'\0\r", exclude_categories=["Cs"])))
def test_single_quotes_keep_anything(value: str) -> None:
    assert parse_dotenv(f"A='{value}'\nB=1", PATH) == {"A": value, "B": "1"}


def outcome(text: str) -> int | None:
    """Give the line that was refused, None if all was understood."""
    try:
        parse_dotenv(text, PATH)
    except EnvFileInvalidError as error:
        return error.line
    return None


@given(st.text(alphabet="A='\"\\ #\n\t$`e", max_size=40))
def test_any_text_is_understood_or_refused_at_one_of_its_lines(text: str) -> None:
    assert outcome(text) in (None, *range(1, text.count("\n") + 2))


HOSTILE = {
    "spaces": "A=" + " " * 200_000 + "x",
    "only spaces": " " * 200_000,
    "backslashes": 'A="' + "\\" * 200_000,
    "lines": "\n" * 200_000,
    "entries": "".join(f"A{number}=1\n" for number in range(30_000)),
    "comments": "A=" + " #" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_takes_no_time(name: str) -> None:
    # a pattern that goes back over what it has read would take minutes here
    assert outcome(HOSTILE[name]) in (None, 1)
