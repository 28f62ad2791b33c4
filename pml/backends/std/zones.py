"""Time zones for built-ins: the guest has no `Intl`, so it asks for offsets. Knows IANA's names.

A name becomes part of a file's path where the system keeps its zones: only what looks like a name
of IANA's gets there, and what else lies in that folder is no zone. Nothing is told of the zone
that this machine is in.
"""

import datetime
import difflib
import functools
import re
import zoneinfo
from collections.abc import Callable, Mapping
from typing import Any

import anyio.to_thread

from sandbox_host import Call, ToolError
from sandbox_host.errors import printable

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(?:/[A-Za-z][A-Za-z0-9_+-]{0,30}){0,2}")
_NO_ZONES = ("posix/", "right/", "posixrules", "localtime", "Factory")  # files beside the zones
_SHOWN = 60  # characters of a name in a message
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class Zones:
    """Answers `zones:*`."""

    async def answer(self, call: Call) -> Any:
        """Answer a built-in's call."""
        ask = _ASKED.get(call.tool)
        zone, seconds = call.args.get("zone"), call.args.get("seconds")
        if ask is None or not isinstance(zone, str) or not isinstance(seconds, int | float):
            raise ToolError(f"a built-in cannot call `{call.tool}`")  # noqa: TRY003 - to a guest
        return await anyio.to_thread.run_sync(_answered, ask, zone, int(seconds))


def _answered(ask: Callable[..., Mapping[str, Any]], zone: str, seconds: int) -> Mapping[str, Any]:
    try:
        return ask(_zone(zone), seconds)
    except OverflowError:  # the offset leads out of the years that a datetime has
        raise ToolError("the time is not within the years 1 to 9999") from None  # noqa: TRY003


def _at(zone: zoneinfo.ZoneInfo, seconds: int) -> Mapping[str, Any]:
    """Give what a zone's clocks are off by at a moment."""
    local = (_EPOCH + datetime.timedelta(seconds=seconds)).astimezone(zone)
    return {"offset": _seconds(local), "abbreviation": local.tzname()}


def _local(zone: zoneinfo.ZoneInfo, seconds: int) -> Mapping[str, Any]:
    """Give the offsets under which clocks show a time, told as if it were UTC's.

    They differ where clocks are changed: set back, the first is the earlier moment; set forward,
    no clock shows the time, and the first offset gives the moment as far after the gap.
    """
    local = (_EPOCH + datetime.timedelta(seconds=seconds)).replace(tzinfo=zone)
    return {"first": _seconds(local), "second": _seconds(local.replace(fold=1))}


_ASKED: Mapping[str, Callable[[zoneinfo.ZoneInfo, int], Mapping[str, Any]]] = {
    "zones:at": _at,
    "zones:local": _local,
}


def _seconds(local: datetime.datetime) -> int:
    offset = local.utcoffset()
    return round(offset.total_seconds()) if offset is not None else 0


def _zone(name: str) -> zoneinfo.ZoneInfo:
    if _NAME.fullmatch(name) and not name.startswith(_NO_ZONES):
        try:
            return zoneinfo.ZoneInfo(name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass  # no such file, one that is no zone, a folder
    raise ToolError(f"there is no time zone `{printable(name, _SHOWN)}`{_near(name)}")  # noqa: TRY003


def _near(name: str) -> str:
    known = _known()
    exact = known.get(name.lower())
    near = [exact] if exact else difflib.get_close_matches(name[:_SHOWN], known.values(), n=1)
    if near:
        return f"; did you mean `{near[0]}`?"
    return "; zones are named as `Europe/Paris`, `UTC` or `+02:00`"


@functools.cache
def _known() -> Mapping[str, str]:
    """Give all names by their lower case; it takes a walk through the folder."""
    return {name.lower(): name for name in sorted(zoneinfo.available_timezones())}
