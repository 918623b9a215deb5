"""Functions of the programs that the tests run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flinkish.common import Types
from flinkish.common.watermark_strategy import TimestampAssigner
from flinkish.datastream import (
    BroadcastProcessFunction,
    CoMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    SinkFunction,
    SourceFunction,
)
from flinkish.datastream.functions import AsyncFunction, CheckpointedFunction
from flinkish.datastream.state import MapStateDescriptor, ValueStateDescriptor

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
ODD = OutputTag("odd", Types.LONG())
LATE = OutputTag("late", PAIR)
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def first(value: Any) -> Any:
    """The key of a pair."""
    return value[0]


class SecondField(TimestampAssigner):
    """Event time is the second field."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Split(ProcessFunction):
    """Even numbers, and odd ones to a side output; each call leaves a line in a file."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        with self._log.open("a") as file:
            file.write(f"{value}\n")
        yield value if value % 2 == 0 else (ODD, value)


class Logged:
    """A map whose calls leave lines in a file."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def __call__(self, value: Any) -> Any:
        with self._log.open("a") as file:
            file.write(f"{value}\n")
        return value


class CountTimers(KeyedProcessFunction):
    """Counts a key's elements; a timer 10 ms after each tells how many there were."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        timestamp = ctx.timestamp()
        assert timestamp is not None
        ctx.timer_service().register_event_time_timer(timestamp + 10)
        yield (value[0], self.count.value())

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterator[tuple[str, int]]:
        yield (f"{ctx.get_current_key()} at {timestamp}", self.count.value())


class Plain(KeyedProcessFunction):
    """Elements as they are."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield value


class Window(ProcessWindowFunction):
    """Key, begin of the window, number of elements."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]
    ) -> Iterator[Any]:
        yield (key, context.window().start, len(list(elements)))


class Count(ProcessWindowFunction):
    """Key and number of elements, of windows of any kind."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]
    ) -> Iterator[Any]:
        yield (key, len(list(elements)))


class Both(KeyedCoProcessFunction):
    """Says for each element how many of both streams the key has had."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def _counted(self, name: str) -> Iterator[tuple[str, int]]:
        self.count.update((self.count.value() or 0) + 1)
        yield (name, self.count.value())

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        return self._counted(f"{value[0]} one")

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        return self._counted(f"{value[0]} two")


class Sides(CoMapFunction):
    """Says of which stream an element is; zeros are left out."""

    def map1(self, value: Any) -> Any:
        return ("one", value)

    def map2(self, value: Any) -> Any:
        return ("two", value) if value else None


class Rules(BroadcastProcessFunction):
    """Elements whose rule allows their number."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value[1] <= (ctx.get_broadcast_state(RULES).get(value[0]) or 0):
            yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield from ()


class KeyedRules(KeyedBroadcastProcessFunction):
    """The same by key."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value[1] <= (ctx.get_broadcast_state(RULES).get(ctx.get_current_key()) or 0):
            yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield from ()


class Times10(AsyncFunction):
    """A call that takes no time."""

    async def async_invoke(self, value: Any) -> list[Any]:
        return [value * 10]


class ToFile(SinkFunction):
    """A line for each element, and one for the end."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def invoke(self, value: Any, context: SinkFunction.Context) -> None:
        with self._path.open("a") as file:
            file.write(f"{value} {context.timestamp()}\n")


class Numbers(SourceFunction, CheckpointedFunction):
    """Pairs of a key and a number, from where the checkpoint was, until it is cancelled."""

    def __init__(self, stop_at: int) -> None:
        self._stop_at = stop_at
        self.number = 0
        self.running = True

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        return str(self.number).encode()

    def restore_state(self, state: bytes) -> None:
        self.number = int(state)

    def run(self, ctx: SourceFunction.SourceContext) -> None:
        while self.running and self.number < self._stop_at:
            with ctx.get_checkpoint_lock():
                ctx.collect((f"k{self.number % 3}", self.number))
                self.number += 1

    def cancel(self) -> None:
        self.running = False
