"""Streams whose rows reach every key, or every task, of another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import UnsupportedOperationError
from flinkish.operators.broadcast_definition import KeyedBroadcast, NonKeyedBroadcast
from flinkish.operators.broadcast_state import check_descriptors
from flinkish.spark.function_checks import check_function
from flinkish.spark.passes import Pass
from flinkish.spark.streams.connected import ConnectedStreams, KeyedConnectedStreams, run_two_inputs
from flinkish.spark.streams.options import KeyedOptions, OperatorOptions
from flinkish.spark.streams.windowed import Declared
from flinkish.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from flinkish.spark.streams.data_stream import DataStream, KeyedStream, ProcessedStream

__all__ = ["BroadcastConnectedStream", "BroadcastStream", "connect"]


class BroadcastStream:
    """A stream for every key group of the one it is connected to; `DataStream.broadcast` makes it.

    Its rows are packed once and sent to every key group, each of which keeps a copy of what they
    make of the broadcast state.  That suits rules and settings: a micro-batch with broadcast rows
    touches all key groups.

    Connected to a stream without keys it is the same, with key groups that stand for tasks: the
    rows of a partition of Spark's all go to one of them, in their order.
    """

    def __init__(self, stream: DataStream, descriptors: Sequence[MapStateDescriptor]) -> None:
        self._stream = stream
        self._descriptors = check_descriptors(descriptors)

    def __repr__(self) -> str:
        states = ", ".join(descriptor.name for descriptor in self._descriptors)
        return f"BroadcastStream of {self._stream} with {states}"


class BroadcastConnectedStream:
    """A stream, keyed or not, and a broadcast one; `connect` of the former makes it."""

    def __init__(self, stream: KeyedStream | DataStream, broadcast: BroadcastStream) -> None:
        self._first, self._broadcast = stream, broadcast
        self._keyed = not hasattr(stream, "key_by")

    def __repr__(self) -> str:
        return f"BroadcastConnectedStream of {self._first} and {self._broadcast}"

    def process(
        self,
        function: Any,
        output_type: Declared = None,
        *,
        schema: Declared = None,
        **options: Unpack[KeyedOptions],
    ) -> ProcessedStream:
        """Run a KeyedBroadcastProcessFunction, or a BroadcastProcessFunction without keys.

        Parameters as for `KeyedStream.process`.  In a micro-batch broadcast rows come first, in
        the order in which Spark reads them; what ``process_broadcast_element`` yields comes once
        for each subtask, as in Flink.  If it looks at the state of keys, it comes once for each key
        group, since that is where these keys are.

        Without keys ``max_parallelism`` says how many copies of the state there are, each with the
        rows of some of Spark's partitions: by default ``spark.sql.shuffle.partitions``, one for
        each task.  There are no timers, and ``null_keys`` means nothing.

        Over batch DataFrames, too, broadcast rows come first, as in Flink's batch mode; the rows of
        a key follow in any order, or with ``order="timestamp"`` by time.
        """
        definition = KeyedBroadcast if self._keyed else NonKeyedBroadcast
        broadcast = definition(function, self._broadcast._descriptors)
        rows = self._first._rows
        asked = OperatorOptions.of("process", options)
        if not self._keyed:
            if asked.processing_time_timers:
                raise UnsupportedOperationError(
                    "a BroadcastProcessFunction has no timers, since its stream has no keys; call "
                    "key_by before connect, or leave processing_time_timers out"
                )
            if asked.max_parallelism is None:
                asked = replace(asked, max_parallelism=rows.partitions)
        name = type(function).__name__
        check_function(function, f"the function {name}", restarts=rows.restarts)
        first, second, within = self._first, self._broadcast._stream, rows.within
        if not rows.streaming and not second._rows.streaming:
            whole = Pass(rows.partitions, bounded=True, token=name, defined_ms=0)
            first, second = _in_pass(first, whole), _in_pass(second, whole)
        made = run_two_inputs(
            first,
            second,
            name,
            asked,
            schema if schema is not None else output_type,
            f"a {'keyed ' if self._keyed else ''}broadcast process function sees each row",
            broadcast,
        )
        made._rows = replace(made._rows, within=within)
        return made


def _in_pass(stream: Any, within: Pass) -> Any:
    """A stream of a batch DataFrame for an operator that sees all its rows in one pass."""
    rows = replace(stream._rows, within=within)
    if not hasattr(stream, "key_by"):
        return type(stream)(replace(stream._keyed, rows=rows))
    return stream._of(rows)


def connect(stream: KeyedStream | DataStream, other: Any) -> Any:
    """A stream and another one for one function: a broadcast one, or one with which it shares keys.

    BroadcastConnectedStream, or ConnectedStreams of either kind.
    """
    if isinstance(other, BroadcastStream):
        return BroadcastConnectedStream(stream, other)
    both_keyed = all(hasattr(one, "interval_join") for one in (stream, other))
    return (KeyedConnectedStreams if both_keyed else ConnectedStreams)(stream, other)
