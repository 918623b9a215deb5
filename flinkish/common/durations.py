"""Lengths of time and points in time.

Inside flinkish a timestamp is an int of milliseconds since the epoch (UTC), and a duration an
int of milliseconds.  Every public duration is taken in any of the forms that
:func:`to_millis` reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from operator import index
from typing import SupportsIndex, TypeAlias

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError

__all__ = ["Duration", "DurationLike", "Instant", "Time", "to_millis"]

_NANOS_PER_MILLI = 1_000_000
_NANOS_PER_SECOND = 1_000_000_000


def _whole(value: object, what: str) -> int:
    if isinstance(value, SupportsIndex) and not isinstance(value, bool):
        return index(value)
    raise ArgumentTypeError(f"{what} must be an int, not {value!r}")


@dataclass(frozen=True, order=True, slots=True)
class Duration:
    """A length of time, exact to the nanosecond, as PyFlink's ``Duration``; may be negative.

    Made by ``of_days`` … ``of_nanos`` from ints.
    """

    _nanos: int

    def __post_init__(self) -> None:
        _whole(self._nanos, "nanoseconds")

    @staticmethod
    def of_days(days: int) -> Duration:
        """``days`` of 24 hours."""
        return Duration(_whole(days, "days") * 86_400 * _NANOS_PER_SECOND)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """``hours`` of 60 minutes."""
        return Duration(_whole(hours, "hours") * 3_600 * _NANOS_PER_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """``minutes`` of 60 seconds."""
        return Duration(_whole(minutes, "minutes") * 60 * _NANOS_PER_SECOND)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """A duration of so many whole seconds."""
        return Duration(_whole(seconds, "seconds") * _NANOS_PER_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """A duration of so many whole milliseconds."""
        return Duration(_whole(millis, "millis") * _NANOS_PER_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """A duration of so many whole nanoseconds."""
        return Duration(_whole(nanos, "nanos"))

    def to_millis(self) -> int:
        """Whole milliseconds, rounded down."""
        return self._nanos // _NANOS_PER_MILLI

    def to_nanos(self) -> int:
        """The whole duration in nanoseconds."""
        return self._nanos

    def __repr__(self) -> str:
        millis, nanos = divmod(self._nanos, _NANOS_PER_MILLI)
        return f"Duration<{self._nanos} ns>" if nanos else f"Duration<{millis} ms>"


@dataclass(frozen=True, order=True, slots=True, init=False)
class Time:
    """A length of time in milliseconds: PyFlink's older name for a duration."""

    _milliseconds: int

    def __init__(self, milliseconds: int) -> None:
        object.__setattr__(self, "_milliseconds", _whole(milliseconds, "milliseconds"))

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """A time of so many whole milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """A time of so many whole seconds."""
        return Time(_whole(seconds, "seconds") * 1_000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """``minutes`` of 60 seconds."""
        return Time(_whole(minutes, "minutes") * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """``hours`` of 60 minutes."""
        return Time(_whole(hours, "hours") * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """``days`` of 24 hours."""
        return Time(_whole(days, "days") * 86_400_000)

    def to_milliseconds(self) -> int:
        """The length in milliseconds."""
        return self._milliseconds

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"

    def __repr__(self) -> str:
        return f"Time<{self._milliseconds} ms>"


@dataclass(frozen=True, order=True, slots=True)
class Instant:
    """A point in time: ``seconds`` since the epoch, and ``nanos`` (0 … 999,999,999) after them."""

    seconds: int
    nanos: int

    def __post_init__(self) -> None:
        _whole(self.seconds, "seconds")
        if not 0 <= _whole(self.nanos, "nanos") < _NANOS_PER_SECOND:
            raise IllegalArgumentError(
                f"nanos of an Instant must be 0 to 999999999, not {self.nanos}: "
                "carry whole seconds over to seconds"
            )

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The instant ``epoch_milli`` milliseconds after the epoch; negative: before it."""
        seconds, millis = divmod(_whole(epoch_milli, "epoch_milli"), 1_000)
        return Instant(seconds, millis * _NANOS_PER_MILLI)

    def to_epoch_milli(self) -> int:
        """Milliseconds since the epoch, rounded down."""
        return self.seconds * 1_000 + self.nanos // _NANOS_PER_MILLI

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


DurationLike: TypeAlias = timedelta | Duration | Time | int | str
"""Whatever :func:`to_millis` reads."""

