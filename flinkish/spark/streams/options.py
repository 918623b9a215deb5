"""Settings that every keyed operator on Spark has."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from flinkish.common.errors import (
    IllegalArgumentError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.common.output_tag import OutputTag
from flinkish.spark.control_plane import ControlPlane
from flinkish.spark.control_plane.attached import handle_of
from flinkish.spark.internals import arrow_schema
from flinkish.spark.keyed.plan import OperatorPlan, StateSettings
from flinkish.spark.schemas import session_time_zone
from flinkish.time.key_groups import UPPER_BOUND_MAX_PARALLELISM

if TYPE_CHECKING:
    from flinkish.spark.streams.data_stream import KeyedStream

__all__ = ["OperatorOptions", "joined_names", "plan_settings", "shuffle_partitions"]

_PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class OperatorOptions:
    """The options of `KeyedStream.process` and `KeyedStream.window`; described there.

    ``processing_time_timers`` None leaves it to the operator.
    """

    uid: str | None
    max_parallelism: int | None
    order: str
    processing_time_timers: bool | None
    null_keys: str | OutputTag
    job_parameters: Mapping[str, str] | None
    state: StateSettings | None
    control_plane: ControlPlane | None

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
    keyed: KeyedStream, kind: str, options: OperatorOptions, *, fewest_groups: int = 16
) -> tuple[str, DataFrame, dict[str, Any]]:
    """Check options; the operator's name, its input, and what every plan over a stream has.

    ``kind`` names an operator without a uid; ``fewest_groups`` are the key groups it has at least
    where max_parallelism is left out.
    """
    options.check()
    stream = keyed._stream
    if options.order == "timestamp" and stream._event_time is None:
        raise TimestampError(
            "order='timestamp' needs event time: call assign_timestamps_and_watermarks first"
        )
    if stream._watermark_lost:
        raise UnsupportedOperationError(
            "the operator before this one has event time and serves processing-time timers, "
            "and Spark passes no watermark on after such an operator: timers here would "
            "never fire; put it last, or write its output and read it in a second query"
        )
    name = options.uid or f"{kind}-{stream._operators + 1}"
    user = stream.to_df()
    if user.isStreaming and user.sparkSession.conf.get(_PARTITIONS, None) is None:
        # Python shows a warning of one place and one text once.
        found = shuffle_partitions(user.sparkSession)
        warnings.warn(_MANY_PARTITIONS.format(found=found), stacklevel=1)
    given = options.max_parallelism
    settings = {
        "uid": name,
        "schema": arrow_schema(user.schema),
        "key_columns": keyed._keys.columns,
        "key_types": keyed._keys.types,
        "keys": keyed._keys.described,
        "key_selector": keyed._keys.selector,
        "max_parallelism": given or _default_key_groups(user.sparkSession, fewest_groups),
        "groups_by_default": None if given else shuffle_partitions(user.sparkSession),
        "named": options.uid is not None,
        "event_time": stream._event_time,
        "chained": stream._operators > 0,
        "streaming": user.isStreaming,
        "time_zone": session_time_zone(user),
        "processing_time": bool(options.processing_time_timers),
        "timestamp_order": options.order == "timestamp",
        "null_keys": options.null_keys,
        "job_parameters": dict(options.job_parameters or {}),
        "state": options.state or StateSettings(),
        "control_plane": handle_of(options.control_plane),
        "definition": secrets.token_hex(16),
    }
    return name, user, settings


def joined_names(plan: OperatorPlan, before: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The names of operators up to this one, each with what tells it from another of its name.

    IllegalArgumentError for two of one name in a query: their statistics, tables on workers and
    places on a control plane go by it.
    """
    names: dict[str, str] = {}
    for found in [*before, {plan.uid: plan.definition}]:
        for name, definition in found.items():
            if names.setdefault(name, definition) != definition:
                raise IllegalArgumentError(
                    f"two operators of this query are called {name!r}; give each a name of its own "
                    "where it is defined, with uid='...'"
                )
    return names


def shuffle_partitions(spark: SparkSession) -> int:
    """How many tasks share the work of an operator."""
    return int(spark.conf.get(_PARTITIONS) or 1)


def _default_key_groups(spark: SparkSession, fewest: int) -> int:
    partitions = shuffle_partitions(spark)
    return min(max(1 << (2 * partitions - 1).bit_length(), fewest), 1024)
