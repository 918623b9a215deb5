"""Settings that every keyed operator on Spark has."""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

from pyspark.sql.types import StructType

from flinkish.common.errors import (
    IllegalArgumentError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.common.names import did_you_mean
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.spark.control_plane import ControlPlane
from flinkish.spark.control_plane.attached import handle_of
from flinkish.spark.internals import arrow_schema
from flinkish.spark.keyed.plan import OperatorPlan, StateSettings
from flinkish.spark.real_time_settings import buffer_timeout_ms
from flinkish.spark.schemas import session_time_zone
from flinkish.spark.streams.rows import SHUFFLE_PARTITIONS, KeyedRows, Output, StreamRows
from flinkish.time.key_groups import UPPER_BOUND_MAX_PARALLELISM

__all__ = [
    "KeyedOptions",
    "OperatorOptions",
    "joined_plans",
    "merged_plans",
    "output_settings",
    "plan_settings",
]


class KeyedOptions(TypedDict, total=False):
    """The options of a keyed operator, by keyword; `KeyedStream.process` describes them."""

    uid: str | None
    max_parallelism: int | None
    order: str
    processing_time_timers: bool | None
    null_keys: str | OutputTag
    job_parameters: Mapping[str, str] | None
    state: StateSettings | None
    control_plane: ControlPlane | None


@dataclass(frozen=True)
class OperatorOptions:
    """The same with their defaults.

    ``processing_time_timers`` None leaves it to the operator.
    """

    uid: str | None = None
    max_parallelism: int | None = None
    order: str = "arrival"
    processing_time_timers: bool | None = None
    null_keys: str | OutputTag = "fail"
    job_parameters: Mapping[str, str] | None = None
    state: StateSettings | None = None
    control_plane: ControlPlane | None = None

    @classmethod
    def of(cls, method: str, given: KeyedOptions, *without: str) -> OperatorOptions:
        """The options that were given to a method, which does not take those of ``without``.

        TypeError for one that it does not take.
        """
        known = [one.name for one in fields(cls) if one.name not in without]
        for name in given:
            if name not in known:
                raise TypeError(
                    f"{method}() got an unexpected keyword argument {name!r}"
                    + (did_you_mean(name, known) or f"; its options are {', '.join(known)}")
                )
        return cls(**given)

    def check(self) -> None:
        """IllegalArgumentError for a value that cannot be."""
        if self.order not in ("arrival", "timestamp"):
            raise IllegalArgumentError(
                f"order must be 'arrival' or 'timestamp', not {self.order!r}"
            )
        if not isinstance(self.null_keys, OutputTag) and self.null_keys not in ("fail", "drop"):
            raise IllegalArgumentError(
                f"null_keys must be 'fail', 'drop' or an OutputTag, not {self.null_keys!r}"
            )
        groups = self.max_parallelism
        if groups is not None and not 1 <= groups <= UPPER_BOUND_MAX_PARALLELISM:
            raise IllegalArgumentError(
                f"max_parallelism must be from 1 to {UPPER_BOUND_MAX_PARALLELISM}, not {groups}"
            )


_MANY_PARTITIONS = (
    "spark.sql.shuffle.partitions is not set, and Spark's own number of {found} is for large "
    "batches: every micro-batch of a keyed operator starts {found} tasks, some milliseconds each, "
    "with or without rows. Set it to about the number of cores before the first start of the "
    "query (spark.conf.set('spark.sql.shuffle.partitions', 8)): the checkpoint keeps it. To keep "
    "{found}, set it to {found}"
)


def plan_settings(
    keyed: KeyedRows, kind: str, options: OperatorOptions, *, fewest_groups: int = 16
) -> tuple[str, dict[str, Any]]:
    """Check options; the operator's name, and what every plan over a stream has.

    ``kind`` names an operator without a uid; ``fewest_groups`` are the key groups it has at least
    where max_parallelism is left out.
    """
    options.check()
    rows, keys = keyed.rows, keyed.keys
    if options.order == "timestamp" and rows.event_time is None:
        raise TimestampError(
            "order='timestamp' needs event time: call assign_timestamps_and_watermarks first"
        )
    if rows.watermark_lost:
        raise UnsupportedOperationError(
            "the operator before this one has event time and serves processing-time timers, "
            "and Spark passes no watermark on after such an operator: timers here would "
            "never fire; put it last, or write its output and read it in a second query"
        )
    state = options.state or StateSettings()
    within = rows.within
    real_time = rows.real_time
    if within is not None or real_time:
        state = replace(state, backend="versioned")
    bounded = within is not None and within.bounded
    versioned = state.backend == "versioned" and rows.streaming and not bounded
    if rows.chained and not rows.is_whole and rows.marked != versioned:
        raise UnsupportedOperationError(
            "this operator and the one before it keep their state in different ways, and the "
            "watermark of one does not reach the other: give both the same "
            "StateSettings(backend=...)"
        )
    if versioned and rows.watermark is not None and not rows.channels:
        raise UnsupportedOperationError(
            "the watermarks of streams that were united are lost after asynchronous calls: make "
            "the calls before union, or leave StateSettings(backend='versioned') out"
        )
    if real_time and rows.channelled:
        _check_united(rows)
    name = options.uid or f"{kind}-{rows.operators + 1}"
    spark = rows.spark
    if within is None and rows.streaming and spark.conf.get(SHUFFLE_PARTITIONS, None) is None:
        # Python shows a warning of one place and one text once.
        warnings.warn(_MANY_PARTITIONS.format(found=rows.partitions), stacklevel=1)
    given = options.max_parallelism
    groups = given or _default_key_groups(rows.partitions, fewest_groups)
    settings = {
        "uid": name,
        "schema": arrow_schema(rows.schema),
        "input_type": rows.kind,
        "key_columns": keys.columns,
        "key_types": keys.types,
        "keys": keys.described,
        "key_selector": keys.selector,
        # One for each task of a bounded pass: so its rows come in order of arrival.
        "max_parallelism": min(groups, rows.partitions) if bounded else groups,
        "groups_by_default": None if given else rows.partitions,
        "named": options.uid is not None,
        "event_time": rows.event_time,
        "chained": rows.chained,
        "marked": rows.marked,
        "streaming": rows.streaming,
        "time_zone": session_time_zone(spark),
        "processing_time": bool(options.processing_time_timers),
        "timestamp_order": options.order == "timestamp",
        "null_keys": options.null_keys,
        "job_parameters": dict(options.job_parameters or {}),
        "state": state,
        "partitions": rows.partitions if versioned or bounded else None,
        "bounded": bounded,
        "defined_ms": time.time_ns() // 1_000_000 if within is None else within.defined_ms,
        "channels": rows.channels,
        "channelled": rows.channelled,
        "control_plane": handle_of(options.control_plane),
        "real_time": real_time,
        "buffer_timeout_ms": buffer_timeout_ms(spark) if real_time else 0,
        "upstream": rows.partitions if rows.chained else None,
        "count": rows.job.count,
        "fields": None if within is None else within.fields_of(name),
        "tasks": rows.job.tasks,
        "definition": secrets.token_hex(16) if within is None else within.definition_of(name),
    }
    return name, settings


def _check_united(rows: StreamRows) -> None:
    """UnsupportedOperationError for streams whose tasks real-time mode cannot tell apart."""
    if len({channel.idle_ms for channel in rows.channels}) > 1:
        raise UnsupportedOperationError(
            "in real-time mode a partition without rows could be of any of the united streams: "
            "give all sources the same with_idleness, or none, and none beside an operator's output"
        )


def output_settings(
    declared: StructType | str | TypeInformation | Output | None, name: str
) -> tuple[Output, dict[str, Any]]:
    """The output of an operator, and what its plan has of it; undeclared values are pickled."""
    output = declared
    if not isinstance(output, Output):
        output = Output.of(output, f"the output schema of operator {name!r}")
    return output, {"output": arrow_schema(output.schema), "output_type": output.kind}


def joined_plans(plan: OperatorPlan, inputs: Sequence[StreamRows]) -> dict[str, OperatorPlan]:
    """The plans of operators up to this one, by name.

    Errors as for `merged_plans`.
    """
    return _by_name([merged_plans(inputs), {plan.uid: plan}])


def merged_plans(several: Sequence[StreamRows]) -> dict[str, OperatorPlan]:
    """The plans of the operators that made these rows, by name.

    IllegalArgumentError for two of one name in a query: their statistics, tables on workers and
    places on a control plane go by it.  UnsupportedOperationError for one operator whose state is
    versioned by batch twice in a query: both would write the same files.
    """
    if several[0].within is not None:  # the environment names operators, and each runs once a pass
        return {}
    seen: set[str] = set()
    for rows in several:
        if rows.marked and (twice := seen & rows.plans.keys()):
            raise UnsupportedOperationError(
                f"this query would run operator {min(twice)!r} twice, as Spark does for each use "
                "of a stream, and both would write its version files: "
                "leave StateSettings(backend='versioned') out, or take the outputs of one run with "
                "all_outputs or foreach_batch"
            )
        seen |= rows.plans.keys()
    return _by_name([rows.plans for rows in several])


def _by_name(several: Sequence[Mapping[str, OperatorPlan]]) -> dict[str, OperatorPlan]:
    plans: dict[str, OperatorPlan] = {}
    for found in several:
        for name, plan in found.items():
            if plans.setdefault(name, plan).definition != plan.definition:
                raise IllegalArgumentError(
                    f"two operators of this query are called {name!r}; give each a name of its own "
                    "where it is defined, with uid='...'"
                )
    return plans


def _default_key_groups(partitions: int, fewest: int) -> int:
    return min(max(1 << (2 * partitions - 1).bit_length(), fewest), 1024)
