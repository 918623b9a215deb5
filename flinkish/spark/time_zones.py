"""Time zones as Spark names them, as Python has them.

Spark takes for a session what `java.time.ZoneId.of` takes with its `SHORT_IDS`: regions, offsets in
several forms, and short names, of which each is a region or an offset of Java's choice: "CST" is
Chicago, "IST" is Kolkata.  Workers need a `tzinfo`, so the driver looks for one when an operator is
defined, and not each worker at its first row.
"""

from __future__ import annotations

import re
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from flinkish.common.errors import IllegalArgumentError

__all__ = ["time_zone_of"]

_FARTHEST = timedelta(hours=18)  # from UTC, in Java
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d{1,2})"
    r"(?::?(?P<minutes>\d{1,2})(?::?(?P<seconds>\d{2}))?)?"
)
_UTC = {"UTC", "Etc/UTC", "Z", "UT", "GMT"}

# java.time.ZoneId.SHORT_IDS
_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}


def time_zone_of(name: str) -> tzinfo:
    """The zone that Spark means; IllegalArgumentError if Python has none like it."""
    region = _SHORT.get(name, name)
    if region in _UTC:
        return timezone.utc
    offset = _OFFSET.fullmatch(region)
    if offset is not None:
        parts = {part: int(offset[part] or 0) for part in ("hours", "minutes", "seconds")}
        if parts["minutes"] < 60 and parts["seconds"] < 60 and timedelta(**parts) <= _FARTHEST:
            found = timedelta(**parts)
            return timezone(-found if offset["sign"] == "-" else found)
    try:
        return ZoneInfo(region)
    except (KeyError, ValueError, OSError) as error:  # the last of a name that is a directory
        raise IllegalArgumentError(
            f"spark.sql.session.timeZone is {name!r}, and Python knows no such time zone, by which "
            "operators read times without one: set it to a region, such as 'Europe/Berlin', or to "
            "an offset, such as '+08:00'; if it is a region, install the package tzdata"
        ) from error
