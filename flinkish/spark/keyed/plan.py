"""The plan of an operator: plain data that travels to workers with Spark's closures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import IllegalArgumentError
from flinkish.common.typeinfo import TypeInformation
from flinkish.spark.channels import Channel
from flinkish.spark.elements import ElementReader, field_names_of

if TYPE_CHECKING:  # a worker loads the parts that its own plan has, when it unpickles them
    from pyspark.sql import DataFrame

    from flinkish.operators.definition import OperatorDefinition
    from flinkish.spark.control_plane import PlaneHandle
    from flinkish.spark.kept_fields import KeptFields
    from flinkish.spark.mapped_frame import MappedFrame

__all__ = [
    "AFTER_WATERMARK",
    "BEFORE_WATERMARK",
    "EVENT_TIME",
    "KEY",
    "MAIN",
    "MARK",
    "PHASE",
    "OperatorPlan",
    "StateSettings",
    "Strategy",
]

# Names of the columns that packing adds after the user's own.
KEY = "__flinkish_key"
EVENT_TIME = "__flinkish_time"

# Outputs of an operator say in which phase of a batch they were made, since the next operator
# must see them in that order: before its own watermark moves, or after.
PHASE = "__flinkish_phase"
BEFORE_WATERMARK = 0
AFTER_WATERMARK = 1
# No phase: the row is a mark of the watermark (see `marks`).
MARK = 2

NO_EVENT_TIME = (
    "the stream has no event time, so its watermark never moves and no event-time timer would ever "
    "fire: call assign_timestamps_and_watermarks before key_by, or register a processing-time timer"
)

# The tag of the main output; ids of side outputs are never empty.
MAIN = ""


@dataclass(frozen=True)
class StateSettings:
    """How state is kept.

    ``table_dir`` overrides where tables are cached on workers: by default in all of Spark's local
    directories.  A table goes ``table_keep`` after its last use.  Where tables take more than
    ``table_bytes`` in one of these directories, by default a quarter of its file system, those go
    that were not used for longest.  Both are looked after once a minute.  The log of a key group is
    rewritten once its pieces outgrow ``compact_factor`` times the whole state (each group has
    its own factor between this and twice this, so that groups do not all compact at once) and
    ``compact_bytes``, or once there are ``compact_pieces`` of them, full ones (8 MB) not counted.

    ``backend`` is "store", Spark's state store, or "versioned": files beside the checkpoint's own,
    one for each partition and batch.  A micro-batch then costs a fraction of the time, timers fire
    in the batch whose rows let time pass, and the number of partitions may change at a restart.
    ``checkpoint`` is the query's checkpointLocation for workers that nobody tells it: on Spark
    Connect.

    ``generation`` starts an operator without the state and timers that its checkpoint has: those
    written under another name are dropped, each key group's when it is next touched or one of its
    timers is due, and counted as ``groups_dropped``.  Under the name that the checkpoint has
    already nothing is dropped, so the name stays in the program; one that was left is refused.
    """

    table_dir: str | None = None
    table_keep: DurationLike = "1 hour"
    table_bytes: int | None = None
    compact_factor: float = 1.0
    compact_bytes: int = 256 * 1024
    compact_pieces: int = 128
    generation: str = ""
    backend: Literal["store", "versioned"] = "store"
    checkpoint: str | None = None

    def __post_init__(self) -> None:
        to_millis(self.table_keep, "table_keep", minimum=0)
        if self.backend not in ("store", "versioned"):
            raise IllegalArgumentError(
                f"backend must be 'store' or 'versioned', not {self.backend!r}"
            )
        if self.table_bytes is not None and self.table_bytes < 0:
            raise IllegalArgumentError(
                f"table_bytes must be 0 or more bytes, or None, not {self.table_bytes}"
            )


class Strategy(Protocol):
    """How an operator's rows travel, and how they are handed over: see `strategies`."""

    @property
    def shares_payloads(self) -> bool:
        """Whether key groups share payloads in real-time mode."""
        ...

    def packed(
        self, plan: OperatorPlan, rows: MappedFrame, second: MappedFrame | None
    ) -> DataFrame:
        """The rows of a stream's inputs as payloads of key groups."""
        ...

    def run_batch(
        self, plan: OperatorPlan, frame: DataFrame, second: DataFrame | None
    ) -> DataFrame:
        """The operator's results over batch DataFrames."""
        ...

    def open_run(self, plan: OperatorPlan, table: Any = None, subtask: int | None = None) -> Any:
        """The `OperatorRun` of a plan in this task, its functions opened.

        ``subtask`` is the number of the operator's partition, if it differs from the task's number.
        """
        ...


