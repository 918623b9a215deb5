"""Keyed operators on a control plane, called as Spark calls them, in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from flinkish.common.errors import CancelTaskError, FencingTokenError
from flinkish.common.typeinfo import Types
from flinkish.functions import KeyedProcessFunction
from flinkish.operators.window_definition import WindowDefinition
from flinkish.spark.control_plane import ControlPlane, WorkerPlane
from flinkish.spark.keyed import batch
from flinkish.spark.keyed.operator_run import BLOCK
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.state import ValueStateDescriptor
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.fake_spark import SCHEMA, FakeSpark, plan
from tests.spark.parts.test_plane_ledger import attempt
from tests.spark.parts.test_plane_rpc import plane, worker
from tests.spark.parts.test_vector_run import windows
from tests.waiting import until

__all__ = ["plane", "worker"]  # fixtures

OUT = pa.schema([("key", pa.string()), ("n", pa.int64())])


class Counting(KeyedProcessFunction):
    """Counts the rows of each key in its state; calls ``at_row`` with the number of each row."""

    opened = 0

    def __init__(self, at_row: Callable[[int], object] = lambda n: None) -> None:
        self.at_row = at_row

    def open(self, runtime_context: Any) -> None:
        self.opened += 1
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))
        self.even = runtime_context.get_metrics_group().counter("even")

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.at_row(value.n)
        self.seen.update((self.seen.value() or 0) + 1)
        if value.n % 2 == 0:
            self.even.inc()
        yield value.key, self.seen.value()


def attached(worker: WorkerPlane, operator: OperatorPlan, **changes: Any) -> OperatorPlan:
    """The operator in an attempt of a task; without changes the first of epoch 0."""
    told = attempt(operator=operator.uid, **changes)
    object.__setattr__(
        operator, "control_plane", SimpleNamespace(task=lambda name, _: worker.task(name, told))
    )
    return operator


def rows(count: int, keys: int = 3) -> list[tuple[str, int, int]]:
    return [(f"k{n % keys}", n, 1_000 + n) for n in range(count)]


def test_counters_of_operator_and_function(
    plane: ControlPlane, worker: WorkerPlane, tmp_path: Path
) -> None:
    spark = FakeSpark()
    for epoch in range(2):
        given = [*rows(10), (None, 1, 1)]
        operator = plan(Counting(), OUT, tmp_path, null_keys="drop")
        spark.batch(attached(worker, operator, epoch=epoch, task=100 + epoch), given, 0)  # type: ignore[arg-type]
    found = plane.counters()["operator"][0]
    assert (found["rows"], found["null_keys"], found["even"]) == (20, 2, 10)
    assert found["checkpoint_bytes"] > spark.counters["checkpoint_bytes"] > 0
    assert found["table_misses"] == 0
    assert plane.workers()[0].tasks == ()


def test_figures_are_live_within_a_key_group(
    plane: ControlPlane, worker: WorkerPlane, tmp_path: Path
) -> None:
    seen = []

    def look(n: int) -> None:
        if n == 5:
            until(lambda: plane.counters().get("operator", {}).get(0, {}).get("rows", 0) >= 5)
            seen.extend(task.operator for task in plane.workers()[0].tasks)

    operator = plan(Counting(look), OUT, tmp_path, max_parallelism=1)
    FakeSpark().batch(attached(worker, operator), rows(8), 0)
    assert seen == ["operator"]
    assert plane.counters()["operator"][0]["rows"] == 8


def test_a_cancelled_task_leaves_the_state_as_it_was(
    plane: ControlPlane, worker: WorkerPlane, tmp_path: Path
) -> None:
    """It ends before the next row; the batch is done again, exactly once."""
    spark = FakeSpark()
    spark.batch(plan(Counting(), OUT, tmp_path, max_parallelism=1), rows(9), 0)
    handled = []

    def order(n: int) -> None:
        handled.append(n)
        if n == 10:
            plane.cancel(operator="operator", reason="enough")
            (task,) = worker._tasks
            until(lambda: task.stopped)

    more = rows(3 * BLOCK)
    dying = plan(Counting(order), OUT, tmp_path, max_parallelism=1)
    with pytest.raises(CancelTaskError, match="was cancelled: enough"):
        spark.batch(attached(worker, dying), more, 0)
    assert handled == list(range(11))
    retry = Counting()
    with pytest.raises(CancelTaskError):
        spark.batch(attached(worker, plan(retry, OUT, tmp_path), number=1, task=101), more, 0)
    assert retry.opened == 0, "the function of a task that may not begin is not opened"

    plane.resume(operator="operator")
    again = plan(Counting(), OUT, tmp_path, max_parallelism=1)
    given = spark.batch(attached(worker, again, number=2, task=102), more, 0)
    assert sorted(n for key, n in given if key == "k0") == list(range(4, 4 + BLOCK))
    assert plane.counters()["operator"][0]["rows"] == 3 * BLOCK
    assert plane.workers()[0].tasks == ()


class Cancelling:
    """Has its task cancelled when it is called for the n-th time, and notes that."""

    def __init__(self, plane: ControlPlane, worker: WorkerPlane, at: int) -> None:
        self.plane, self.worker, self.at = plane, worker, at
        self.calls = 0

    def __call__(self, *_: object) -> None:
        self.calls += 1
        if self.calls == self.at:
            self.plane.cancel(reason="enough")
            (task,) = self.worker._tasks
            until(lambda: task.stopped)


def test_between_key_groups(plane: ControlPlane, worker: WorkerPlane, tmp_path: Path) -> None:
    """The note names the key group that was next, and no key of the one before."""
    cancel = Cancelling(plane, worker, 1)
    one_each = rows(20, keys=20)
    operator = plan(Counting(cancel), OUT, tmp_path, max_parallelism=128)
    with pytest.raises(CancelTaskError) as caught:
        FakeSpark().batch(attached(worker, operator), one_each, 0)
    assert cancel.calls == 1
    assert "for the key" not in "".join(caught.value.__notes__)


def test_before_a_timer(plane: ControlPlane, worker: WorkerPlane, tmp_path: Path) -> None:
    cancel = Cancelling(plane, worker, 2)

    class Timers(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(value.n)

        def on_timer(self, timestamp: int, ctx: Any) -> None:
            cancel()

    operator = plan(Timers(), OUT, tmp_path, max_parallelism=1)
    spark = FakeSpark()
    spark.batch(operator, rows(50), 0)
    with pytest.raises(CancelTaskError):
        spark.batch(attached(worker, operator), [], 100)
    assert cancel.calls == 2


def test_windows_look_before_each_block_of_rows(
    plane: ControlPlane, worker: WorkerPlane, tmp_path: Path
) -> None:
    cancel = Cancelling(plane, worker, 5)

    def fold(a: Any, b: Any) -> Any:
        cancel()
        return a

    definition = WindowDefinition.of(TumblingEventTimeWindows.of(100_000)).with_reduce(fold)
    operator = plan(definition, SCHEMA, tmp_path, max_parallelism=1)
    with pytest.raises(CancelTaskError):
        FakeSpark().batch(attached(worker, operator), rows(3 * BLOCK, keys=1), 0)
    assert cancel.calls == BLOCK - 1


def test_windows_by_columns(plane: ControlPlane, worker: WorkerPlane, tmp_path: Path) -> None:
    spark = FakeSpark()
    operator = windows(TumblingEventTimeWindows.of(1_000), tmp_path)
    spark.batch(attached(worker, operator), rows(30), 1)
    operator = windows(TumblingEventTimeWindows.of(1_000), tmp_path)
    assert len(spark.batch(attached(worker, operator, epoch=1, task=101), [], 5_000)) == 3
    found = plane.counters()["operator"][0]
    assert (found["rows"], found["timers_fired"]) == (30, 3)
    plane.cancel(operator="operator")
    with pytest.raises(CancelTaskError):
        spark.batch(attached(worker, operator, epoch=2, task=102), rows(30), 5_000)


def test_a_zombie_may_not_end_well(
    plane: ControlPlane, worker: WorkerPlane, tmp_path: Path
) -> None:
    """A later epoch has begun: what it did is not committed, nor does it count."""
    spark = FakeSpark()

    def be_overtaken(n: int) -> None:
        if n == 2:
            worker.task("operator", attempt(operator="operator", epoch=1, task=140)).open()

    operator = plan(Counting(be_overtaken), OUT, tmp_path, max_parallelism=1)
    with pytest.raises(FencingTokenError, match="epoch 1 of the run has begun") as caught:
        spark.batch(attached(worker, operator), rows(3), 0)
    assert (caught.value.expected, caught.value.found) == (("run", 1), ("run", 0))
    assert spark.state == {}
    unopened = Counting()
    with pytest.raises(FencingTokenError):
        spark.batch(attached(worker, plan(unopened, OUT, tmp_path)), rows(3), 0)
    assert unopened.opened == 0


def test_a_function_that_does_not_open(
    plane: ControlPlane, worker: WorkerPlane, tmp_path: Path
) -> None:
    class Broken(Counting):
        def open(self, runtime_context: Any) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        FakeSpark().batch(attached(worker, plan(Broken(), OUT, tmp_path)), rows(3), 0)
    until(lambda: plane.workers()[0].tasks == ())


def sorted_rows(count: int) -> Iterator[pa.RecordBatch]:
    """Rows of a batch DataFrame as `run_batch` has them sorted, some at a time."""
    given = sorted(rows(count))
    for start in range(0, count, 10):
        key, n, at = (list(column) for column in zip(*given[start : start + 10], strict=True))
        times = pa.array(at, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
        yield pa.record_batch([pa.array(key), pa.array(n), times], schema=SCHEMA)


def test_a_batch_dataframe(plane: ControlPlane, worker: WorkerPlane, tmp_path: Path) -> None:
    run = batch._run_keys(attached(worker, plan(Counting(), OUT, tmp_path)))
    assert sum(len(results) for results in run(sorted_rows(30))) > 0
    assert plane.counters()["operator"][0]["rows"] == 30
    assert plane.workers()[0].tasks == ()

    # One that nobody reads to its end.
    operator = attached(worker, plan(Counting(), OUT, tmp_path), epoch=1, task=101)
    results: Any = batch._run_keys(operator)(sorted_rows(30))
    next(results)
    results.close()
    until(lambda: plane.workers()[0].tasks == ())

    def cancelled() -> Iterator[pa.RecordBatch]:
        batches = sorted_rows(30)
        yield next(batches)
        plane.cancel(operator="operator")
        (task,) = worker._tasks
        until(lambda: task.stopped)
        yield from batches

    operator = attached(worker, plan(Counting(), OUT, tmp_path), epoch=2, task=102)
    with pytest.raises(CancelTaskError):
        list(batch._run_keys(operator)(cancelled()))


def test_keys_of_the_plane_go_to_none_but_the_operator(plane: ControlPlane, tmp_path: Path) -> None:
    second = plan(None, OUT, tmp_path, control_plane=plane.handle())
    operator = plan(Counting(), OUT, tmp_path, control_plane=plane.handle(), second=second)
    secret = plane.handle().secret.encode()
    assert secret in cloudpickle.dumps(operator)  # type: ignore[no-untyped-call]
    assert secret not in cloudpickle.dumps(operator.without_functions())  # type: ignore[no-untyped-call]
    assert plane.handle().secret not in repr(operator)
