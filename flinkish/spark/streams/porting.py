"""Advice for the methods that PyFlink's streams have and these have not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from flinkish.common.names import did_you_mean

__all__ = ["PortingHints"]

_SINK = (
    "write what to_df() gives: stream.to_df().writeStream.format(...)"
    ".option('checkpointLocation', ...).start()"
)
_RUN = (
    "a query runs from stream.to_df().writeStream...start() on; a batch one from an action, such "
    "as stream.to_df().collect()"
)
_PLACE = "Spark spreads the rows: stream.to_df().repartition(...), then DataStream(df) again"
_ROLLING = (
    "it goes by key: stream.key_by(...) before it; for windows, window(...).aggregate(Sum(...))"
)
_OPTION = "it is an argument of the operator: process(..., {}=...)"

_HINTS = {
    "project": "map(...) makes other elements, stream.to_df().select(...) other columns",
    **dict.fromkeys(("add_sink", "sink_to", "print"), _SINK),
    **dict.fromkeys(("execute", "execute_async", "execute_and_collect"), _RUN),
    **dict.fromkeys(
        ("rebalance", "rescale", "shuffle", "forward", "partition_custom", "broadcast_all"), _PLACE
    ),
    "set_parallelism": "tasks are as many as spark.sql.shuffle.partitions says",
    "set_max_parallelism": _OPTION.format("max_parallelism"),
    "uid": _OPTION.format("uid"),
    "name": _OPTION.format("uid"),
    **dict.fromkeys(
        ("start_new_chain", "disable_chaining", "slot_sharing_group", "set_buffer_timeout"),
        "there is nothing to set: Spark plans the stages of a query",
    ),
    **dict.fromkeys(("sum", "min", "max", "min_by", "max_by"), _ROLLING),
    "reduce": _ROLLING,
    "window": "window needs keys: stream.key_by(...).window(...), or window_all without",
    "count_window": "count_window needs keys: stream.key_by(...).count_window(...)",
    "get_side_output": "side outputs are those of what process, window or a join returned",
    "get_execution_environment": "there is none: a SparkSession is the environment",
}


class PortingHints:
    """A stream whose AttributeError says the way here."""

    # Type checkers are to go on refusing what is not there.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            kind = type(self)
            hint = _HINTS.get(name)
            known = (one for one in dir(kind) if not one.startswith("_"))
            said = f": {hint}" if hint else did_you_mean(name, known)
            raise AttributeError(
                f"{kind.__name__!r} object has no attribute {name!r}{said}", name=name, obj=self
            )