# Units of a fixed length: nanoseconds, and the names that Spark's and Flink's intervals give
# them, which may have an "s" added.
_UNITS = {
    "week": (604_800 * _NANOS_PER_SECOND, ("w",)),
    "day": (86_400 * _NANOS_PER_SECOND, ("d",)),
    "hour": (3_600 * _NANOS_PER_SECOND, ("h", "hr")),
    "minute": (60 * _NANOS_PER_SECOND, ("m", "min")),
    "second": (_NANOS_PER_SECOND, ("s", "sec")),
    "millisecond": (_NANOS_PER_MILLI, ("ms", "milli")),
    "microsecond": (1_000, ("us", "µs", "micro")),
    "nanosecond": (1, ("ns", "nano")),
}
_UNIT_OF = {
    name: unit
    for unit, (_, aliases) in _UNITS.items()
    for alias in (unit, *aliases)
    for name in (alias, f"{alias}s")
}
_UNSTEADY = ("month", "quarter", "year")
_TERM = re.compile(r"\s*([+-]?)\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-zµ]+)")
# ISO 8601: its parts have one order, and a T comes before hours, minutes and seconds.
_ISO = re.compile(
    r"([+-]?)p(?=.)(?:([+-]?[0-9]+)w)?(?:([+-]?[0-9]+)d)?"
    r"(?:t(?=.)(?:([+-]?[0-9]+)h)?(?:([+-]?[0-9]+)m)?(?:([+-]?[0-9]+(?:\.[0-9]*)?)s)?)?"
)


def _interval_nanos(text: str, what: str) -> Fraction:
    """Nanoseconds of an interval: ``[interval] NUMBER UNIT [NUMBER UNIT …]``, or in ISO 8601."""

    def refuse(why: str) -> IllegalArgumentError:
        return IllegalArgumentError(
            f"{what} {text!r} is not an interval: {why}; write for instance '10 seconds', "
            f"'200 ms', '1 minute 30 seconds' or 'PT10S', with the units {', '.join(_UNITS)}"
        )

    body = text.strip().lower().replace("μ", "µ")  # the Greek letter and the sign look alike
    if body.startswith("interval") and not body[8:9].isalpha():
        body = body[8:].strip()
    if not body:
        raise refuse("it is empty")
    iso = _ISO.fullmatch(body)
    if iso is not None:
        return (-1 if iso[1] == "-" else 1) * sum(
            (
                Fraction(number) * _UNITS[unit][0]
                for number, unit in zip(iso.groups()[1:], list(_UNITS)[:5], strict=True)
                if number is not None
            ),
            Fraction(0),
        )
    if re.match(r"[+-]?p", body):
        raise refuse("ISO 8601 has weeks and days, then T and hours, minutes, seconds: P1DT2H")
    total = Fraction(0)
    at = 0
    while at < len(body):
        term = _TERM.match(body, at)
        if term is None:
            raise refuse(f"a number and a unit are missing at {body[at:].strip()!r}")
        sign, number, word = term.groups()
        unit = _UNIT_OF.get(word)
        if unit is None and word.removesuffix("s") in _UNSTEADY:
            raise refuse(f"a {word.removesuffix('s')} has no fixed length, so use days")
        if unit is None:
            raise refuse(f"there is no unit {word!r}")
        if "." in number and unit != "second":
            raise refuse(f"only seconds may have a fraction, not {number} {word}")
        total += (-1 if sign == "-" else 1) * Fraction(number) * _UNITS[unit][0]
        at = term.end()
        if at < len(body) and not body[at].isspace():
            raise refuse(f"{body[at:]!r} follows {term.group().strip()!r}")
    return total


def to_millis(duration: DurationLike, what: str = "duration", *, minimum: int | None = None) -> int:
    """A duration in whole milliseconds, rounded down.

    ``duration`` is a ``timedelta``, a :class:`Duration`, a :class:`Time`, an int in
    milliseconds, or an interval as Spark and Flink write it (``"10 seconds"``, ``"200 ms"``,
    ``"10s"``, ``"5 min"``, ``"1 minute 30 seconds"``, ``"interval 2 hours"``) or ISO 8601 does
    (``"PT1M30S"``, ``"P1DT2H"``).  ``"m"`` is a minute, as in Flink.  ``what`` names the argument
    in errors; ``minimum`` is the least allowed number of milliseconds.

    ArgumentTypeError for other types, floats among them since their unit would be a guess;
    IllegalArgumentError for a string that is no interval, for a duration that is not zero but
    shorter than the millisecond in which the engine counts, and for less than ``minimum``.
    """
    nanos: int | Fraction
    if isinstance(duration, timedelta):
        nanos = (duration // timedelta(microseconds=1)) * 1_000
    elif isinstance(duration, Duration):
        nanos = duration.to_nanos()
    elif isinstance(duration, Time):
        nanos = duration.to_milliseconds() * _NANOS_PER_MILLI
    elif isinstance(duration, str):
        nanos = _interval_nanos(duration, what)
    elif isinstance(duration, SupportsIndex) and not isinstance(duration, bool):
        nanos = index(duration) * _NANOS_PER_MILLI
    else:
        raise ArgumentTypeError(
            f"{what} must be a timedelta, a Duration, a Time, an int in milliseconds or an "
            f"interval string such as '10 seconds', not {duration!r}"
        )
    millis = nanos // _NANOS_PER_MILLI
    if nanos and -_NANOS_PER_MILLI < nanos < _NANOS_PER_MILLI:
        raise IllegalArgumentError(
            f"{what} {duration!r} is shorter than 1 ms, and time is counted in milliseconds"
        )
    if minimum is not None and millis < minimum:
        raise IllegalArgumentError(f"{what} must be at least {minimum} ms, not {duration!r}")
    return millis
