"""`datetime`: ISO 8601, calendars and zones, against Python."""

import datetime
import zoneinfo
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Builtin

SETTINGS = settings(max_examples=30, deadline=None)
ZONES = st.sampled_from(
    ["Europe/Paris", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Monrovia"]
)
TIMES = st.datetimes(
    datetime.datetime(1900, 1, 1), datetime.datetime(2199, 12, 31)  # noqa: DTZ001 - of a wall clock
).map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))  # fmt: skip


def epoch_ms(time: datetime.datetime) -> int:
    return (time - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(
        milliseconds=1
    )


async def test_now_is_now_in_the_zone(builtin: Builtin) -> None:
    before = epoch_ms(datetime.datetime.now(datetime.UTC))
    found = await builtin("now", zone="Asia/Kolkata")
    assert before <= found["epochMs"] <= epoch_ms(datetime.datetime.now(datetime.UTC))
    assert found["iso"].endswith("+05:30")
    assert (await builtin("now"))["iso"].endswith("Z")


async def test_a_moment_is_told_in_every_way(builtin: Builtin) -> None:
    assert await builtin("parse", text="2026-11-18T08:05:59.1239+01:00", zone="Europe/Paris") == {
        "iso": "2026-11-18T08:05:59.123+01:00", "utc": "2026-11-18T07:05:59.123Z",
        "epochMs": 1794985559123, "zone": "Europe/Paris", "offset": "+01:00",
        "abbreviation": "CET", "date": "2026-11-18", "year": 2026, "month": 11, "day": 18,
        "hour": 8, "minute": 5, "second": 59, "millisecond": 123, "weekday": "Wednesday",
        "isoWeekday": 3, "isoWeek": 47, "isoWeekYear": 2026, "dayOfYear": 322,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-11-18", "2026-11-18T00:00:00.000Z"), ("20261118", "2026-11-18T00:00:00.000Z"),
        ("2026-322", "2026-11-18T00:00:00.000Z"), ("2026322", "2026-11-18T00:00:00.000Z"),
        ("2026-W47-3", "2026-11-18T00:00:00.000Z"), ("2026W473", "2026-11-18T00:00:00.000Z"),
        ("2026-W53-7", "2027-01-03T00:00:00.000Z"), ("2024-366", "2024-12-31T00:00:00.000Z"),
        ("2026-11-18T08:05", "2026-11-18T08:05:00.000Z"),
        ("2026-11-18 08:05:59,5z", "2026-11-18T08:05:59.500Z"),
        ("20261118T080559-0330", "2026-11-18T08:05:59.000-03:30"),
        ("2026-11-18T08:05-03", "2026-11-18T08:05:00.000-03:00"),
        ("1900-01-01T00:00+00:09:21", "1900-01-01T00:00:00.000+00:09:21"),
        ("0001-01-01", "0001-01-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59.999", "9999-12-31T23:59:59.999Z"),
    ],
)  # fmt: skip
async def test_the_forms_of_iso_8601_are_read(builtin: Builtin, text: str, iso: str) -> None:
    assert (await builtin("parse", text=text))["iso"] == iso


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2026-02-29", "The day of February 2026 is 1 to 28, not 29: 2026-02-29"),
        ("2026-13-01", "The month is 1 to 12, not 13"),
        ("2026-00-01", "The month is 1 to 12, not 0"),
        ("2025-W53-1", "The week is 1 to 52, not 53"),
        ("2026-366", "The day of the year is 1 to 365, not 366"),
        ("2026-01-01T24:00", "The hour is 0 to 23, not 24 (write 00:00 of the next day)"),
        ("2026-12-31T23:59:60Z", "not 60 (leap seconds are not counted)"),
        ("2026-01-01T00:00+24:00", "An offset is at most 23:59:59"),
        ("0000-01-01", "The year is 1 to 9999, not 0"),
        ("0001-01-01T00:00+01:00", "The time is not within the years 1 to 9999"),
        ("18.11.2026", "Not a date or time of ISO 8601"),
        ("2026-11-18T8:05", "Not a date or time of ISO 8601"),
        ("2026-1118", "Not a date or time of ISO 8601"),
        ("tomorrow", 'Not a date or time of ISO 8601 (2026-11-18, 2026-11-18T08:05:59.123+01:00): "tomorrow"'),
    ],
)  # fmt: skip
async def test_what_is_no_time_is_told(builtin: Builtin, text: str, words: str) -> None:
    assert words in await builtin.refused("parse", text=text)


