"""A keyed process operator in plain Python: a dict of timers, sorted for each one that fires."""

from itertools import count
from typing import Any

from flinkish.common import MIN_TIMESTAMP, OutputTag
from flinkish.time import TimeDomain
from tests.models.expiring_state import ModelState


class ModelOperator:
    """The function's runtime context, context, timer service, and operator in one."""

    def __init__(self, function: Any) -> None:
        self.key: Any = None
        self.time: int | None = None
        self.domain: TimeDomain | None = None
        self.watermark = MIN_TIMESTAMP
        self.now = self.late = self.fired = 0
        self.states: dict[str, ModelState] = {}
        self.timers: dict[TimeDomain, dict[tuple[int, Any], int]] = {d: {} for d in TimeDomain}
        self.numbers = count()
        self.output: list[tuple[Any, Any, Any]] = []  # (tag, value, timestamp)
        self.function = function
        function.open(self)

    def get_state(self, descriptor: Any) -> ModelState:
        ttl = descriptor.ttl_config
        return self.states.setdefault(descriptor.get_name(), ModelState(self, ttl and ttl.ttl_ms))

    get_list_state = get_map_state = get_state

    def timestamp(self) -> Any:
        return self.time

    def get_current_key(self) -> Any:
        return self.key

    def time_domain(self) -> Any:
        return self.domain

    def timer_service(self) -> "ModelOperator":
        return self

    def current_watermark(self) -> int:
        return self.watermark

    def current_processing_time(self) -> int:
        return self.now

    def register_event_time_timer(
        self, timestamp: int, domain: Any = TimeDomain.EVENT_TIME
    ) -> None:
        self.timers[domain].setdefault((timestamp, self.key), next(self.numbers))

    def delete_event_time_timer(self, timestamp: int, domain: Any = TimeDomain.EVENT_TIME) -> None:
        self.timers[domain].pop((timestamp, self.key), None)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self.register_event_time_timer(timestamp, TimeDomain.PROCESSING_TIME)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self.delete_event_time_timer(timestamp, TimeDomain.PROCESSING_TIME)

    def collect(self, results: Any, timestamp: int | None) -> None:
        for value in results:
            tag, value = value if isinstance(value[0], OutputTag) else (None, value)
            self.output.append((tag, value, timestamp))

    def process(self, key: Any, value: Any, timestamp: int | None) -> None:
        self.key, self.time = key, timestamp
        self.late += timestamp is not None and timestamp <= self.watermark
        self.collect(self.function.process_element(value, self), timestamp)

    def advance(self, domain: TimeDomain, until: int) -> None:
        timers = self.timers[domain]
        while due := sorted(
            (at, number, key) for (at, key), number in timers.items() if at <= until
        ):
            at, _, self.key = due[0]
            del timers[at, self.key]
            self.fired += 1
            self.time, self.domain = at, domain
            results = self.function.on_timer(at, self)
            self.collect(results, at if domain is TimeDomain.EVENT_TIME else None)
