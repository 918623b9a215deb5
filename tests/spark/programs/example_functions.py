"""Functions in the shape of those of PyFlink's examples, and what runs a stream to its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flinkish.common import OutputTag, Types
from flinkish.common.watermark_strategy import TimestampAssigner
from flinkish.datastream import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    SinkFunction,
    WindowFunction,
)
from flinkish.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from flinkish.datastream.window import SessionWindowTimeGapExtractor

SALE = Types.TUPLE([Types.LONG(), Types.STRING(), Types.LONG()])  # time, shop, price
NAMED = Types.TUPLE([Types.STRING(), Types.LONG()])
SPAN = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG(), Types.LONG()])
CHEAP = OutputTag("cheap", Types.STRING())
DEAR = OutputTag("dear", NAMED)
OBJECTS = OutputTag("objects")
LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.LONG())


def gathered(stream: DataStream) -> list[Any]:
    """The elements of a stream, sorted by their texts."""
    return sorted(stream.execute_and_collect(), key=str)


def calls(log: Path) -> list[str]:
    """The lines that functions left in a file, sorted."""
    return sorted(log.read_text().splitlines()) if log.exists() else []


def note(log: Path, text: Any) -> None:
    """Leave a line in a file; one write, since several workers may do so."""
    with log.open("a") as file:
        file.write(f"{text}\n")


class SaleTime(TimestampAssigner):
    """The first field of a sale."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


class Balance(KeyedProcessFunction):
    """The sum of a shop so far; a timer 2 s after each sale says the sum and forgets it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        total = (self.sum.value() or 0) + value[2]
        self.sum.update(total)
        timestamp = ctx.timestamp()
        assert timestamp is not None
        ctx.timer_service().register_event_time_timer(timestamp + 2_000)
        yield value[1], total

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[tuple[str, int]]:
        yield f"{ctx.get_current_key()} at {timestamp}", self.sum.value() or 0
        self.sum.clear()


class Clocks(KeyedProcessFunction):
    """The watermark that elements see, and the one that timers see."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        timers.register_event_time_timer(5)
        timers.register_event_time_timer(5)
        timers.register_event_time_timer(6)
        timers.delete_event_time_timer(6)
        yield "element", timers.current_watermark()

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[tuple[str, int]]:
        if timestamp == 5:
            ctx.timer_service().register_event_time_timer(7)
        yield (
            f"timer {timestamp} of {ctx.time_domain().name}",
            ctx.timer_service().current_watermark(),
        )


class Alarm(KeyedProcessFunction):
    """A timer of the clock, an hour after the element."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 3_600_000)
        yield from ()

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[tuple[str, str]]:
        yield ctx.get_current_key(), ctx.time_domain().name


class Running(MapFunction):
    """A sum by key, with its state in a MapFunction."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def map(self, value: Any) -> tuple[str, int]:
        total = (self.sum.value() or 0) + int(value[1])
        self.sum.update(total)
        return value[0], total


class Basket(KeyedProcessFunction):
    """Three kinds of state: at "pay" it says what was in the basket, and how often."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.order = runtime_context.get_list_state(ListStateDescriptor("order", Types.STRING()))
        self.count = runtime_context.get_map_state(
            MapStateDescriptor("count", Types.STRING(), Types.LONG())
        )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        what = value[1]
        if what == "pay":
            yield value[0], list(self.order.get() or ()), dict(self.count.items())
            self.order.clear()
            self.count.clear()
        else:
            self.order.add(what)
            self.count.put(what, (self.count.get(what) or 0) + 1)


class Spans(ProcessWindowFunction):
    """Key, start and end of the window, number of elements; a list, as in PyFlink's examples."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]
    ) -> list[Any]:
        window = context.window()
        return [(key, window.start, window.end, len(list(elements)))]


class Sums(WindowFunction):
    """The sum of the elements of a window of a count."""

    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> list[tuple[str, int]]:
        return [(key, sum(one[1] for one in inputs))]


