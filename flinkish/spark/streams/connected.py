"""Two streams with one operator: connected, or joined within an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flinkish.common.durations import DurationLike
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.common.methods import require_methods
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.operators.definition import OperatorDefinition, function_name
from flinkish.operators.join_definition import JoinDefinition
from flinkish.operators.keyed_functions import KeyedCoFlatMap, KeyedCoMap
from flinkish.operators.process_definitions import CoProcessDefinition
from flinkish.spark.chains.steps import InputOf, Method, refuse_keyed
from flinkish.spark.function_checks import check_function
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.keyed.strategies import TwoInputs
from flinkish.spark.streams.chosen_keys import no_key
from flinkish.spark.streams.options import (
    KeyedOptions,
    OperatorOptions,
    output_settings,
    plan_settings,
)
from flinkish.spark.streams.porting import PortingHints
from flinkish.spark.streams.windowed import Declared

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from flinkish.spark.streams.data_stream import DataStream, KeyedStream, ProcessedStream

__all__ = ["ConnectedStreams", "IntervalJoin", "IntervalJoined", "KeyedConnectedStreams"]

_CO_PROCESS = ("process_element1", "process_element2", "open", "close")
_CO_MAP = ("map1", "map2", "open", "close")
_CO_FLAT_MAP = ("flat_map1", "flat_map2", "open", "close")


class ConnectedStreams(PortingHints):
    """Two streams for one function; `DataStream.connect` makes it.

    Without keys every task has elements of one of the streams, so what a function keeps in its
    attributes is of that stream alone.  `key_by` gives both keys.
    """

    def __init__(
        self, stream1: DataStream | KeyedStream, stream2: DataStream | KeyedStream
    ) -> None:
        for stream in (stream1, stream2):
            if not hasattr(stream, "key_by") and not hasattr(stream, "interval_join"):
                raise ArgumentTypeError(
                    "connect takes a DataStream, a KeyedStream or a BroadcastStream, not "
                    f"{stream!r}"
                )
        self._stream1, self._stream2 = stream1, stream2

    def __repr__(self) -> str:
        return f"ConnectedStreams of {self._stream1} and {self._stream2}"

    def key_by(
        self, key_selector1: Any, key_selector2: Any, key_type: TypeInformation | None = None
    ) -> KeyedConnectedStreams:
        """Both streams partitioned by key: columns (a name or several), or a function of the row.

        Both keys have to be columns of the same types, or functions; ``key_type`` is that of the
        results of both functions.
        """
        plain = []
        for stream in (self._stream1, self._stream2):
            if not hasattr(stream, "key_by"):
                raise IllegalArgumentError("the streams have keys already")
            plain.append(stream)
        one, other = plain
        return KeyedConnectedStreams(
            one.key_by(key_selector1, key_type=key_type),
            other.key_by(key_selector2, key_type=key_type),
        )

    def process(
        self, function: Any, output_type: Declared = None, *, schema: Declared = None
    ) -> DataStream:
        """Run a CoProcessFunction; as `DataStream.process` for either stream."""
        declared = schema if schema is not None else output_type
        return self._each("process", function, _CO_PROCESS[:2], declared)

    def map(
        self, func: Any, output_type: Declared = None, *, schema: Declared = None
    ) -> DataStream:
        """One element for each of both, by a CoMapFunction; none for a result None."""
        declared = schema if schema is not None else output_type
        return self._each("flat_map", func, _CO_MAP[:2], declared)

    def flat_map(
        self, func: Any, output_type: Declared = None, *, schema: Declared = None
    ) -> DataStream:
        """Any number of elements for each of both, by a CoFlatMapFunction."""
        declared = schema if schema is not None else output_type
        return self._each("flat_map", func, _CO_FLAT_MAP[:2], declared)

    def _each(
        self, method: Method, function: Any, names: Sequence[str], declared: Declared
    ) -> DataStream:
        """The elements that a function makes of each of the two streams."""
        if any(hasattr(stream, "interval_join") for stream in (self._stream1, self._stream2)):
            raise UnsupportedOperationError(
                "connected streams share state by key, and one of these has none: use key_by "
                "on both, before connect or after it"
            )
        refuse_keyed(function, "connected streams without keys take a function without them")
        wanted = f"connected streams without keys need a function with {' and '.join(names)}"
        require_methods(function, names, wanted)
        one, other = (
            stream._then(method, InputOf(function, name), declared)  # type: ignore[union-attr]
            for stream, name in zip((self._stream1, self._stream2), names, strict=True)
        )
        both = one.union(other)
        if method == "process":
            both._side = lambda tag: one.get_side_output(tag).union(other.get_side_output(tag))
        return both


class KeyedConnectedStreams(ConnectedStreams):
    """Two streams whose keys share state and timers.

    The watermark is the lower of both streams', as in Flink.  Other than there a stream without
    event time does not hold it back: its rows have no timestamp, and the watermark is that of the
    other.

    Flink does not promise how elements of two streams interleave.  Here, in a micro-batch, those of
    the first stream come before those of the second, or with ``order="timestamp"`` all in the order
    of their event times; over batch DataFrames the rows of a key always are, first the first
    stream's among equals.
    """

    _stream1: KeyedStream
    _stream2: KeyedStream

    def process(
        self,
        function: Any,
        output_type: Declared = None,
        *,
        schema: Declared = None,
        **options: Unpack[KeyedOptions],
    ) -> ProcessedStream:
        """Run a KeyedCoProcessFunction, or a CoProcessFunction, which has no timers.

        Parameters as for `KeyedStream.process`.
        """
        wanted = "process of connected streams needs a KeyedCoProcessFunction"
        require_methods(function, _CO_PROCESS, wanted)
        declared = schema if schema is not None else output_type
        return self._run(function, declared, options, "a keyed co-process function sees each row")

    def map(
        self,
        func: Any,
        output_type: Declared = None,
        *,
        schema: Declared = None,
        **options: Unpack[KeyedOptions],
    ) -> ProcessedStream:
        """One element for each of both, by a CoMapFunction; none for a result None."""
        require_methods(func, _CO_MAP, "map of connected streams takes a CoMapFunction")
        declared = schema if schema is not None else output_type
        return self._run(KeyedCoMap(func), declared, options, "a co-map function sees each row")

    def flat_map(
        self,
        func: Any,
        output_type: Declared = None,
        *,
        schema: Declared = None,
        **options: Unpack[KeyedOptions],
    ) -> ProcessedStream:
        """Any number of elements for each of both, by a CoFlatMapFunction."""
        require_methods(
            func, _CO_FLAT_MAP, "flat_map of connected streams takes a CoFlatMapFunction"
        )
        declared = schema if schema is not None else output_type
        path = "a co-flat-map function sees each row"
        return self._run(KeyedCoFlatMap(func), declared, options, path)

    def _run(
        self, function: Any, declared: Declared, options: KeyedOptions, path: str
    ) -> ProcessedStream:
        asked = OperatorOptions.of("process", options)
        name = function_name(function)
        check_function(
            function, f"the function {name}", restarts=self._stream1._keyed.rows.restarts
        )
        definition = CoProcessDefinition(function)
        inputs = (self._stream1, self._stream2)
        return run_two_inputs(*inputs, name, asked, declared, path, definition)


class IntervalJoin:
    """Two keyed streams that are to be joined; `KeyedStream.interval_join` makes it."""

    def __init__(self, left: KeyedStream, right: KeyedStream) -> None:
        for stream in (left, right):
            if stream._rows.event_time is None:
                raise TimestampError(
                    "interval_join compares event times, and one of the streams has none: call "
                    "assign_timestamps_and_watermarks on both"
                )
        self._left, self._right = left, right

    def __repr__(self) -> str:
        return f"IntervalJoin of {self._left} and {self._right}"

    def between(self, lower_bound: DurationLike, upper_bound: DurationLike) -> IntervalJoined:
        """Join pairs whose right time minus left time is from ``lower_bound`` to ``upper_bound``.

        Both may be negative, and both are included unless `IntervalJoined` is told otherwise.
        """
        definition = JoinDefinition.between(lower_bound, upper_bound)
        return IntervalJoined(self._left, self._right, definition)


class IntervalJoined:
    """An interval join whose bounds are known.

    Elements at or before the watermark join nothing; they are counted as ``late_rows``, and go to
    the side output of their stream if it has one.  An element is kept until the watermark has
    passed all that could join it.
    """

    def __init__(self, left: KeyedStream, right: KeyedStream, definition: JoinDefinition) -> None:
        self._left, self._right = left, right
        self._definition = definition

    def __repr__(self) -> str:
        bounds = f"{self._definition.lower} ... {self._definition.upper} ms"
        return f"IntervalJoined of {self._left} and {self._right}, later by {bounds}"

    def lower_bound_exclusive(self) -> IntervalJoined:
        """Pairs exactly at the lower bound are not joined."""
        self._definition = self._definition.without_lower()
        return self

    def upper_bound_exclusive(self) -> IntervalJoined:
        """Pairs exactly at the upper bound are not joined."""
        self._definition = self._definition.without_upper()
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Where late elements of the left stream go."""
        self._definition = self._definition.with_late(left=output_tag)
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Where late elements of the right stream go."""
        self._definition = self._definition.with_late(right=output_tag)
        return self

    def process(
        self,
        process_join_function: Any,
        output_type: Declared = None,
        *,
        schema: Declared = None,
        **options: Unpack[KeyedOptions],
    ) -> ProcessedStream:
        """Call a ProcessJoinFunction with each pair; parameters as for `KeyedStream.process`.

        Output has the later of the two times as event time.
        """
        definition = self._definition.with_function(process_join_function)
        asked = OperatorOptions.of("process", options, "order", "processing_time_timers")
        name = type(process_join_function).__name__
        check_function(
            process_join_function, f"the function {name}", restarts=self._left._keyed.rows.restarts
        )
        return run_two_inputs(
            self._left,
            self._right,
            name,
            asked,
            schema if schema is not None else output_type,
            f"{name} is called for each pair",
            definition,
        )


def run_two_inputs(
    first: KeyedStream | DataStream,
    second: KeyedStream | DataStream,
    kind: str,
    options: OperatorOptions,
    declared: Declared,
    path: str,
    operator: OperatorDefinition,
) -> ProcessedStream:
    """The outputs of an operator over two streams.

    A second stream without keys is broadcast; a first one may have none only then.
    """
    if options.null_keys not in ("fail", "drop"):
        raise IllegalArgumentError(
            "with two inputs null_keys must be 'fail' or 'drop', since the rows of both would not "
            f"fit one output; it is {options.null_keys!r}: filter rows without a key before"
        )
    keyless = [hasattr(one, "key_by") for one in (first, second)]
    first, second = (
        one.key_by(no_key) if hasattr(one, "key_by") else one for one in (first, second)
    )
    if not any(keyless):
        _check_keys(first, second)
    inputs = (first._rows, second._rows)
    if inputs[0].streaming != inputs[1].streaming:
        raise UnsupportedOperationError(
            "one of the two is a streaming DataFrame and the other a batch one; read both as "
            "streams, or both as batches"
        )
    timed = [one.event_time is not None for one in inputs]
    if options.order == "timestamp" and not (all(timed) or keyless[1]):
        raise TimestampError("order='timestamp' needs event time on both streams")
    name, settings = plan_settings(first._keyed, kind, options)
    _, other = plan_settings(second._keyed, kind, replace(options, uid=name, order="arrival"))
    output, written = output_settings(declared, name)
    made = {"operator": operator, "strategy": TwoInputs(), **written}
    other["definition"] = settings["definition"]  # it is one operator
    keys = {"key_selector": None, "keys": None}
    plan = OperatorPlan(
        **(made | settings | (keys if keyless[0] else {})),
        second=OperatorPlan(**(made | other | {"operator": None} | (keys if keyless[1] else {}))),
    )
    return first._processed(plan, output, f"row by row: {path}", second)


def _check_keys(first: KeyedStream, second: KeyedStream) -> None:
    """Refuse keys that would not meet."""
    kinds = [one._keyed.keys.kind for one in (first, second)]
    if kinds[0] != kinds[1]:
        raise ArgumentTypeError(
            f"the keys of the first stream are {kinds[0]}, those of the second {kinds[1]}; equal "
            "keys of different types would not meet: cast the columns to the same types (with the "
            "same widened_from), or use functions for both"
        )