@dataclass(frozen=True)
class OperatorPlan:
    """One keyed operator: what runs (``operator``), and by which ``strategy``.

    ``schema`` is that of the user's rows; packed batches have the columns KEY (unless the key is
    one of the user's columns, ``key_column``) and EVENT_TIME (when ``timed``) after them.
    ``chained`` rows come from another operator, with its EVENT_TIME and PHASE; ``marked`` ones have
    marks of the watermark among them, of phase MARK; ``channelled`` ones the column CHANNEL.
    ``channels`` are what they come from, each with its watermark; none if there is no watermark.
    ``definition`` stands for the query where Spark does not tell its id.  ``second`` is the plan of
    the second input, if there is one: its rows, keys and event time.  ``input_type`` is the
    declared type of the elements, None for Rows of ``schema``.

    ``partitions`` is the number of tasks of an operator whose state is versioned by batch, or that
    is ``bounded``: it gets all rows that there are in one pass, and forgets its state; None of one
    in Spark's store; ``defined_ms`` is when it was defined.

    In ``real_time`` rows are handled as they come; they come from as many tasks as ``upstream``
    says, None if those read the sources.  Timers that are due wait for others for so long as
    ``buffer_timeout_ms``, if some have fired just before.  ``count`` takes the counts of a task,
    and ``tasks`` share the work over batch DataFrames: see `JobScope`.  ``fields`` are those that
    the functions changed in the passes before.

    For the checkpoint's settings: whether the user has ``named`` the operator, the shuffle
    partitions that ``max_parallelism`` follows from ``groups_by_default``, and the ``keys`` as
    `described_keys`.
    """

    uid: str
    operator: OperatorDefinition | None
    strategy: Strategy
    schema: pa.Schema
    key_columns: tuple[str, ...]
    key_types: tuple[Any, ...]
    key_selector: Any
    max_parallelism: int
    output: pa.Schema
    output_type: TypeInformation | None
    event_time: str | None
    chained: bool
    time_zone: tzinfo
    streaming: bool = False
    processing_time: bool = False
    timestamp_order: bool = False
    null_keys: Any = "fail"
    job_parameters: dict[str, str] = field(default_factory=dict)
    state: StateSettings = field(default_factory=StateSettings)
    control_plane: PlaneHandle | None = None
    partitions: int | None = None
    bounded: bool = False
    defined_ms: int = 0
    channels: tuple[Channel, ...] = ()
    channelled: bool = False
    marked: bool = False
    definition: str = "batch"
    real_time: bool = False
    upstream: int | None = None
    buffer_timeout_ms: int = 0
    count: Callable[[dict[str, int]], None] | None = None
    fields: KeptFields | None = None
    tasks: int | None = None
    input_type: TypeInformation | None = None
    named: bool = False
    groups_by_default: int | None = None
    keys: Any = None
    second: OperatorPlan | None = None

    def spread(self, frame: DataFrame, *keys: str) -> DataFrame:
        """The rows of a batch DataFrame by keys, in as many tasks as were asked for."""
        return (
            frame.repartition(*keys) if self.tasks is None else frame.repartition(self.tasks, *keys)
        )

    @property
    def timed(self) -> bool:
        """Whether rows have event time."""
        return self.event_time is not None

    @property
    def has_watermark(self) -> bool:
        """Whether the rows of an input have event time, so that there is a watermark."""
        return self.timed or (self.second is not None and self.second.timed)

    @property
    def field_names(self) -> tuple[Sequence[str] | None, Sequence[str] | None]:
        """The fields of the elements of each input, if they are Rows."""
        return self._own_fields, None if self.second is None else self.second._own_fields

    @property
    def _own_fields(self) -> Sequence[str] | None:
        return field_names_of(self.input_type, self.schema.names)

    def elements(self, batch: pa.RecordBatch) -> ElementReader:
        """The elements of this input in a batch that has its columns."""
        return ElementReader(batch.select(self.schema.names), self.input_type, self.time_zone)

    @property
    def no_event_time(self) -> str | None:
        """Why no event-time timer would fire, or None: over a batch all do, at its end."""
        waits = self.streaming and not self.bounded
        return NO_EVENT_TIME if waits and not self.has_watermark else None

    @property
    def is_versioned(self) -> bool:
        """Whether state is versioned by batch."""
        return self.partitions is not None and not self.bounded

    @property
    def loses_watermark(self) -> bool:
        """Whether Spark passes no watermark on: after its own operator on processing time."""
        in_store = self.streaming and self.partitions is None
        return in_store and self.processing_time and self.has_watermark

    @property
    def is_marked(self) -> bool:
        """Whether the rows of this input bring marks of a watermark with them."""
        return self.timed and any(channel.moves for channel in self.channels)

    @property
    def may_idle(self) -> bool:
        """Whether a channel of this input may be idle; it is active while it has rows."""
        return any(channel.idle_ms is not None for channel in self.channels)

    @property
    def inputs(self) -> list[OperatorPlan]:
        """This plan, and that of the second input if there is one."""
        return [self] if self.second is None else [self, self.second]

    @property
    def has_keys(self) -> bool:
        """Whether the rows have keys.

        Rows of a second input without keys are for every key group, those of a first one for any.
        """
        return self.key_selector is not None or bool(self.key_columns)

    @property
    def key_column(self) -> str | None:
        """The user's column that is the key, if it is just one."""
        return self.key_columns[0] if len(self.key_columns) == 1 else None

    def without_functions(self) -> OperatorPlan:
        """All that packing needs: what runs may be large, and keys are for those that use them."""
        second = None if self.second is None else self.second.without_functions()
        operator = None if self.operator is None else self.operator.for_packing()
        return replace(
            self, operator=operator, control_plane=None, second=second, count=None, fields=None
        )

    @cached_property
    def packed_schema(self) -> pa.Schema:
        """The columns of packed batches."""
        packed = self.schema
        if self.key_column is None:
            packed = packed.append(pa.field(KEY, pa.binary()))
        if self.timed:
            packed = packed.append(pa.field(EVENT_TIME, pa.int64()))
        return packed
