"""Functions over elements of several types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flinkish.common import OutputTag, Types
from flinkish.datastream import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from flinkish.datastream.state import ValueStateDescriptor

ODD = OutputTag("odd", Types.LONG())


class Split(ProcessFunction):
    """Even elements and their times; odd ones to the side."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value.n % 2:
            yield ODD, value.n
        else:
            yield value.n, ctx.timestamp()


class Numbered(MapFunction):
    """Counts the elements of a key, in its state."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return value, self.count.value()


class Fresh(FilterFunction):
    """Keeps the first element of a key."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def filter(self, value: Any) -> bool:
        fresh = not self.seen.value()
        self.seen.update(True)
        return fresh


class Last(KeyedProcessFunction):
    """The element, its type and that of the one before, which it keeps pickled."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield repr(value), type(value).__name__, type(self.last.value()).__name__
        self.last.update(value)


class Sides(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return "one", value[1]

    def map2(self, value: Any) -> Any:
        return None if value < 0 else ("other", value)


class Times(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Iterable[Any]:
        return [("one", n) for n in range(value[1])]

    def flat_map2(self, value: Any) -> Iterable[Any]:
        yield "other", value


class Both(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield "one", value[1]
        yield ODD, value[1]

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield ODD, value


class Spread(ProcessWindowFunction):
    """The elements of a window, sorted."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, sorted(elements), context.window().start


class Join(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield left, right


class Rules(BroadcastProcessFunction):
    """Counts what it sees of either stream by type."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield f"value {type(value).__name__}"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield f"rule {type(value).__name__}"


class Ignores(KeyedCoProcessFunction):
    """Nothing of anything."""

    def process_element1(self, value: Any, ctx: Any) -> None: ...

    def process_element2(self, value: Any, ctx: Any) -> None: ...


class Counts(KeyedCoProcessFunction):
    """How many elements of a key each stream has had so far; sums do not mind their order."""

    def open(self, runtime_context: Any) -> None:
        self.counts = [
            runtime_context.get_state(ValueStateDescriptor(name, Types.LONG()))
            for name in ("one", "other")
        ]

    def _count(self, which: int, ctx: Any) -> Iterator[Any]:
        self.counts[which].update((self.counts[which].value() or 0) + 1)
        yield ctx.get_current_key(), *(count.value() or 0 for count in self.counts)

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        return self._count(0, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        return self._count(1, ctx)