@SETTINGS
@given(time=TIMES, zone=ZONES)
async def test_a_wall_clock_means_the_moment_that_python_means(
    builtin: Builtin, time: datetime.datetime, zone: str
) -> None:
    found = await builtin("parse", text=time.isoformat(), zone=zone)
    moment = time.replace(tzinfo=zoneinfo.ZoneInfo(zone))
    assert found["epochMs"] == epoch_ms(moment)
    seen = moment.astimezone(datetime.UTC).astimezone(zoneinfo.ZoneInfo(zone))
    assert found["iso"].startswith(seen.isoformat(timespec="milliseconds"))
    assert (found["abbreviation"], found["dayOfYear"]) == (seen.tzname(), seen.timetuple().tm_yday)
    week = (found["isoWeekYear"], found["isoWeek"], found["isoWeekday"])
    assert week == tuple(seen.isocalendar())


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-03-29T02:30", "2026-03-29T03:30:00.000+02:00"),
        ("2026-10-25T02:30", "2026-10-25T02:30:00.000+02:00"),
    ],
)
async def test_where_clocks_change_a_time_has_one_meaning(
    builtin: Builtin, text: str, iso: str
) -> None:
    assert (await builtin("parse", text=text, zone="Europe/Paris"))["iso"] == iso


@pytest.mark.parametrize(
    "zone",
    ["../../../etc/passwd", "/etc/localtime", "Europe/../../../../etc/passwd", "posixrules",
     "posix/Europe/Paris", "right/UTC", "localtime", "tzdata.zi", "zone.tab", "America", "", "Mars/Base",
     "Europe/Paris\0", "Europe//Paris", "A" * 100],
)  # fmt: skip
async def test_a_name_that_is_no_zone_leads_to_no_file(builtin: Builtin, zone: str) -> None:
    """Attack: the name of a zone is the path of another file, or tells where the user is."""
    assert "there is no time zone `" in await builtin.refused("now", zone=zone)


async def test_a_zone_that_is_nearly_right_is_told(builtin: Builtin) -> None:
    assert "did you mean `Europe/Paris`?" in await builtin.refused("now", zone="europe/paris")
    assert "did you mean `Europe/Paris`?" in await builtin.refused("now", zone="Europe/Pariss")


@pytest.mark.parametrize(
    ("arguments", "iso"),
    [
        ({"time": "2026-01-31", "months": 1}, "2026-02-28T00:00:00.000Z"),
        ({"time": "2024-01-31", "months": 1}, "2024-02-29T00:00:00.000Z"),
        ({"time": "2024-02-29", "years": 1}, "2025-02-28T00:00:00.000Z"),
        ({"time": "2026-03-31", "months": -13}, "2025-02-28T00:00:00.000Z"),
        ({"time": "2026-01-31", "months": 1, "days": 1}, "2026-03-01T00:00:00.000Z"),
        ({"time": "2026-11-18T10:00Z", "weeks": 1, "hours": -1}, "2026-11-25T09:00:00.000Z"),
        ({"time": 0, "milliseconds": -1}, "1969-12-31T23:59:59.999Z"),
        ({"time": "2026-03-28T12:00", "days": 1, "zone": "Europe/Paris"}, "2026-03-29T12:00:00.000+02:00"),
        ({"time": "2026-03-28T12:00", "hours": 24, "zone": "Europe/Paris"}, "2026-03-29T13:00:00.000+02:00"),
        ({"time": "2026-03-28T02:30", "days": 1, "zone": "Europe/Paris"}, "2026-03-29T03:30:00.000+02:00"),
    ],
)  # fmt: skip
async def test_adding_goes_by_the_calendar(
    builtin: Builtin, arguments: dict[str, Any], iso: str
) -> None:
    assert (await builtin("add", **arguments))["iso"] == iso


@pytest.mark.parametrize(
    "arguments",
    [{"days": 1}, {"years": 10**12}, {"milliseconds": 10**12}, {"months": -120000}],
)
async def test_a_sum_beyond_the_calendar_is_refused(
    builtin: Builtin, arguments: dict[str, int]
) -> None:
    words = await builtin.refused("add", time="9999-12-31", **arguments)
    assert words == "The time is not within the years 1 to 9999"


