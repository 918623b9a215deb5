"""Dates and times in texts, in the forms that Flink's formats read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

from flinkish.common.durations import Instant
from flinkish.common.row_formats.errors import RecordError
from flinkish.common.row_formats.numbers import BLANKS, integer_of

__all__ = [
    "TimeForms",
    "epoch_instant_of",
    "instant_of",
    "iso_date",
    "iso_time",
    "jdbc_date",
    "jdbc_time",
    "jdbc_timestamp",
]

_YEAR = r"(\d{4}|[+-]\d{4,10})"
_DATE = re.compile(rf"{_YEAR}-(\d\d)-(\d\d)", re.A)
_CLOCK = r"(\d\d):(\d\d):(\d\d)(?:\.(\d{0,9}))?"
_ISO_CLOCK = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?"
_TIME = re.compile(_ISO_CLOCK, re.A)
_JDBC_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.A)
_JDBC_TIME = re.compile(r"(-?\d+):(-?\d+):(-?\d+)", re.A)
_JDBC_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2}) (-?\d+):(-?\d+):(-?\d+)(?:\.(\d{1,9}))?", re.A
)
_INSTANT = re.compile(rf"{_YEAR}-(\d\d)-(\d\d)T{_CLOCK}(Z|[+-]\d\d:\d\d)", re.A | re.I)
_DIGITS = re.compile(r"([+-]?\d+)(?:\.(\d{1,9}))?", re.A)
_NANOS = 9
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799


def _nanos(fraction: str | None) -> int:
    return int((fraction or "").ljust(_NANOS, "0"))


def _date(year: str, month: str, day: str, text: str) -> date:
    if not 1 <= int(year) <= 9999:
        raise RecordError(f"{text!r} is outside of Python's years, 1 to 9999")
    try:
        return date(int(year), int(month), int(day))
    except ValueError as error:
        raise RecordError(f"{text!r} is not a date: {error}") from error


def _clock(text: str, hour: str, minute: str, second: str | None, nanos: int) -> tuple[int, time]:
    """The days to add to the date, 1 for 24:00, and the time of day."""
    if (hour, int(minute), int(second or 0), nanos) == ("24", 0, 0, 0):
        return 1, time()
    try:
        return 0, time(int(hour), int(minute), int(second or 0), nanos // 1000)
    except ValueError as error:
        raise RecordError(f"{text!r} is not a time of day: {error}") from error


def _joined(day: date, days: int, clock: time, text: str) -> datetime:
    try:
        return datetime.combine(day, clock) + timedelta(days=days)
    except OverflowError as error:
        raise RecordError(f"{text!r} is outside of Python's years, 1 to 9999") from error


def iso_date(text: str) -> date:
    """A date such as ``2024-07-01``."""
    parts = _DATE.fullmatch(text)
    if parts is None:
        raise RecordError(f"{text!r} is not a date such as 2024-07-01")
    return _date(parts[1], parts[2], parts[3], text)


class TimeForms:
    """How a format of JSON writes times; ``example`` shows a timestamp.

    The rows of DataStreams take RFC 3339 in UTC; those of tables what ``timestamp-format.standard``
    says, where TIMESTAMP_LTZ has a Z and TIMESTAMP none.
    """

    def __init__(self, between: str, *, zone: str, local_zone: str, iso: bool = False) -> None:
        clock = _ISO_CLOCK if iso else _CLOCK
        self.between, self.zone, self.local_zone = between, zone, local_zone
        self._zone, self._clock = zone, re.compile(f"{_CLOCK}{zone}", re.A)
        flags = re.A | (re.I if iso else 0)
        self._stamp = re.compile(rf"{_YEAR}-(\d\d)-(\d\d){between}{clock}{zone}", flags)
        self._local = re.compile(rf"{_YEAR}-(\d\d)-(\d\d){between}{clock}{local_zone}", flags)

    def time(self, text: str) -> tuple[time, int]:
        """A time of day, and the nanoseconds within its second."""
        parts = self._clock.fullmatch(text)
        if parts is None:
            raise RecordError(f"{text!r} is not a time such as 12:34:56{self._zone}")
        nanos = _nanos(parts[4])
        return _clock(text, parts[1], parts[2], parts[3], nanos)[1], nanos

    def timestamp(self, text: str) -> datetime:
        """A timestamp without a zone."""
        return self._read(text, self._stamp, self.zone)

    def local_timestamp(self, text: str) -> datetime:
        """A point in time, in UTC."""
        return self._read(text, self._local, self.local_zone)

    def _read(self, text: str, form: re.Pattern[str], zone: str) -> datetime:
        parts = form.fullmatch(text)
        if parts is None:
            raise RecordError(
                f"{text!r} is not a timestamp such as 2024-07-01{self.between}12:34:56.5{zone}"
            )
        year, month, day, hour, minute, second, fraction = parts.groups()
        days, clock = _clock(text, hour, minute, second, _nanos(fraction))
        return _joined(_date(year, month, day, text), days, clock, text)


def iso_time(text: str) -> time:
    """A time of day such as ``12:34`` or ``12:34:56.5``."""
    parts = _TIME.fullmatch(text)
    if parts is None:
        raise RecordError(f"{text!r} is not a time such as 12:34:56")
    return _clock(text, parts[1], parts[2], parts[3], _nanos(parts[4]))[1]


def jdbc_date(text: str) -> date:
    """A date as java.sql.Date.valueOf reads it: ``2024-7-1``, too."""
    parts = _JDBC_DATE.fullmatch(text)
    if parts is None:
        raise RecordError(f"{text!r} is not a date such as 2024-07-01")
    return _rolled(parts, text)


def _rolled(parts: re.Match[str], text: str) -> date:
    """A date whose day may exceed the month: java.sql counts on into the next month."""
    year, month, day = int(parts[1]), int(parts[2]), int(parts[3])
    if not (1 <= month <= 12 and 1 <= day <= 31) or year < 1:
        raise RecordError(f"{text!r} is not a date")
    return date(year, month, 1) + timedelta(days=day - 1)


def jdbc_time(text: str) -> time:
    """A time as java.sql.Time.valueOf reads it: ``1:2:3``, too, and no fractions."""
    parts = _JDBC_TIME.fullmatch(text)
    if parts is None:
        raise RecordError(f"{text!r} is not a time such as 12:34:56")
    seconds = _seconds(parts.groups()) % 86_400
    return (datetime(2000, 1, 1) + timedelta(seconds=seconds)).time()


def jdbc_timestamp(text: str) -> datetime:
    """A timestamp as java.sql.Timestamp.valueOf reads it: with a blank between day and time."""
    parts = _JDBC_TIMESTAMP.fullmatch(text.strip(BLANKS))
    if parts is None:
        raise RecordError(f"{text!r} is not a timestamp such as 2024-07-01 12:34:56.5")
    micros = _nanos(parts[7]) // 1000
    day = datetime.combine(_rolled(parts, text), time())
    try:
        seconds = _seconds(parts.groups()[3:6])
        return day + timedelta(seconds=seconds, microseconds=micros)
    except OverflowError as error:
        raise RecordError(f"{text!r} is outside of Python's years, 1 to 9999") from error


def _seconds(clock: Sequence[str]) -> int:
    """Hours, minutes and seconds, each of which may be out of range, as in java.sql."""
    hours, minutes, seconds = (integer_of(text, 32) for text in clock)
    return (hours * 60 + minutes) * 60 + seconds


def instant_of(text: str) -> Instant:
    """A point in time in ISO 8601, with an offset."""
    parts = _INSTANT.fullmatch(text)
    if parts is None:
        raise RecordError(f"{text!r} is not a point in time such as 2024-07-01T12:34:56Z")
    year, month, day, hour, minute, second, fraction, zone = parts.groups()
    days, clock = _clock(text, hour, minute, second, _nanos(fraction))
    moment = _joined(_date(year, month, day, text), days, clock.replace(microsecond=0), text)
    shift = 0
    if zone.upper() != "Z":
        shift = (int(zone[1:3]) * 60 + int(zone[4:6])) * (-60 if zone[0] == "-" else 60)
    since = moment - datetime(1970, 1, 1)
    return _instant(since.days * 86_400 + since.seconds - shift, _nanos(fraction), text)


def epoch_instant_of(text: str) -> Instant | None:
    """The point in time of seconds since 1970, with a fraction; None for any other text."""
    digits = _DIGITS.fullmatch(text)
    if digits is None:
        return None
    seconds, nanos = integer_of(digits[1], None), _nanos(digits[2])
    if text.startswith("-") and nanos:
        return _instant(seconds - 1, 1_000_000_000 - nanos, text)
    return _instant(seconds, nanos, text)


def _instant(seconds: int, nanos: int, text: str) -> Instant:
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise RecordError(f"{text!r} is outside of Python's years, 1 to 9999, in UTC")
    return Instant(seconds, nanos)
