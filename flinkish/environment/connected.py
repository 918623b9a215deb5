"""Two streams for one function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.methods import require_methods
from flinkish.common.typeinfo import TypeInformation
from flinkish.environment.checks import check_type
from flinkish.environment.copies import NO_STATE, KeyedOfBoth, OfBoth
from flinkish.environment.keyed import KeyedStream
from flinkish.environment.outputs import TaggedCoOutputs
from flinkish.environment.streams import COPIES, DataStream
from flinkish.functions.process import KeyedCoProcessFunction
from flinkish.state.descriptors import MapStateDescriptor

__all__ = ["BroadcastConnectedStream", "BroadcastStream", "ConnectedStreams", "connected"]


_METHODS = {
    "map": ("map1", "map2"),
    "flat_map": ("flat_map1", "flat_map2"),
    "process": ("process_element1", "process_element2"),
}


class ConnectedStreams:
    """Two streams whose elements one function sees, with keys on both or on neither.

    Without keys every task has elements of one of the streams, so what a function keeps in its
    attributes is of that stream alone.
    """

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self._stream1, self._stream2 = stream1, stream2

    def key_by(
        self, key_selector1: Any, key_selector2: Any, key_type: TypeInformation | None = None
    ) -> ConnectedStreams:
        """Both streams partitioned by key."""
        return ConnectedStreams(
            self._stream1.key_by(key_selector1, key_type),
            self._stream2.key_by(key_selector2, key_type),
        )

    def map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """One element for each of both, by a CoMapFunction; none for a result None."""
        return self._run("Co Map", "map", func, output_type, timers=False)

    def flat_map(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Any number of elements for each of both, by a CoFlatMapFunction."""
        return self._run("Co Flat Map", "flat_map", func, output_type, timers=False)

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Run a KeyedCoProcessFunction, or without keys a CoProcessFunction."""
        made = self._run("Co Process", "process", func, output_type, timers=True)
        if not self._is_keyed:

            def tagged(first: Any, second: Any) -> Any:
                return first.connect(second).process(TaggedCoOutputs(func))

            made._node.tagged = tagged
        return made

    @property
    def _is_keyed(self) -> bool:
        keyed = [isinstance(one, KeyedStream) for one in (self._stream1, self._stream2)]
        if keyed[0] != keyed[1]:
            raise IllegalArgumentError(
                "one of the connected streams has keys and the other has none: use key_by on "
                "both, before connect or after it"
            )
        return keyed[0]

    def _run(
        self, name: str, method: str, func: Any, kind: TypeInformation | None, *, timers: bool
    ) -> DataStream:
        one, other = self._stream1, self._stream2
        keyed = self._is_keyed
        self._checked(method, func, kind)

        def build(first: Any, second: Any, **options: Any) -> Any:
            if isinstance(one, KeyedStream) and isinstance(other, KeyedStream):
                first, second = one._with_keys(first), other._with_keys(second)
            return getattr(first.connect(second), method)(func, kind, **options)

        return one._environment._stream(
            name,
            (one._node, other._node),
            build=build,
            kind=kind,
            keyed=keyed,
            timers=timers and keyed,
        )

    def _checked(self, method: str, func: Any, kind: TypeInformation | None) -> tuple[str, str]:
        """The methods of a function for both streams; ArgumentTypeError if it lacks one."""
        methods = _METHODS[method]
        require_methods(func, methods, f"{method} of connected streams takes a function of both")
        check_type(kind)
        return methods


class CopiedConnectedStreams(ConnectedStreams):
    """A stream, keyed or not, connected with a stream of which every task gets a copy.

    A task passes elements and copies to the same function object, whose fields both can use.  In a
    micro-batch copies come first.  There is no keyed state and there are no timers, as in PyFlink.
    """

    def __init__(self, stream1: DataStream, stream2: DataStream, copied: int) -> None:
        super().__init__(stream1, stream2)
        self._copied = copied  # 1 or 2: which of the two streams is copied

    @property
    def _is_keyed(self) -> bool:
        return False

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Run a CoProcessFunction."""
        return self._run("Co Process", "process", func, output_type, timers=False)

    def _run(
        self, name: str, method: str, func: Any, kind: TypeInformation | None, *, timers: bool
    ) -> DataStream:
        methods = self._checked(method, func, kind)
        if isinstance(func, KeyedCoProcessFunction):
            raise ArgumentTypeError(
                f"{type(func).__name__} has state and timers of keys, and the elements of a stream "
                "that was broadcast() have none: call key_by on both, take a CoProcessFunction, or "
                "broadcast(descriptor) and a KeyedBroadcastProcessFunction"
            )
        stream, copies = self._stream1, self._stream2
        if self._copied == 1:
            stream, copies = copies, stream
            methods = methods[1], methods[0]
        (source,) = copies._node.inputs
        stream._environment._graph.drop(copies._node)
        keyed = isinstance(stream, KeyedStream)

        def build(first: Any, second: Any, **options: Any) -> Any:
            if isinstance(stream, KeyedStream):
                first = stream._with_keys(first)
            both = first.connect(second.broadcast(NO_STATE))
            function = (KeyedOfBoth if keyed else OfBoth)(func, method, methods)
            return both.process(function, kind, **options)

        inputs = (stream._node, source)
        return stream._environment._stream(name, inputs, build=build, kind=kind, keyed=True)


class BroadcastStream:
    """A stream that reaches every task of the one that it is connected to."""

    def __init__(self, input_stream: DataStream, descriptors: Sequence[MapStateDescriptor]) -> None:
        for one in descriptors:
            if not isinstance(one, MapStateDescriptor):
                raise ArgumentTypeError(f"broadcast takes MapStateDescriptors, not {one!r}")
        self._stream = input_stream
        self._descriptors = tuple(descriptors)


class BroadcastConnectedStream:
    """A stream, with keys or without, and a broadcast one."""

    def __init__(self, stream: DataStream, broadcast: BroadcastStream) -> None:
        self._stream, self._broadcast = stream, broadcast

    def process(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Run a KeyedBroadcastProcessFunction, or without keys a BroadcastProcessFunction."""
        stream, broadcast = self._stream, self._broadcast

        def build(first: Any, second: Any, **options: Any) -> Any:
            if isinstance(stream, KeyedStream):
                first = stream._with_keys(first)
            both = first.connect(second.broadcast(*broadcast._descriptors))
            return both.process(func, output_type, **options)

        return stream._environment._stream(
            "Broadcast Process",
            (stream._node, broadcast._stream._node),
            build=build,
            kind=output_type,
            keyed=True,
            timers=isinstance(stream, KeyedStream),
        )


def connected(stream: DataStream, other: Any) -> ConnectedStreams | BroadcastConnectedStream:
    """A stream and another one; ArgumentTypeError for what is no stream of a program."""
    if isinstance(other, BroadcastStream):
        return BroadcastConnectedStream(stream, other)
    if isinstance(other, DataStream):
        copied = [one._node.ships == COPIES for one in (stream, other)]
        if copied[0] == copied[1]:
            return ConnectedStreams(stream, other)
        return CopiedConnectedStreams(stream, other, 1 if copied[0] else 2)
    raise ArgumentTypeError(
        f"connect takes a DataStream, a KeyedStream or a BroadcastStream, not {other!r}"
    )
