"""Functions that the tests of harnesses and operators run."""

from collections.abc import Iterator
from typing import Any

from flinkish.common import OutputTag, Types
from flinkish.functions import KeyedProcessFunction, RuntimeContext
from flinkish.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

LATE = OutputTag("late", Types.STRING())


class Count(KeyedProcessFunction):
    """Yields (key, count); a timer in each clock 10 ms later yields (key, count, domain name)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        timers = ctx.timer_service()
        time = ctx.timestamp()
        if time is not None:
            timers.register_event_time_timer(time + 10)
            if time <= timers.current_watermark():
                yield LATE, f"{value} is late"
        timers.register_processing_time_timer(timers.current_processing_time() + 10)
        yield ctx.get_current_key(), count

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), self.count.value(), ctx.time_domain().name


class Script(KeyedProcessFunction):
    """Does what each value says: ``(key, command, *arguments)``; yields what it found."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.context = runtime_context
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.items = runtime_context.get_list_state(ListStateDescriptor("items"))
        self.pairs = runtime_context.get_map_state(MapStateDescriptor("pairs"))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        _, command, *arguments = value
        found = getattr(self, command)(ctx, *arguments)
        if found is not None:
            yield found

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name

    def get(self, ctx: Any) -> Any:
        return self.value.value(), list(self.items.get()), dict(self.pairs.items())

    def put(self, ctx: Any, value: Any) -> None:
        self.value.update(value)

    def add(self, ctx: Any, value: Any) -> None:
        self.items.add(value)

    def pair(self, ctx: Any, key: Any, value: Any) -> None:
        self.pairs.put(key, value)

    def clear(self, ctx: Any) -> None:
        for state in (self.value, self.items, self.pairs):
            state.clear()

    def at(self, ctx: Any, *timestamps: int) -> None:
        for timestamp in timestamps:
            ctx.timer_service().register_event_time_timer(timestamp)

    def not_at(self, ctx: Any, *timestamps: int) -> None:
        for timestamp in timestamps:
            ctx.timer_service().delete_event_time_timer(timestamp)

    def later(self, ctx: Any, *timestamps: int) -> None:
        for timestamp in timestamps:
            ctx.timer_service().register_processing_time_timer(timestamp)

    def fail(self, ctx: Any, error: BaseException) -> None:
        raise error
