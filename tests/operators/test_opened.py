"""Functions of an operator open in their order and close in the reverse, in a task and on Spark."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish.functions import AggregateFunction, KeyedProcessFunction, ProcessWindowFunction
from flinkish.operators import WindowOperator
from flinkish.operators.window_definition import WindowDefinition
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.fake_spark import FakeSpark, plan

OUT = pa.schema([("n", pa.int64())])


class Steps:
    """Notes when it is opened and closed; may fail at it."""

    def __init__(self, log: list[str], name: str, fails: tuple[str, ...] = ()) -> None:
        self.log, self.name, self.fails = log, name, fails

    def _step(self, step: str) -> None:
        self.log.append(f"{step} {self.name}")
        if step in self.fails:
            raise OSError(f"no {step} of {self.name}")

    def open(self, runtime_context: Any) -> None:
        self._step("open")

    def close(self) -> None:
        self._step("close")


class Total(Steps, AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class Named(Steps, ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        return [(next(iter(elements)),)]


class Alone(Steps, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return [(1,)]


def windows(total: Steps, named: Steps) -> WindowDefinition:
    assigner = TumblingEventTimeWindows.of(10)
    return WindowDefinition.of(assigner).with_aggregate(total, named)


def in_a_task(total: Steps, named: Steps, directory: Path) -> None:
    operator = WindowOperator(windows(total, named))
    harness = KeyedOneInputStreamOperatorTestHarness(operator, lambda value: value)
    try:
        harness.open()
    finally:
        harness.close()


def on_spark(total: Steps, named: Steps, directory: Path) -> None:
    operator = plan(windows(total, named), OUT, directory)
    FakeSpark().batch(operator, [("a", 1, 1000)], 0)


RUNS = pytest.mark.parametrize("run", [in_a_task, on_spark])
Run = Callable[[Steps, Steps, Path], None]


@RUNS
def test_all_open_and_close_once(run: Run, tmp_path: Path) -> None:
    log: list[str] = []
    run(Total(log, "total"), Named(log, "named"), tmp_path)
    assert log == ["open named", "open total", "close total", "close named"]


@RUNS
def test_a_function_that_does_not_open_is_closed_and_those_before_it(
    run: Run, tmp_path: Path
) -> None:
    log: list[str] = []
    with pytest.raises(OSError, match="no open of total") as failed:
        run(Total(log, "total", ("open",)), Named(log, "named"), tmp_path)
    assert log == ["open named", "open total", "close total", "close named"]
    (note,) = failed.value.__notes__
    assert "Total" in note

    log.clear()
    with pytest.raises(OSError, match="no open of named") as failed:
        run(Total(log, "total"), Named(log, "named", ("open",)), tmp_path)
    assert log == ["open named", "close named"]
    (note,) = failed.value.__notes__
    assert "Named" in note
    assert "Total" not in note


@RUNS
def test_each_is_closed_whatever_the_others_raise(run: Run, tmp_path: Path) -> None:
    log: list[str] = []
    with pytest.raises(OSError, match="no close of total") as failed:
        run(Total(log, "total", ("close",)), Named(log, "named", ("close",)), tmp_path)
    assert log == ["open named", "open total", "close total", "close named"]
    assert failed.value.__notes__[0] == "close of Named raised, too: OSError('no close of named')"


def test_what_close_raises_after_an_error_is_noted_on_it(tmp_path: Path) -> None:
    log: list[str] = []
    with pytest.raises(OSError, match="no open of total") as failed:
        on_spark(Total(log, "total", ("open", "close")), Named(log, "named"), tmp_path)
    assert failed.value.__notes__ == [
        "close() raised, too: OSError('no close of total')",
        "raised in operator 'operator' (Named), as Total was opened",
    ]


def test_an_error_of_close_names_the_operator(tmp_path: Path) -> None:
    log: list[str] = []
    alone = Alone(log, "alone", ("close",))
    with pytest.raises(OSError, match="no close of alone") as failed:
        FakeSpark().batch(plan(alone, OUT, tmp_path), [("a", 1, 1000)], 0)
    assert failed.value.__notes__ == ["raised in operator 'operator' (Alone), as it was closed"]
    assert log == ["open alone", "close alone"]
