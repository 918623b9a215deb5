"""Timers: in both clocks, moved, coalesced."""

from flinkish.common import Types
from flinkish.datastream import KeyedProcessFunction, RuntimeContext, TimeDomain
from flinkish.datastream.state import ValueStateDescriptor
from flinkish.datastream.timerservice import TimerService


class ProcessingTimeReminder(KeyedProcessFunction):
    """Says what came, and a second later by the machine's clock that it came."""

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        now = ctx.timer_service().current_processing_time()
        yield f"{value[0]} at {now}"
        ctx.timer_service().register_processing_time_timer(now + 1000)

    def on_timer(self, timestamp: int, ctx: "KeyedProcessFunction.OnTimerContext"):
        assert ctx.time_domain() == TimeDomain.PROCESSING_TIME
        yield f"{ctx.get_current_key()} was here at {timestamp - 1000}"


class DeadManSwitch(KeyedProcessFunction):
    """An alert for a key that has been silent for ten seconds of event time.

    Every element moves the one timer of its key.
    """

    SILENCE = 10_000

    def open(self, runtime_context: RuntimeContext):
        self.timer = runtime_context.get_state(ValueStateDescriptor("timer", Types.LONG()))
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.STRING()))

    def process_element(self, value, ctx):
        timer_service: TimerService = ctx.timer_service()
        previous = self.timer.value()
        if previous is not None:
            timer_service.delete_event_time_timer(previous)
        following = ctx.timestamp() + self.SILENCE
        timer_service.register_event_time_timer(following)
        self.timer.update(following)
        self.last.update(value[1])

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), self.last.value(), timestamp - self.SILENCE
        self.timer.clear()
        self.last.clear()


class CoalescedToSeconds(KeyedProcessFunction):
    """At most one processing-time timer a key and second: times are rounded down to seconds."""

    TIMEOUT = 5000

    def process_element(self, value, ctx):
        now = ctx.timer_service().current_processing_time()
        coalesced = ((now + self.TIMEOUT) // 1000) * 1000
        ctx.timer_service().register_processing_time_timer(coalesced)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp


class CoalescedToWatermark(KeyedProcessFunction):
    """At most one event-time timer a key and watermark: it fires with the next one."""

    def process_element(self, value, ctx):
        coalesced = ctx.timer_service().current_watermark() + 1
        ctx.timer_service().register_event_time_timer(coalesced)

    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()
