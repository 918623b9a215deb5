"""Streams whose rows reach every key of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flinkish.common.errors import UnsupportedOperationError
from flinkish.operators.broadcast import KeyedBroadcast, check_descriptors
from flinkish.spark.connected_streams import run_two_inputs
from flinkish.spark.control_plane import ControlPlane
from flinkish.spark.options import OperatorOptions
from flinkish.spark.pickling import check_picklable
from flinkish.spark.plan import StateSettings
from flinkish.spark.windowed_stream import Declared
from flinkish.state.descriptors import MapStateDescriptor

if TYPE_CHECKING:
    from flinkish.spark.data_stream import DataStream, KeyedStream, ProcessedStream

__all__ = ["BroadcastConnectedStream", "BroadcastStream"]


class BroadcastStream:
    """A stream for every key group of the one it is connected to; `DataStream.broadcast` makes it.

    Its rows are packed once and sent to every key group, each of which keeps a copy of what they
    make of the broadcast state.  That suits rules and settings: a micro-batch with broadcast rows
    touches all key groups.
    """

    def __init__(self, stream: DataStream, descriptors: Sequence[MapStateDescriptor]) -> None:
        self._stream = stream
        self._descriptors = check_descriptors(descriptors)


class BroadcastConnectedStream:
    """A keyed stream and a broadcast one; `KeyedStream.connect` makes it."""

    def __init__(self, keyed: KeyedStream, broadcast: BroadcastStream) -> None:
        self._keyed, self._broadcast = keyed, broadcast

    def process(
        self,
        function: Any,
        output_type: Declared = None,
        *,
        schema: Declared = None,
        uid: str | None = None,
        max_parallelism: int | None = None,
        order: str = "arrival",
        processing_time_timers: bool = False,
        null_keys: str = "fail",
        job_parameters: Mapping[str, str] | None = None,
        state: StateSettings | None = None,
        control_plane: ControlPlane | None = None,
    ) -> ProcessedStream:
        """Run a KeyedBroadcastProcessFunction; parameters as for `KeyedStream.process`.

        In a micro-batch broadcast rows come first, in the order in which Spark reads them; what
        ``process_broadcast_element`` yields comes once for each key group.
        """
        broadcast = KeyedBroadcast(function, self._broadcast._descriptors)
        if not self._keyed._stream._frame.isStreaming:
            raise UnsupportedOperationError(
                "broadcast state is kept from micro-batch to micro-batch, and this is a batch "
                "DataFrame, which is handled key by key: join the rules to the rows with Spark's "
                "own join, and use process"
            )
        name = type(function).__name__
        check_picklable(function, f"the function {name}")
        return run_two_inputs(
            self._keyed,
            self._broadcast._stream,
            name,
            OperatorOptions(
                uid,
                max_parallelism,
                order,
                processing_time_timers,
                null_keys,
                job_parameters,
                state,
                control_plane,
            ),
            schema if schema is not None else output_type,
            "a keyed broadcast process function sees each row",
            function=broadcast,
        )