@SETTINGS
@given(first=TIMES, second=TIMES, zone=ZONES)
async def test_a_difference_leads_from_one_to_the_other(
    builtin: Builtin, first: datetime.datetime, second: datetime.datetime, zone: str
) -> None:
    ends = {"from": first.isoformat(), "to": second.isoformat()}
    found = await builtin("difference", **ends, zone=zone)
    start, end = ends.values() if found["sign"] >= 0 else reversed(ends.values())
    moment = await builtin("parse", text=start, zone=zone)
    reached = await builtin("add", time=moment["iso"], zone=zone, **found["calendar"])
    assert reached["epochMs"] == (await builtin("parse", text=end, zone=zone))["epochMs"]
    place = zoneinfo.ZoneInfo(zone)
    apart = epoch_ms(second.replace(tzinfo=place)) - epoch_ms(first.replace(tzinfo=place))
    assert found["milliseconds"] == apart
    assert all(amount >= 0 for amount in found["calendar"].values())
    assert found["calendar"]["months"] < 12
    assert found["calendar"]["days"] <= 31


async def test_a_difference_is_told_in_all_and_by_the_calendar(builtin: Builtin) -> None:
    found = await builtin("difference", **{"from": "2024-02-29", "to": "2026-03-01T01:02:03.5"})
    assert (found["iso"], found["hours"]) == ("P2Y1DT1H2M3.5S", pytest.approx(17545.034305555557))
    back = await builtin("difference", **{"to": "2024-02-29", "from": "2026-03-01"})
    assert (back["sign"], back["iso"], back["days"]) == (-1, "-P2Y1D", -731)
    none = await builtin("difference", **{"from": 0, "to": "1970-01-01"})
    assert (none["sign"], none["iso"]) == (0, "PT0S")


@SETTINGS
@given(time=TIMES, zone=ZONES)
async def test_formats_are_those_of_python(
    builtin: Builtin, time: datetime.datetime, zone: str
) -> None:
    pattern = "%Y %y %m %B %b %d %e %j %A %a %u %w %G %V %H %I %p %M %S %f %F %T %R %%"
    seen = time.replace(tzinfo=zoneinfo.ZoneInfo(zone)).astimezone(datetime.UTC)
    found = await builtin("format", time=epoch_ms(seen), pattern=f"{pattern} %z %Z", zone=zone)
    place = seen.astimezone(zoneinfo.ZoneInfo(zone))
    assert found["text"] == place.strftime(f"{pattern} %z %Z")


async def test_a_format_without_padding_and_one_that_is_none(builtin: Builtin) -> None:
    found = await builtin(
        "format", time="2026-01-02T03:04:05.006", pattern="%-d.%-m. %-H:%M:%S.%L %:z %s"
    )
    assert found["text"] == "2.1. 3:04:05.006 +00:00 1767323045"
    assert (await builtin("format", time=0, pattern="%-H%-M"))["text"] == "00"
    assert (await builtin.refused("format", time=0, pattern="%Y-%Q")).startswith(
        "%Q at position 4 is no directive; there are %Y %y"
    )
    assert "% at position 2 is no directive" in await builtin.refused(
        "format", time=0, pattern="a%"
    )


async def test_a_moment_is_told_in_another_zone(builtin: Builtin) -> None:
    found = await builtin("convert_zone", time="2026-07-01T12:00Z", zone="America/New_York")
    assert (found["iso"], found["abbreviation"]) == ("2026-07-01T08:00:00.000-04:00", "EDT")
    found = await builtin(
        "convert_zone", time="2026-07-01T12:00", zone="+0530", **{"from": "Europe/Paris"}
    )
    assert (found["iso"], found["zone"]) == ("2026-07-01T15:30:00.000+05:30", "+05:30")
    early = await builtin("convert_zone", time="1800-01-01T00:00Z", zone="Europe/Paris")
    assert early["offset"] == "+00:09:21"
    assert "years 1 to 9999" in await builtin.refused(
        "convert_zone", time="9999-12-31T23:00Z", zone="Asia/Tokyo"
    )
    assert "years 1 to 9999" in await builtin.refused("convert_zone", time=1e300, zone="UTC")
