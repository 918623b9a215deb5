"""PyFlink's windows of tables: groups by time, and frames around each row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.table.expression import Expression

__all__ = ["GroupWindow", "Over", "OverWindow", "Session", "Slide", "Tumble"]


@dataclass(frozen=True)
class GroupWindow:
    """Windows by event time: ``form`` is tumble, slide or session; lengths are in ms.

    ``size_ms`` is the length of a window, or the gap that ends a session.
    """

    form: str
    size_ms: int
    slide_ms: int = 0
    time: str = ""
    name: str = ""

    def on(self, time_field: Expression[Any]) -> GroupWindow:
        """Take event time from a column."""
        if not isinstance(time_field, Expression) or time_field.column is None:
            raise ArgumentTypeError(f"a window is on a column, as in col('ts'), not {time_field!r}")
        return replace(self, time=time_field.column)

    def alias(self, alias: str) -> GroupWindow:
        """Name the window, for group_by and for its start and end; IllegalArgumentError early."""
        if not self.time:
            raise IllegalArgumentError("a window needs its time first: on(col('ts'))")
        return replace(self, name=alias)

    def every(self, slide: Expression[Any]) -> GroupWindow:
        """Set the distance between the beginnings of sliding windows."""
        if self.form != "slide":
            raise IllegalArgumentError("every(...) belongs to Slide.over(...)")
        return replace(self, slide_ms=_length(slide, "the slide of a window"))


class Tumble:
    """Windows of equal length, one after the other."""

    @classmethod
    def over(cls, size: Expression[Any]) -> GroupWindow:
        """Windows of this length: ``Tumble.over(lit(10).minutes).on(col('ts')).alias('w')``."""
        return GroupWindow("tumble", _length(size, "the size of a window"))


class Slide:
    """Windows of equal length that begin at equal distances, and overlap if these are shorter."""

    @classmethod
    def over(cls, size: Expression[Any]) -> GroupWindow:
        """Windows of this length; ``every`` sets the distance between their beginnings."""
        return GroupWindow("slide", _length(size, "the size of a window"))


class Session:
    """Windows that end after a gap without rows."""

    @classmethod
    def with_gap(cls, gap: Expression[Any]) -> GroupWindow:
        """Windows that end after a gap of this length."""
        return GroupWindow("session", _length(gap, "the gap of sessions"))


@dataclass(frozen=True)
class OverWindow:
    """The frame of rows around each row over which an aggregate is computed.

    ``partition`` and ``order`` are SQL expressions, ``frame`` has the words for its ends.
    """

    partition: tuple[str, ...] = ()
    order: str = ""
    before: str = "UNBOUNDED PRECEDING"
    after: str = "CURRENT ROW"
    unit: str = "RANGE"
    name: str = ""

    def order_by(self, order_by: Expression[Any]) -> OverWindow:
        """Order the rows of a partition."""
        return replace(self, order=order_by.sql)

    def preceding(self, preceding: Expression[Any]) -> OverWindow:
        """Set the beginning of the frame: a number of rows, or an interval, before the row."""
        unit, bound = _bound(preceding)
        return replace(self, unit=unit, before=_side(bound, "PRECEDING"))

    def following(self, following: Expression[Any]) -> OverWindow:
        """Set the end of the frame."""
        unit, bound = _bound(following)
        return replace(self, unit=unit, after=_side(bound, "FOLLOWING"))

    def alias(self, alias: str) -> OverWindow:
        """Name the window, for ``over``."""
        if not self.order:
            raise IllegalArgumentError("an over window needs order_by(...)")
        return replace(self, name=alias)

    @property
    def sql(self) -> str:
        """The text of the window in a WINDOW clause."""
        by = f"PARTITION BY {', '.join(self.partition)} " if self.partition else ""
        return f"({by}ORDER BY {self.order} {self.unit} BETWEEN {self.before} AND {self.after})"


class Over:
    """Makes frames around each row."""

    @classmethod
    def order_by(cls, order_by: Expression[Any]) -> OverWindow:
        """A frame over all rows in this order."""
        return OverWindow().order_by(order_by)

    @classmethod
    def partition_by(cls, *partition_by: Expression[Any]) -> OverWindow:
        """A frame over the rows with equal values of these expressions; ``order_by`` comes next."""
        return OverWindow(tuple(one.sql for one in partition_by))


def _length(value: Any, what: str) -> int:
    if not isinstance(value, Expression):
        raise ArgumentTypeError(f"{what} is an interval such as lit(10).minutes, not {value!r}")
    if value.rows is not None:
        raise UnsupportedOperationError(
            f"{what} is a number of rows: take streams, key_by(...).count_window({value.rows})"
        )
    if value.interval_ms is None or value.interval_ms <= 0:
        raise ArgumentTypeError(
            f"{what} is an interval of weeks or less, above 0, such as lit(10).minutes, not "
            f"{value.sql}"
        )
    return value.interval_ms


def _side(bound: str, side: str) -> str:
    return bound if bound == "CURRENT ROW" else f"{bound} {side}"


def _bound(value: Any) -> tuple[str, str]:
    """The unit of a frame, and the words for one of its ends."""
    if not isinstance(value, Expression):
        raise ArgumentTypeError(
            f"a frame ends at row_interval(5), lit(10).minutes or UNBOUNDED_ROW, not {value!r}"
        )
    if isinstance(value.literal, tuple):
        return value.literal
    if value.rows is not None:
        return "ROWS", str(value.rows)
    if value.interval_ms is not None:
        return "RANGE", f"INTERVAL '{value.interval_ms / 1000:f}' SECOND"
    raise ArgumentTypeError(
        f"a frame ends at row_interval(5), lit(10).minutes or UNBOUNDED_ROW, not {value.sql}"
    )
