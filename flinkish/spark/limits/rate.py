"""The limits that users set: calls a time, calls at once, and when to take less."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Literal, get_args

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError

__all__ = ["Adaptive", "Concurrency", "Rate", "Scope"]

Scope = Literal["job", "worker"]
"""Whether a limit holds for all partitions together, or for each of them by itself."""

_RATE = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(?:/|\bper\b)\s*(\d*)\s*([a-z]+)\s*", re.ASCII)
_BURST_MS = 30  # permits of this time may be saved up, unless the user says


@dataclass(frozen=True)
class Adaptive:
    """Go below a limit while a service says that it is too much, and slowly back up.

    ``throttled`` is asked about every error of a call.  It returns False for those that say
    nothing about load, True for those that do (429, 503), or, where the answer told when to come
    back, that duration: nobody starts a call before.  Then the limit becomes ``decrease`` times
    what it was, and grows by ``increase`` times its full value a second; it never falls below
    ``minimum`` times that.  Errors of calls that were started before the last decrease do not
    count, for they tell about the limit that was.
    """

    throttled: Callable[[BaseException], bool | DurationLike]
    _: KW_ONLY
    decrease: float = 0.5
    increase: float = 0.05
    minimum: float = 0.01

    def __post_init__(self) -> None:
        if not callable(self.throttled):
            raise ArgumentTypeError(
                f"throttled must be a function of an error, not {self.throttled!r}: return True "
                "for errors that ask for fewer calls, or the duration to wait for"
            )
        bounds = {"decrease": (0, 1, False), "increase": (0, None, True), "minimum": (0, 1, True)}
        for name, (low, high, closed) in bounds.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ArgumentTypeError(f"{name} must be a number, not {value!r}")
            above = high is not None and (value > high if closed else value >= high)
            if not value > low or above or value == float("inf"):
                upper = "" if high is None else f" and {'at most' if closed else 'below'} {high}"
                raise IllegalArgumentError(f"{name} must be above {low}{upper}, not {value!r}")

    def retry_after_ns(self, error: BaseException) -> int | None:
        """How long to wait after this error, in ns, 0 for no time at all; None: not throttled."""
        verdict = self.throttled(error)
        if isinstance(verdict, bool) or verdict is None:
            return 0 if verdict else None
        return to_millis(verdict, "what throttled returned", minimum=0) * 1_000_000


@dataclass(frozen=True)
class Rate:
    """A limit to how many calls are started a time: ``Rate("500/s")``, ``Rate("90 per minute")``.

    ``text`` is a number, ``/`` or ``per``, and a unit of durations (``ms s min h d`` or spelled
    out) or a number of them: ``"10/5 seconds"``.  ``burst`` is how many permits may be saved up
    by not using them, at least 1; by default those of 30 ms.  With ``scope="job"`` the limit
    holds for all partitions of a job together, with ``"worker"`` for each by itself.
    """

    text: str
    _: KW_ONLY
    burst: int | None = None
    scope: Scope = "job"
    adaptive: Adaptive | None = None
    exact: Fraction = field(init=False, repr=False, compare=False)  # permits a second

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ArgumentTypeError(
                f"a rate must be a string such as '500/s', not {self.text!r}: its unit would be "
                "a guess"
            )
        found = _RATE.fullmatch(self.text.lower())
        if found is None:
            raise _no_rate(self.text, "a number, a slash and a unit are needed")
        permits, units, unit = Fraction(found[1]), found[2] or "1", found[3]
        try:
            period = to_millis(f"{units} {unit}")
        except IllegalArgumentError as error:
            raise _no_rate(self.text, str(error)) from error
        if not permits or not period:
            raise _no_rate(self.text, "both of its numbers must be above 0")
        object.__setattr__(self, "exact", permits * 1000 / period)
        if self.burst is not None:
            _check_count("burst", self.burst, "1 is for no burst at all")
        _check_rest(self.scope, self.adaptive)

    @classmethod
    def of(cls, value: Rate | str) -> Rate:
        """A rate, or its text, as a rate."""
        return value if isinstance(value, Rate) else cls(value)

    @property
    def per_second(self) -> float:
        """Permits a second."""
        return float(self.exact)

    @property
    def burst_permits(self) -> int:
        """Permits that may be saved up: ``burst``, or its default."""
        return max(1, int(self.exact * _BURST_MS / 1000)) if self.burst is None else self.burst

    def divided(self, parts: int) -> Rate:
        """An equal part of this rate for each of so many workers, who then ask nobody."""
        share = self.exact / parts
        text = f"{share.numerator}/{share.denominator} seconds"
        burst = max(1, self.burst_permits // parts)
        return Rate(text, burst=burst, scope="worker", adaptive=self.adaptive)


@dataclass(frozen=True)
class Concurrency:
    """A limit to how many calls are under way at once, of all partitions or of each."""

    limit: int
    _: KW_ONLY
    scope: Scope = "job"
    adaptive: Adaptive | None = None

    def __post_init__(self) -> None:
        _check_count("concurrency", self.limit, "leave it out for no limit")
        _check_rest(self.scope, self.adaptive)

    @classmethod
    def of(cls, value: Concurrency | int) -> Concurrency:
        """A limit, or its number, as a limit."""
        return value if isinstance(value, Concurrency) else cls(value)

    def divided(self, parts: int) -> Concurrency:
        """An equal part of this limit for each of so many workers, rounded down."""
        if parts > self.limit:
            raise IllegalArgumentError(
                f"a concurrency of {self.limit} cannot be divided among {parts} partitions that "
                f"do not reach the driver: coalesce to {self.limit} partitions or fewer"
            )
        return Concurrency(self.limit // parts, scope="worker", adaptive=self.adaptive)


def _no_rate(text: str, why: str) -> IllegalArgumentError:
    return IllegalArgumentError(
        f"{text!r} is not a rate: {why}; write for instance '500/s', '90 per minute' or "
        "'10/5 seconds'"
    )


def _check_count(what: str, value: object, remedy: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(f"{what} must be an int, not {value!r}")
    if value < 1:
        raise IllegalArgumentError(f"{what} must be at least 1, not {value}: {remedy}")


def _check_rest(scope: object, adaptive: object) -> None:
    if scope not in get_args(Scope):
        raise IllegalArgumentError(f"scope must be 'job' or 'worker', not {scope!r}")
    if adaptive is not None and not isinstance(adaptive, Adaptive):
        raise ArgumentTypeError(
            f"adaptive must be an Adaptive, not {adaptive!r}: Adaptive(throttled) takes a "
            "function that tells which errors ask for fewer calls"
        )
