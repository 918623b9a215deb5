"""Functions that the tests run on Spark; importable, as a user's are."""

from collections.abc import Iterator
from typing import Any

from flinkish.common import OutputTag, Types
from flinkish.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    ReduceFunction,
)
from flinkish.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

LATE = OutputTag("late", "key string, at bigint")
ODD = OutputTag("odd", Types.ROW_NAMED(["key", "n"], [Types.STRING(), Types.LONG()]))


class Silence(KeyedProcessFunction):
    """Counts rows; says so when a key is silent for a while.  Late rows go aside."""

    PATIENCE = 2500

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers, at = ctx.timer_service(), ctx.timestamp()
        key = str(ctx.get_current_key())
        if at <= timers.current_watermark():
            yield LATE, (key, at)
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count % 2:
            yield ODD, (key, count)
        last = self.last.value()
        if last is None or last < at:
            if last is not None:
                timers.delete_event_time_timer(last + self.PATIENCE)
            timers.register_event_time_timer(at + self.PATIENCE)
            self.last.update(at)
        yield key, "row", count, at

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield str(ctx.get_current_key()), "timer", self.count.value(), timestamp
        if self.count.value() % 3 == 0:
            self.last.clear()
            self.count.clear()


class Longest(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return max(value1, value2, key=lambda text: (len(text), text))


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


class EveryState(KeyedProcessFunction):
    """Does with every kind of state what the row says, and shows all of it."""

    def open(self, runtime_context: Any) -> None:
        self.text = runtime_context.get_state(ValueStateDescriptor("text", Types.STRING()))
        self.parts = runtime_context.get_list_state(ListStateDescriptor("parts", Types.STRING()))
        self.table = runtime_context.get_map_state(
            MapStateDescriptor("table", Types.STRING(), Types.LONG())
        )
        self.longest = runtime_context.get_reducing_state(
            ReducingStateDescriptor("longest", Longest(), Types.STRING())
        )
        self.mean = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )
        self.loose = runtime_context.get_state(ValueStateDescriptor("loose"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        word = "xyz" * (value.n % 400)  # grows and shrinks
        if value.n % 17 == 0:
            for state in (self.text, self.parts, self.table, self.longest, self.mean, self.loose):
                state.clear()
        self.text.update((self.text.value() or "")[-2000:] + word)
        self.parts.add(word)
        self.table.put(f"{value.n % 7}", value.n)
        if value.n % 5 == 0:
            self.table.remove(f"{value.n % 3}")
        self.longest.add(word[:50])
        self.mean.add(value.n)
        self.loose.update({"rows": (self.loose.value() or {"rows": 0})["rows"] + 1, "of": word})
        ctx.timer_service().register_event_time_timer(ctx.timestamp() // 4000 * 4000 + 4000)
        yield self.show(ctx, "row")

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield self.show(ctx, "timer")

    def show(self, ctx: Any, why: str) -> tuple[Any, ...]:
        parts = list(self.parts.get() or ())
        loose = self.loose.value() or {"rows": 0, "of": ""}
        mean = self.mean.get()
        return (
            ctx.get_current_key(),
            f"{why} {self.text.value()} {loose['rows']} {len(loose['of'])}",
            f"{len(parts)} {sum(map(len, parts))} {parts[-1] if parts else ''}",
            ",".join(f"{name}={number}" for name, number in sorted(self.table.items())),
            f"{self.longest.get()} {mean}",
        )


class Expiring(KeyedProcessFunction):
    """Shows the time that it has, and what a state that lives for a while still holds."""

    LIFE_MS = 4000

    def open(self, runtime_context: Any) -> None:
        from flinkish.common import Duration
        from flinkish.datastream.state import StateTtlConfig

        counted = ValueStateDescriptor("counted", Types.LONG())
        life = StateTtlConfig.new_builder(Duration.of_millis(self.LIFE_MS)).build()
        counted.enable_time_to_live(life)
        self.counted = runtime_context.get_state(counted)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        held = self.counted.value()
        self.counted.update((held or 0) + 1)
        yield ctx.get_current_key(), ctx.timer_service().current_processing_time(), held
