"""Counts and sums: one value of each key, forgotten by a timer or by its age."""

from flinkish.common import Row, Types
from flinkish.common.time import Time
from flinkish.datastream.functions import KeyedProcessFunction, RuntimeContext
from flinkish.datastream.state import StateTtlConfig, ValueStateDescriptor


class CountWithTimeout(KeyedProcessFunction):
    """A key's count, once the key has been quiet for a minute of event time."""

    def __init__(self):
        self.state = None

    def open(self, runtime_context: RuntimeContext):
        self.state = runtime_context.get_state(
            ValueStateDescriptor("count and last change", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        current = self.state.value()
        if current is None:
            current = Row(value[0], 0, 0)
        current[1] += 1
        current[2] = ctx.timestamp()
        self.state.update(current)
        ctx.timer_service().register_event_time_timer(current[2] + 60000)

    def on_timer(self, timestamp: int, ctx: "KeyedProcessFunction.OnTimerContext"):
        result = self.state.value()
        if timestamp == result[2] + 60000:
            yield result[0], result[1]


class SumOnTimer(KeyedProcessFunction):
    """The sum of a key, two seconds after each of its elements."""

    def open(self, runtime_context: RuntimeContext):
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value, ctx):
        previous = self.sum.value()
        if previous is None:
            previous = 0
        self.sum.update(previous + value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 2000)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.sum.value()


class SumThatIsForgotten(KeyedProcessFunction):
    """The running sum of a key; reading and writing keep it alive for a second."""

    def open(self, runtime_context: RuntimeContext):
        descriptor = ValueStateDescriptor("sum", Types.FLOAT())
        ttl = (
            StateTtlConfig.new_builder(Time.seconds(1))
            .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
            .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
            .cleanup_incrementally(10, True)
            .disable_cleanup_in_background()
            .build()
        )
        descriptor.enable_time_to_live(ttl)
        self.sum = runtime_context.get_state(descriptor)

    def process_element(self, value, ctx):
        total = (self.sum.value() or 0) + value[1]
        self.sum.update(total)
        yield Row(value[0], total)


class Deduplicate(KeyedProcessFunction):
    """The first of equal elements; a key is forgotten an hour of event time after it."""

    def open(self, runtime_context: RuntimeContext):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.BOOLEAN()))

    def process_element(self, value, ctx):
        if not self.seen.value():
            self.seen.update(True)
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 3600 * 1000)
            yield value

    def on_timer(self, timestamp, ctx):
        self.seen.clear()
