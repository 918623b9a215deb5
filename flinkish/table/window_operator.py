"""Windows of tables in streaming mode: the DataStream window operator between two SQL queries.

The first query computes keys, event time and the arguments of aggregates as columns; the window
operator emits a row of results for each key and window; the second query computes the selected
fields from them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.names import in_backticks
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation, Types
from flinkish.common.watermark_strategy import WatermarkStrategy
from flinkish.functions.aggregates import (
    Avg,
    BuiltInAggregate,
    Count,
    DistinctCount,
    First,
    Last,
    Max,
    Min,
    Sum,
)
from flinkish.table.expression import Aggregate, Expression, aggregates_of
from flinkish.table.rows import R, Rows
from flinkish.table.window import GroupWindow
from flinkish.windowing import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)

__all__ = ["window_rows"]

_BUILT_IN: dict[str, Callable[[str], BuiltInAggregate]] = {
    "sum": Sum,
    "min": Min,
    "max": Max,
    "count": Count,
    "avg": Avg,
    "first_value": First,
    "last_value": Last,
    "count distinct": DistinctCount,
}
_TIME = "flinkish_time"
_EPOCH = "TIMESTAMP_NTZ '1970-01-01 00:00:00'"
# Times without a zone count from the epoch as if they were in UTC, as Flink's do.
_TO_MOMENT = "timestamp_micros(timestampdiff(MICROSECOND, {epoch}, {time}))"
_TO_TIME = "timestampadd(MICROSECOND, unix_micros({time}), {epoch})"


def window_rows(
    table: R,
    window: GroupWindow,
    keys: Sequence[Expression[Any]],
    fields: Sequence[Expression[Any]],
) -> R:
    """The rows of the windows that are over.

    Raises:
        IllegalArgumentError: the time of the window has no watermark.
        UnsupportedOperationError: an aggregate that the window operator does not have.
    """
    bound = table._times.get(window.time)
    if bound is None:
        raise IllegalArgumentError(
            f"the window is on {window.time!r}, which has no watermark, so nothing says when it is "
            f"over: declare one, as in watermark({window.time!r}, \"{window.time} - INTERVAL '5' "
            'SECOND") of the schema, or WATERMARK FOR in CREATE TABLE'
        )
    aggregates = aggregates_of(fields)
    zoned = not _is_wall_clock(table, window.time)
    time = in_backticks(window.time)
    moment = time if zoned else _TO_MOMENT.format(epoch=_EPOCH, time=time)
    columns = [f"{moment} AS {_TIME}"]
    for index, key in enumerate(keys):
        columns += _key_columns(index, key.sql)
    columns += [f"{one.argument} AS a{index}" for index, one in enumerate(aggregates)]
    rows = table._of(", ".join(columns), f" WHERE {time} IS NOT NULL")
    results = _windowed(rows, window, bound, len(keys), aggregates)
    return results._of(", ".join(_selected(fields, window.name, keys, aggregates, zoned)))


def _is_wall_clock(table: Rows, column: str) -> bool:
    kind = dict(zip(table._kind.get_field_names(), table._kind.field_types, strict=True))[column]
    return bool(getattr(kind, "wall_clock", False))


def _key_columns(index: int, sql: str) -> list[str]:
    """A key as two columns: operators refuse null keys, but SQL has a group for nulls.

    The key as JSON is null only for null, and equal for equal values of any type.
    """
    return [
        f"{sql} AS v{index}",
        f"coalesce(to_json(struct({sql} AS v)), '') AS k{index}",
    ]


def _windowed(
    rows: R,
    window: GroupWindow,
    bound: int,
    keys: int,
    aggregates: Sequence[Aggregate],
) -> R:
    """The rows of the window operator: keys, window, and a result for each aggregate."""
    assigner = _assigner(window)
    built_in = [_built_in(index, one) for index, one in enumerate(aggregates)]
    built_in += [First(f"v{index}").alias(f"v{index}") for index in range(keys)]
    names = [f"k{index}" for index in range(keys)]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
    counted = [*built_in] or [Count().alias("a0")]

    def build(stream: Any, **options: Any) -> Any:
        timed = stream.assign_timestamps_and_watermarks(strategy, column=_TIME)
        if names:
            return timed.key_by(*names).window(assigner, **options).aggregate(counted)
        options.pop("max_parallelism", None)
        return timed.window_all(assigner, **options).aggregate(counted)

    kind = RowTypeInfo(
        [
            *[Types.STRING()] * keys,
            *[Types.INSTANT()] * 2,
            *[_result_type(rows, one) for one in counted],
        ],
        [*names, "window_start", "window_end", *[one.name for one in counted]],
    )
    graph = rows._planner.environment._graph
    node = graph.add(
        "Window", "operator", (rows._node,), build=build, kind=kind, keyed=True, timers=True
    )
    results: R = rows._planner.table(node)
    return results


def _assigner(window: GroupWindow) -> WindowAssigner:
    if window.form == "tumble":
        return TumblingEventTimeWindows.of(window.size_ms)
    if window.form == "slide":
        return SlidingEventTimeWindows.of(window.size_ms, window.slide_ms or window.size_ms)
    return EventTimeSessionWindows.with_gap(window.size_ms)


def _built_in(index: int, aggregate: Aggregate) -> BuiltInAggregate:
    made = _BUILT_IN.get(aggregate.name)
    if made is None:
        raise UnsupportedOperationError(
            f"{aggregate.sql} in a window of streaming mode: there are {', '.join(_BUILT_IN)}; for "
            "others take streams, key_by(...).window(...).aggregate(AggregateFunction), or "
            "RuntimeExecutionMode.BATCH"
        )
    return made(f"a{index}").alias(f"r{index}")


def _result_type(rows: Rows, aggregate: BuiltInAggregate) -> TypeInformation:
    """The type of a result, for the second query."""
    if isinstance(aggregate, (Count, DistinctCount)):
        return Types.LONG()
    column = dict(zip(rows._kind.get_field_names(), rows._kind.field_types, strict=True))
    type_ = column[str(aggregate.column)]
    if not isinstance(aggregate, (Avg, Sum)):
        return type_
    whole = type_ in (Types.BYTE(), Types.SHORT(), Types.INT(), Types.LONG())
    if not whole and type_ not in (Types.FLOAT(), Types.DOUBLE()):
        raise UnsupportedOperationError(
            f"{type(aggregate).__name__.lower()} of {type_} in a window of streaming mode: windows "
            "of streams add whole numbers and floats; cast the column to BIGINT or DOUBLE, or take "
            "RuntimeExecutionMode.BATCH"
        )
    return Types.LONG() if whole and isinstance(aggregate, Sum) else Types.DOUBLE()


def _selected(
    fields: Sequence[Expression[Any]],
    alias: str,
    keys: Sequence[Expression[Any]],
    aggregates: Sequence[Aggregate],
    zoned: bool,
) -> list[str]:
    """The fields as expressions of the operator's columns."""
    window = in_backticks(alias)
    start, end = "`window_start`", "`window_end`"
    if not zoned:
        start, end = (_TO_TIME.format(epoch=_EPOCH, time=one) for one in (start, end))
    pairs = [(one.sql, f"`r{index}`") for index, one in enumerate(aggregates)]
    pairs += [
        (f"{window}.start", start),
        (f"{window}.end", end),
        (f"{window}.rowtime", f"({end} - INTERVAL '0.001' SECOND)"),
    ]
    pairs += [(one.sql, f"`v{index}`") for index, one in enumerate(keys)]
    pairs.sort(key=lambda pair: -len(pair[0]))
    return [_replaced(one, pairs) for one in fields]


def _replaced(field: Expression[Any], pairs: Sequence[tuple[str, str]]) -> str:
    """The text of a field, whose parts that stand for columns are replaced in one pass."""
    text, made, place = field.sql, [], 0
    while place < len(text):
        for old, new in pairs:
            if text.startswith(old, place):
                made.append(new)
                place += len(old)
                break
        else:
            made.append(text[place])
            place += 1
    name = field.name or field.column
    return "".join(made) + ("" if name is None else f" AS {in_backticks(name)}")
