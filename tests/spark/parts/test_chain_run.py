"""A run of a chain: order, times, side outputs, marks, errors; without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common import OutputTag, Types
from flinkish.common.errors import (
    ArgumentTypeError,
    SchemaMismatchError,
    UnsupportedOperationError,
    UserFunctionError,
)
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.common.typeinfo import TypeInformation
from flinkish.functions import FilterFunction, FlatMapFunction, MapFunction, ProcessFunction
from flinkish.spark.calls.stamps import Stamped
from flinkish.spark.chains.plan import ChainPlan
from flinkish.spark.chains.run import chain_function
from flinkish.spark.chains.steps import Step
from flinkish.spark.internals import arrow_schema
from flinkish.spark.keyed.plan import AFTER_WATERMARK, BEFORE_WATERMARK, EVENT_TIME, MARK, PHASE
from flinkish.spark.type_mapping import row_schema
from tests.spark.functions import Silence

LONG = Types.LONG()
SIDE = OutputTag("side", Types.STRING())
TIMED = Stamped("ts", chained=False)
AFTER = Stamped(EVENT_TIME, chained=True)


def chain(*steps: Step, out: TypeInformation = LONG, **options: Any) -> ChainPlan:
    return ChainPlan(
        steps=steps,
        columns=("n",),
        input_type=LONG,
        output=arrow_schema(row_schema(out)),
        output_type=out,
        time_zone=timezone.utc,
        **options,
    )


def numbers(*values: int, first_ms: int | None = None) -> pa.RecordBatch:
    columns = {"n": pa.array(values, pa.int64())}
    if first_ms is not None:
        times = [(first_ms + index) * 1000 for index in range(len(values))]
        columns["ts"] = pa.array(times, pa.timestamp("us", "UTC"))
    return pa.record_batch(columns)


def run(plan: ChainPlan, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    return [row for batch in chain_function(plan)(iter(batches)) for row in batch.to_pylist()]


def values(plan: ChainPlan, *batches: pa.RecordBatch) -> list[Any]:
    return [row["value"] for row in run(plan, *batches)]


def step(method: Any, function: Any) -> Step:
    return Step.of(method, function)


def test_each_element_goes_through_all_functions_before_the_next_one_starts() -> None:
    seen: list[Any] = []

    def noted(name: str, result: Any) -> Any:
        def call(value: int) -> Any:
            seen.append((name, value))
            return result(value)

        return call

    plan = chain(
        step("map", noted("map", lambda n: n * 10)),
        step("flat_map", noted("flat_map", lambda n: [n, n + 1])),
        step("filter", noted("filter", lambda n: n != 21)),
        step("map", noted("last", lambda n: -n)),
    )
    assert values(plan, numbers(1, 2)) == [-10, -11, -20]
    assert seen == [
        *[("map", 1), ("flat_map", 10), ("filter", 10), ("last", 10), ("filter", 11), ("last", 11)],
        *[("map", 2), ("flat_map", 20), ("filter", 20), ("last", 20), ("filter", 21)],
    ]


OPERATIONS: dict[str, Any] = {
    "map": (lambda n: n + 1, lambda values: [n + 1 for n in values]),
    "filter": (lambda n: n % 3, lambda values: [n for n in values if n % 3]),
    "flat_map": (lambda n: [n] * (n % 3), lambda values: [n for n in values for _ in range(n % 3)]),
}


@given(
    st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=5),
    st.lists(st.lists(st.integers(0, 50), max_size=30), max_size=4),
)
def test_any_chain_gives_what_its_steps_give_one_after_the_other(
    methods: list[str], batches: list[list[int]]
) -> None:
    plan = chain(*(step(method, OPERATIONS[method][0]) for method in methods))
    expected = [n for batch in batches for n in batch]
    for method in methods:
        expected = OPERATIONS[method][1](expected)
    assert values(plan, *(numbers(*batch) for batch in batches)) == expected


def test_more_outputs_than_a_piece_holds_keep_their_order_and_times() -> None:
    plan = chain(step("flat_map", lambda n: range(n)), stamped=TIMED)
    batches = list(chain_function(plan)(iter([numbers(3000, 0, 5000, first_ms=7)])))
    assert len(batches) > 1
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert [row["value"] for row in rows] == [*range(3000), *range(5000)]
    times = [row[EVENT_TIME].timestamp() for row in rows]
    assert times == [0.007] * 3000 + [0.009] * 5000


class Timed(ProcessFunction):
    """Yields the time of each element, and odd ones to the side."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield SIDE, f"odd {value}"
        else:
            yield ctx.timestamp()
        assert ctx.timer_service().current_watermark() == MIN_TIMESTAMP


