"""The plan of an operator: plain data that travels to workers with Spark's closures."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import IllegalArgumentError
from flinkish.common.typeinfo import TypeInformation

if TYPE_CHECKING:  # a worker loads the parts that its own plan has, when it unpickles them
    from flinkish.operators.interval_join import JoinDefinition
    from flinkish.operators.window_definition import WindowDefinition
    from flinkish.spark.control_plane import PlaneHandle
    from flinkish.spark.keyed.columns.plan import VectorPlan

__all__ = [
    "AFTER_WATERMARK",
    "BEFORE_WATERMARK",
    "EVENT_TIME",
    "KEY",
    "MAIN",
    "PHASE",
    "OperatorPlan",
    "StateSettings",
]

# Names of the columns that packing adds after the user's own.
KEY = "__flinkish_key"
EVENT_TIME = "__flinkish_time"

# Outputs of an operator say in which phase of a batch they were made, since the next operator
# must see them in that order: before its own watermark moves, or after.
PHASE = "__flinkish_phase"
BEFORE_WATERMARK = 0
AFTER_WATERMARK = 1

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

    def __post_init__(self) -> None:
        to_millis(self.table_keep, "table_keep", minimum=0)
        if self.table_bytes is not None and self.table_bytes < 0:
            raise IllegalArgumentError(
                f"table_bytes must be 0 or more bytes, or None, not {self.table_bytes}"
            )


@dataclass(frozen=True)
class OperatorPlan:
    """One keyed operator.

    ``schema`` is that of the user's rows; packed batches have the columns KEY (unless the key is
    one of the user's columns, ``key_column``) and EVENT_TIME (when ``timed``) after them.
    ``chained`` rows come from another operator, with its EVENT_TIME and PHASE.  ``definition``
    stands for the query where Spark does not tell its id.  ``vector`` is a vectorised window
    operator, ``window`` one that is not, ``join`` an interval join; each runs instead of a
    function.  ``second`` is the plan of the second input, where there is one: its rows, keys and
    event time.

    For the checkpoint's settings: whether the user has ``named`` the operator, the shuffle
    partitions that ``max_parallelism`` follows from ``groups_by_default``, and the ``keys`` as
    `described_keys`.
    """

    uid: str
    function: Any
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
    definition: str = "batch"
    named: bool = False
    groups_by_default: int | None = None
    keys: Any = None
    vector: VectorPlan | None = None
    window: WindowDefinition | None = None
    join: JoinDefinition | None = None
    second: OperatorPlan | None = None

    @property
    def function_name(self) -> str:
        """The class of the function, for messages."""
        if self.vector is not None:
            return "vectorised windows"
        if self.window is not None:
            return self.window.name
        if self.join is not None:
            return type(self.join.function).__name__
        if self.second is not None:
            # Not for the many operators with one input, which never run a broadcast.
            from flinkish.operators.broadcast import Broadcast

            if isinstance(self.function, Broadcast):
                return type(self.function.function).__name__
        return type(self.function).__name__

    @property
    def timed(self) -> bool:
        """Whether rows have event time."""
        return self.event_time is not None

    @property
    def has_watermark(self) -> bool:
        """Whether the rows of an input have event time, so that there is a watermark."""
        return self.timed or (self.second is not None and self.second.timed)

    @property
    def no_event_time(self) -> str | None:
        """Why no event-time timer would fire, or None: over a batch all do, at its end."""
        return NO_EVENT_TIME if self.streaming and not self.has_watermark else None

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
        return replace(
            self, function=None, window=None, join=None, control_plane=None, second=second
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