class Reduced(ProcessWindowFunction):
    """The one element that a window was reduced to, with the window's start."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]
    ) -> Iterator[tuple[str, int, int, int]]:
        (one,) = elements
        window = context.window()
        yield key, window.start, window.end, one[2] if isinstance(one, tuple) else one


class OfThePrice(SessionWindowTimeGapExtractor):
    """A session lasts longer after an element with a higher price."""

    def extract(self, element: Any) -> int:
        return int(element[2])


class Stamped(ProcessFunction):
    """The event time of an element, after it."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp()


class Sorted(ProcessFunction):
    """Prices by three outputs besides the main one; each call leaves a line."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        note(self._log, value)
        yield value
        if value < 3:
            yield CHEAP, f"cheap {value}"
        else:
            yield DEAR, ("dear", value)
            yield OBJECTS, {"price": value}


class KeyedSorted(KeyedProcessFunction):
    """The same by key, and a timer that has a side output."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        note(self._log, value[0])
        ctx.timer_service().register_event_time_timer(10)
        yield value
        yield CHEAP, f"{ctx.get_current_key()} {value[0]}"

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[tuple[OutputTag, tuple[str, int]]]:
        yield DEAR, (str(ctx.get_current_key()), timestamp)


class CoSorted(CoProcessFunction):
    """Elements of the first stream to the main output, those of the second one aside."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        note(self._log, f"one {value}")
        yield value

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        note(self._log, f"two {value}")
        yield CHEAP, value


class Joined(KeyedCoProcessFunction):
    """Pairs of the elements of both streams with one key, whichever comes first."""

    def open(self, runtime_context: RuntimeContext) -> None:
        kept = [
            runtime_context.get_list_state(ListStateDescriptor(name, Types.LONG()))
            for name in ("ones", "twos")
        ]
        self.ones, self.twos = kept

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.ones.add(value[1])
        for other in self.twos.get() or ():
            yield value[0], value[1], other

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.twos.add(value[1])
        for other in self.ones.get() or ():
            yield value[0], other, value[1]


class Waiting(KeyedCoProcessFunction):
    """A timer on event time after the elements of the first stream; the second has none."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 100)
        yield from ()

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.update((self.seen.value() or 0) + 10)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, self.seen.value()


class Words(CoFlatMapFunction):
    """Words of the first stream, numbers of the second."""

    def flat_map1(self, value: str) -> Iterator[str]:
        yield from value.split()

    def flat_map2(self, value: int) -> Iterator[str]:
        yield from [str(value)] * value


class Limited(BroadcastProcessFunction):
    """Elements with the limit of their name; each limit is an element itself."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield f"{value[0]} {value[1]}", ctx.get_broadcast_state(LIMITS).get(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(LIMITS).put(*value)
        yield from ()


class KeyedLimited(KeyedBroadcastProcessFunction):
    """Counts the elements of a key over its limit; says so in a timer at the end."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.over = runtime_context.get_state(ValueStateDescriptor("over", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        limit = ctx.get_broadcast_state(LIMITS).get(ctx.get_current_key()) or 0
        if value[2] > limit:
            self.over.update((self.over.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(99)
        yield from ()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(LIMITS).put(*value)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        limit = ctx.get_broadcast_state(LIMITS).get(ctx.get_current_key())
        yield ctx.get_current_key(), self.over.value() or 0, limit


class Writes(Limited):
    """Writes to the broadcast state from the side that may only read it."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(LIMITS).put(value[0], 0)
        yield from ()


class Logs(SinkFunction):
    """Writes the elements to a file, and that it was opened and closed to another one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self, runtime_context: RuntimeContext) -> None:
        note(self._path.with_suffix(".opened"), "opened")

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        note(self._path, f"{value} at {context.timestamp()}")

    def close(self) -> None:
        note(self._path.with_suffix(".closed"), "closed")
