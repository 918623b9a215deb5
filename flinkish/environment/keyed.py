"""Streams with keys, and their functions with state and timers."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import TYPE_CHECKING, Any, NoReturn

from flinkish.common.errors import ArgumentTypeError, UnsupportedOperationError
from flinkish.common.row import Row
from flinkish.common.typeinfo import TypeInformation
from flinkish.environment.checks import check_field, check_function, check_type
from flinkish.environment.nodes import Node
from flinkish.environment.streams import DataStream
from flinkish.windowing import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    WindowAssigner,
)

if TYPE_CHECKING:
    from flinkish.environment.environment import StreamExecutionEnvironment
    from flinkish.environment.windowed import WindowedStream

__all__ = ["KeyedStream"]


class KeyedStream(DataStream):
    """A stream whose elements are handled key by key.

    Its functions may use the state of the current key, which ``open`` gets from the runtime
    context.
    """

    class AccumulateType(Enum):
        """The rolling functions of a field."""

        MIN = 1
        MAX = 2
        MIN_BY = 3
        MAX_BY = 4
        SUM = 5

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        node: Node,
        key_selector: Any,
        key_type: TypeInformation | None,
    ) -> None:
        if not (callable(key_selector) or hasattr(key_selector, "get_key")):
            raise ArgumentTypeError(
                f"key_by takes a function of an element or a KeySelector, not {key_selector!r}"
            )
        super().__init__(environment, node)
        self._selector = key_selector
        self._key_type = key_type

    def _with_keys(self, stream: Any) -> Any:
        """A stream of `flinkish.spark` by this one's keys."""
        return stream.key_by(self._selector, key_type=self._key_type)

    def _keyed(
        self,
        name: str,
        build: Callable[..., Any],
        kind: TypeInformation | None,
        *,
        timers: bool = False,
    ) -> DataStream:
        check_type(kind)

        def made(stream: Any, **options: Any) -> Any:
            return build(self._with_keys(stream), **options)

        return self._environment._stream(
            name, (self._node,), build=made, kind=kind, keyed=True, timers=timers
        )

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> Any:
        """Run the job and return its elements, each in a Row with its key.

        The key is the field ``f0``, the element ``f1``, as in PyFlink.
        """
        select = getattr(self._selector, "get_key", self._selector)
        pairs = DataStream(self._environment, self._node).map(
            lambda value: Row(f0=select(value), f1=value)
        )
        return pairs.execute_and_collect(job_execution_name, limit)

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Run a KeyedProcessFunction."""
        check_function(func, "process")

        def build(stream: Any, **options: Any) -> Any:
            return stream.process(func, output_type, **options)

        return self._keyed("Keyed Process", build, output_type, timers=True)

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """One element for each, by a MapFunction or a function of one value."""
        check_function(func, "map")

        def build(stream: Any, **options: Any) -> Any:
            return stream.map(func, output_type, **options)

        return self._keyed("Keyed Map", build, output_type)

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Any number of elements for each, by a FlatMapFunction or a generator of one value."""
        check_function(func, "flat_map")

        def build(stream: Any, **options: Any) -> Any:
            return stream.flat_map(func, output_type, **options)

        return self._keyed("Keyed Flat Map", build, output_type)

    def filter(self, func: Any) -> DataStream:
        """The elements for which a FilterFunction, or a function of one value, gives True."""
        check_function(func, "filter")

        def build(stream: Any, **options: Any) -> Any:
            return stream.filter(func, **options)

        return self._keyed("Keyed Filter", build, self._node.kind)

    def reduce(self, func: Any) -> DataStream:
        """The value to which the elements of a key so far were reduced, for each element.

        In batch mode only the last of each key, as in Flink.
        """
        check_function(func, "reduce")

        def build(stream: Any, **options: Any) -> Any:
            return stream.reduce(func, **options)

        return self._keyed("Reduce", build, self._node.kind)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The key's first element with the sum of a field so far, for each element."""
        return self._rolling("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The key's first element with the least of a field so far."""
        return self._rolling("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The key's first element with the highest of a field so far."""
        return self._rolling("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The key's first element with the least of a field so far, whole."""
        return self._rolling("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The key's first element with the highest of a field so far, whole."""
        return self._rolling("max_by", position_to_max_by)

    def _rolling(self, method: str, field: int | str) -> DataStream:
        check_field(field, method, self._node.kind)

        def build(stream: Any, **options: Any) -> Any:
            return getattr(stream, method)(field, **options)

        return self._keyed(f"Rolling {method}", build, self._node.kind)

    def window(self, window_assigner: WindowAssigner) -> WindowedStream:
        """The elements of each key in windows."""
        from flinkish.environment.windowed import WindowedStream

        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Windows of ``size`` elements of a key, one every ``slide`` (0: every ``size``)."""
        if slide == 0:
            return self.window(CountTumblingWindowAssigner(size))
        return self.window(CountSlidingWindowAssigner(size, slide))


def _refused(method: str) -> Callable[..., NoReturn]:
    @wraps(getattr(DataStream, method))
    def refuse(self: KeyedStream, *args: Any, **settings: Any) -> NoReturn:
        raise UnsupportedOperationError(
            f"{method} is for operators, and a KeyedStream is none, as in Flink: its partitions "
            f"follow its keys. Call {method} on the stream before key_by, or on the one that the "
            "function after it returns"
        )

    refuse.__doc__ = "Refused: a keyed stream is not an operator, and its keys partition it."
    return refuse


for _method in (
    *("name", "get_name", "uid", "set_uid_hash", "set_parallelism"),
    *("set_max_parallelism", "force_non_parallel", "set_buffer_timeout", "start_new_chain"),
    *("disable_chaining", "slot_sharing_group", "cache", "shuffle", "rebalance", "rescale"),
    *("forward", "broadcast", "partition_custom"),
):
    setattr(KeyedStream, _method, _refused(_method))