def test_process_functions_know_the_time_and_have_side_outputs() -> None:
    before = step("filter", lambda n: n != 2)
    batch = numbers(1, 2, 3, 4, first_ms=10)
    assert values(chain(before, step("process", Timed()), stamped=TIMED), batch) == [13]
    side = chain(
        before, step("process", Timed()), stamped=TIMED, out=Types.STRING(), tag=OutputTag("side")
    )
    assert values(side, batch) == ["odd 1", "odd 3"]
    assert values(chain(step("process", Timed())), numbers(2)) == [None]


def test_rows_of_an_operator_keep_their_phase_and_time() -> None:
    plan = chain(step("filter", lambda n: n != 2), stamped=AFTER)
    batch = pa.record_batch(
        {
            "n": pa.array([1, 2, 3]),
            EVENT_TIME: pa.array([5, 6, None], pa.int64()),
            PHASE: pa.array([BEFORE_WATERMARK, AFTER_WATERMARK, AFTER_WATERMARK], pa.int32()),
        }
    )
    assert run(plan, batch) == [
        {"value": 1, EVENT_TIME: 5, PHASE: BEFORE_WATERMARK},
        {"value": 3, EVENT_TIME: None, PHASE: AFTER_WATERMARK},
    ]


def test_marks_pass_by_the_functions() -> None:
    plan = chain(step("map", lambda n: n + 1), stamped=AFTER, marked=True)
    batch = pa.record_batch(
        {
            "n": pa.array([None, 1, None], pa.int64()),
            EVENT_TIME: pa.array([70, 5, 80], pa.int64()),
            PHASE: pa.array([MARK, AFTER_WATERMARK, MARK], pa.int32()),
        }
    )
    rows = run(plan, batch)
    assert sorted(row[EVENT_TIME] for row in rows if row[PHASE] == MARK) == [70, 80]
    assert [row["value"] for row in rows if row[PHASE] != MARK] == [2]


def test_a_task_marks_the_highest_time_of_what_a_filter_drops() -> None:
    plan = chain(step("filter", lambda n: n < 3), stamped=TIMED, makes_marks=True)
    rows = run(plan, numbers(1, 2, 9, first_ms=10), numbers(1, first_ms=3))
    assert [row["value"] for row in rows] == [1, 2, 1, None]
    assert [row[PHASE] for row in rows] == [AFTER_WATERMARK] * 3 + [MARK]
    assert rows[-1][EVENT_TIME].timestamp() == 0.012
    assert run(plan) == []
    assert run(plan, numbers(first_ms=1)) == []


def test_in_real_time_it_marks_after_each_batch() -> None:
    """Its input ends after minutes, and time is to pass before."""
    drop = step("filter", lambda n: n < 3)
    plan = chain(drop, stamped=TIMED, makes_marks=True, prompt=True)
    batches = [numbers(1, 9, first_ms=10), numbers(9, first_ms=30), numbers(9, first_ms=20)]
    found = [
        [(row["value"], row[EVENT_TIME].timestamp()) for row in batch.to_pylist()]
        for batch in chain_function(plan)(iter(batches))
    ]
    assert found == [[(1, 0.01)], [(None, 0.011)], [(None, 0.03)], [(None, 0.03)]]


class Watched(MapFunction):
    """Says when it is opened, called and closed."""

    def __init__(self, name: str, seen: list[str], failing: str = "") -> None:
        self.name, self.seen, self.failing = name, seen, failing

    def _note(self, what: str) -> None:
        self.seen.append(f"{what} {self.name}")
        if what == self.failing:
            raise ValueError(f"{what} failed")

    def open(self, runtime_context: Any) -> None:
        assert runtime_context.get_index_of_this_subtask() == 0
        self._note("open")

    def map(self, value: Any) -> Any:
        self._note("map")
        return value

    def close(self) -> None:
        self._note("close")


