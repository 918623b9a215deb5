import pytest

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.metrics import Counter, Distribution, Gauge, Meter, Metric, MetricGroup


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_counter() -> None:
    counter = Counter()
    counter.inc()
    counter.inc(5)
    counter.dec()
    counter.dec(2)
    assert counter.get_count() == counter.snapshot() == 3


def test_gauge() -> None:
    values = [1]
    gauge = Gauge(lambda: len(values))
    values.append(2)
    assert gauge.get_value() == gauge.snapshot() == 2
    with pytest.raises(ArgumentTypeError, match="a gauge must be a function"):
        Gauge(5)  # type: ignore[arg-type]


def test_distribution() -> None:
    distribution = Distribution()
    assert distribution.snapshot() == {"count": 0, "sum": 0, "min": None, "max": None}
    for value in (3, -1, 2.5):
        distribution.update(value)
    assert distribution.snapshot() == {"count": 3, "sum": 4.5, "min": -1, "max": 3}


def test_meter_takes_the_rate_of_full_seconds() -> None:
    clock = Clock()
    meter = Meter(10, clock=clock)
    assert meter.get_rate() == 0.0
    for _ in range(20):
        meter.mark_event(5)
        clock.now += 1.0
    assert meter.get_count() == 100
    assert meter.get_rate() == 5.0
    clock.now += 5
    assert meter.get_rate() == 2.5
    clock.now += 100
    assert meter.get_rate() == 0.0
    assert meter.snapshot() == {"count": 100, "rate": 0.0}


def test_a_young_meter_divides_by_its_age() -> None:
    clock = Clock()
    meter = Meter(60, clock=clock)
    meter.mark_event(6)
    clock.now += 3.5
    meter.mark_event(1_000)  # in a second that has not ended
    assert meter.get_rate() == 2.0


def test_a_meter_survives_a_clock_that_goes_back() -> None:
    clock = Clock()
    meter = Meter(5, clock=clock)
    clock.now -= 50
    meter.mark_event()
    assert meter.get_rate() == 0.0
    with pytest.raises(IllegalArgumentError, match="time_span_in_seconds"):
        Meter(0)


def test_groups_name_metrics() -> None:
    root = MetricGroup()
    root.counter("rows").inc(2)
    group = root.add_group("alerts")
    group.counter("late").inc()
    group.gauge("held", lambda: 7)
    root.add_group("by", "carrier").meter("seen").mark_event()
    snapshot = root.snapshot()
    assert snapshot.pop("by.carrier.seen")["count"] == 1
    assert snapshot == {"rows": 2, "alerts.late": 1, "alerts.held": 7}
    assert group.snapshot() == {"alerts.late": 1, "alerts.held": 7}
    assert root.counts() == {"rows": 2, "alerts.late": 1}
    assert group.get_scope_components() == ["alerts"]
    assert group.get_metric_identifier("late") == "alerts.late"
    assert root.get_metric_identifier("rows") == "rows"


def test_a_name_asked_for_again_is_the_same_metric() -> None:
    root = MetricGroup()
    for name in ("a", "b"):
        assert root.add_group(name) is root.add_group(name)
    assert root.counter("rows") is root.counter("rows")
    assert root.meter("m") is root.meter("m")
    assert root.distribution("d") is root.distribution("d")
    root.gauge("g", lambda: 1)
    root.gauge("g", lambda: 2)
    assert root.snapshot()["g"] == 2
    with pytest.raises(IllegalArgumentError, match="rows is a Counter already"):
        root.meter("rows")
    with pytest.raises(ArgumentTypeError, match="name of a metric"):
        root.counter("")


def test_metrics_are_metrics() -> None:
    assert all(issubclass(kind, Metric) for kind in (Counter, Gauge, Meter, Distribution))
