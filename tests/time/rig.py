"""What the tests of timer services share: a manager over a table, a recorder, a clock."""

from collections.abc import Callable
from typing import Any

from flinkish._core.state.table import StateTable
from flinkish.metrics import MetricGroup
from flinkish.testing import TestProcessingTimeService
from flinkish.time import (
    PLAIN_NAMESPACE,
    InternalTimer,
    InternalTimerService,
    InternalTimeServiceManager,
    Triggerable,
    assign_to_key_group,
)

MAX_PARALLELISM = 10


class Recorder(Triggerable):
    """Keeps what fired, and runs a hook for each."""

    def __init__(self, log: list[Any], name: str = "") -> None:
        self.log = log
        self.name = name
        self.hook: Callable[[InternalTimer], object] | None = None

    def on_event_time(self, timer: InternalTimer) -> None:
        self._note("event", timer)

    def on_processing_time(self, timer: InternalTimer) -> None:
        self._note("processing", timer)

    def _note(self, domain: str, timer: InternalTimer) -> None:
        self.log.append((domain, timer.timestamp, timer.key, timer.namespace))
        if self.hook is not None:
            self.hook(timer)


class Rig:
    """A manager over a table, with a recorder and a clock."""

    def __init__(self, start: int = 0, end: int = MAX_PARALLELISM - 1, **options: Any) -> None:
        self.key_groups = range(start, end + 1)
        self.table = StateTable(start, end)
        self.clock = TestProcessingTimeService()
        self.clock.set_current_time(0)
        self.metrics = MetricGroup()
        self.manager = InternalTimeServiceManager(
            self.table, self.clock, metrics=self.metrics, **options
        )
        self.log: list[Any] = []
        self.recorder = Recorder(self.log)

    def service(self, name: str = "timers") -> InternalTimerService:
        return self.manager.get_internal_timer_service(name, self.recorder, PLAIN_NAMESPACE)

    def use(self, key: Any) -> None:
        self.table.set_current_key(key, assign_to_key_group(key, MAX_PARALLELISM))
