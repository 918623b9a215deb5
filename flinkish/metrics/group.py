"""Names for metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.metrics.metrics import Counter, Distribution, Gauge, Meter, Metric

__all__ = ["MetricGroup"]

M = TypeVar("M", bound=Metric)


class MetricGroup:
    """Metrics and further groups, by name.

    Asking for a name again gives the metric that is there, so a function that is opened anew
    goes on counting; asking for it as another kind is an IllegalArgumentError.
    """

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        self._scope = scope
        self._groups: dict[str, MetricGroup] = {}
        self._metrics: dict[str, Metric] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The group ``name`` in this group; with ``extra``, the group ``extra`` in that."""
        _check_name(name)
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = MetricGroup((*self._scope, name))
        return group if extra is None else group.add_group(extra)

    def counter(self, name: str) -> Counter:
        """The counter of this name, made when it is first asked for."""
        return self._metric(name, Counter, Counter)

    def gauge(self, name: str, obj: Callable[[], Any]) -> None:
        """A gauge that calls ``obj()``; it takes the place of an earlier one of the name."""
        self._metric(name, Gauge, lambda: Gauge(obj))
        self._metrics[name] = Gauge(obj)

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """A meter whose rate covers so many seconds."""
        return self._metric(name, Meter, lambda: Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        """The distribution of this name, made when it is first asked for."""
        return self._metric(name, Distribution, Distribution)

    def get_scope_components(self) -> list[str]:
        """The names of the groups around the metrics, outermost first."""
        return list(self._scope)

    def get_metric_identifier(self, metric_name: str) -> str:
        """The name under which a snapshot of the outermost group has a metric of this one."""
        return ".".join((*self._scope, metric_name))

    def snapshot(self) -> dict[str, Any]:
        """All metrics of this group and the groups in it: ``"group.name"`` to what it stands at."""
        found = {self.get_metric_identifier(n): m.snapshot() for n, m in self._metrics.items()}
        for group in self._groups.values():
            found.update(group.snapshot())
        return found

    def counts(self) -> dict[str, int]:
        """The counters alone, named as in a snapshot; unlike gauges they call nobody."""
        found: dict[str, int] = {}
        for name, metric in self._metrics.items():
            if isinstance(metric, Counter):
                found[self.get_metric_identifier(name)] = metric.get_count()
        for group in self._groups.values():
            found.update(group.counts())
        return found

    def _metric(self, name: str, kind: type[M], make: Callable[[], M]) -> M:
        _check_name(name)
        metric = self._metrics.get(name)
        if metric is None:
            metric = self._metrics[name] = make()
        if not isinstance(metric, kind):
            raise IllegalArgumentError(
                f"{self.get_metric_identifier(name)} is a {type(metric).__name__} already, so it "
                f"cannot be a {kind.__name__}: choose another name"
            )
        return metric


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(f"the name of a metric or group must be a str, not {name!r}")
