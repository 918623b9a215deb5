"""The keyed function: an aircraft that is not heard of for too long raises an alert.

Written as for PyFlink, which runs it once the imports begin with `pyflink.` again (and the tags
carry `Types.ROW_NAMED(...)` in place of DDL, which is flinkish's own).
"""

from datetime import datetime, timezone

from flinkish.common import Types
from flinkish.datastream import OutputTag
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.datastream.state import ValueStateDescriptor

HOUR = 3_600_000  # ms

ALERTS = (
    "tailnum string, carrier string, origin string, dest string, last_departure timestamp, "
    "raised_at timestamp, silent_hours bigint"
)
LATE = OutputTag(
    "late",
    "tailnum string, carrier string, flight bigint, origin string, dest string, "
    "departure timestamp, behind_minutes bigint",
)
RETURNED = OutputTag(
    "returned",
    "tailnum string, carrier string, last_departure timestamp, returned_at timestamp, "
    "silent_hours bigint",
)


class DeadManSwitch(KeyedProcessFunction):
    """Every departure of an aircraft registers a timer and cancels the one before.

    Its key is the tail number, its event time that of the departure.  Outputs:

    - main: an alert when the timer fires.  `raised_at` is the timer's own time, the last
      departure plus the threshold; `silent_hours` counts to the watermark that fired it, for
      that is as far as time is known to have passed.
    - RETURNED: the first departure after an alert, and how long the silence really was.
    - LATE: rows at or behind the watermark.  They change nothing else: what they would have
      cancelled may have fired.
    """

    def __init__(self, threshold_ms: int) -> None:
        self.threshold_ms = threshold_ms

    def open(self, runtime_context):
        """Declare what is kept of each aircraft."""
        self.departed = runtime_context.get_state(ValueStateDescriptor("departed", Types.LONG()))
        self.flight = runtime_context.get_state(
            ValueStateDescriptor(
                "flight", Types.TUPLE([Types.STRING(), Types.STRING(), Types.STRING()])
            )
        )
        self.alerted = runtime_context.get_state(ValueStateDescriptor("alerted", Types.BOOLEAN()))

    def process_element(self, value, ctx):
        """One flight: departed, cancelled, or reported too late."""
        timers = ctx.timer_service()
        departed = ctx.timestamp()
        watermark = timers.current_watermark()
        if departed <= watermark:
            behind = (watermark + 1 - departed) // 60_000
            flight = (value.tailnum, value.carrier, value.flight, value.origin, value.dest)
            yield LATE, (*flight, utc(departed), behind)
            return
        if value.dep_time is None:  # cancelled: it never departed
            return
        before = self.departed.value()
        if before is not None and departed <= before:  # overtaken by a later departure's report
            return

        if self.alerted.value():
            silent = (departed - before) // HOUR
            yield RETURNED, (value.tailnum, value.carrier, utc(before), utc(departed), silent)
            self.alerted.clear()
        elif before is not None:
            timers.delete_event_time_timer(before + self.threshold_ms)
        timers.register_event_time_timer(departed + self.threshold_ms)
        self.departed.update(departed)
        self.flight.update((value.carrier, value.origin, value.dest))

    def on_timer(self, timestamp, ctx):
        """Nothing was heard of the aircraft for the whole threshold."""
        departed = self.departed.value()
        silent = (ctx.timer_service().current_watermark() + 1 - departed) // HOUR
        self.alerted.update(True)
        flight = self.flight.value()
        yield ctx.get_current_key(), *flight, utc(departed), utc(timestamp), silent


def utc(millis: int) -> datetime:
    """Milliseconds since the epoch as a datetime."""
    return datetime.fromtimestamp(millis / 1000, timezone.utc)