def test_functions_are_opened_and_closed_once_a_task() -> None:
    seen: list[str] = []
    plan = chain(
        step("map", Watched("a", seen)),
        step("map", lambda n: n),
        step("map", Watched("b", seen)),
    )
    assert values(plan, numbers(1), numbers(2)) == [1, 2]
    assert seen == ["open a", "open b", *["map a", "map b"] * 2, "close b", "close a"]
    seen.clear()
    batches = chain_function(plan)(iter([numbers(1), numbers(2)]))
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert seen == ["open a", "open b", "map a", "map b", "close b", "close a"]


@pytest.mark.parametrize("failing", ["open", "map", "close"])
def test_errors_are_noted_and_functions_closed(failing: str) -> None:
    seen: list[str] = []
    plan = chain(step("map", Watched("a", seen, failing)), stamped=TIMED)
    with pytest.raises(ValueError, match=f"{failing} failed") as raised:
        run(plan, numbers(7, first_ms=1000))
    (note,) = raised.value.__notes__
    assert (
        note
        == {
            "open": "raised in operator 'map', as it was opened",
            "map": "raised in operator 'map' (Watched.map), for the element 7, "
            "timestamp 1000 (1970-01-01 00:00:01+00:00)",
            "close": "raised in operator 'map', as it was closed",
        }[failing]
    )
    assert seen[-1] == "close a"


def test_an_error_names_the_function_that_raised_it() -> None:
    def halved(n: int) -> float:
        return 1 / n

    plan = chain(step("map", halved), step("filter", lambda n: n > 0), step("map", int))
    with pytest.raises(ZeroDivisionError) as raised:
        run(plan, numbers(1, 0))
    (note,) = raised.value.__notes__
    assert note == "raised in operator 'map, filter, map' (halved.map), for the element 0"
    # C's functions have no frame.
    both = chain(step("map", str), step("map", int), step("map", lambda text: int("x")))
    with pytest.raises(ValueError, match="invalid literal") as raised:
        run(both, numbers(5))
    assert "(<lambda>.map)" in raised.value.__notes__[0]


def stop(n: int) -> int:
    if n == 2:
        raise StopIteration
    return n


@pytest.mark.parametrize("method", ["map", "filter", "flat_map"])
@pytest.mark.parametrize("given", [(1, 2, 3), (1, 2)])
def test_a_function_that_raises_stop_iteration_loses_nothing(
    method: str, given: tuple[int, ...]
) -> None:
    plan = chain(step(method, stop if method != "flat_map" else lambda n: [stop(n)]))
    expected = (UserFunctionError, RuntimeError)
    with pytest.raises(expected, match="StopIteration"):
        run(plan, numbers(*given))


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="map takes a MapFunction or a function"):
        step("map", 5)
    with pytest.raises(ArgumentTypeError, match="make an instance"):
        step("filter", FilterFunction)
    with pytest.raises(ArgumentTypeError, match="process takes a ProcessFunction"):
        step("process", lambda value: value)
    with pytest.raises(ArgumentTypeError, match="Silence is a function of keyed streams"):
        step("process", Silence())
    with pytest.raises(ArgumentTypeError, match="flat_map returned 'ab'"):
        run(chain(step("flat_map", lambda n: "ab")), numbers(1))
    assert values(chain(step("flat_map", lambda n: None)), numbers(1)) == []


def test_an_output_that_does_not_fit_is_shown() -> None:
    plan = chain(step("map", lambda n: "x" * n))
    with pytest.raises(SchemaMismatchError, match=r"the output of map\(<lambda>\) was declared"):
        run(plan, numbers(3))


class Asks(FlatMapFunction):
    def open(self, runtime_context: Any) -> None:
        runtime_context.get_state(None)

    def flat_map(self, value: Any) -> Any:
        return [value]


def test_there_is_no_state_without_keys() -> None:
    with pytest.raises(UnsupportedOperationError, match="has no keys"):
        run(chain(step("flat_map", Asks())), numbers(1))
