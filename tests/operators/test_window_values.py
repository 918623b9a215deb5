"""What goes into a window comes out of it: values of any type, and rows by their fields."""

import math
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.state.table import StateTable
from flinkish.common import Row, RowKind
from flinkish.functions import ProcessWindowFunction
from flinkish.operators import KeyedRuntimeContext, WindowOperatorBuilder
from flinkish.operators.window_definition import WindowDefinition
from flinkish.operators.window_engine import make_window_engine
from flinkish.state.backend import KeyedStateBackend
from flinkish.windowing import CountTrigger, GlobalWindows, PurgingTrigger
from tests.operators.windowed import harness_of, records

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(timezone.utc)),
    st.datetimes(timezones=st.just(timezone(timedelta(hours=2)))),
    st.decimals(allow_nan=False),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(st.text(), inner)
    ),
    max_leaves=6,
)


class Out(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield list(elements)


def one_by_one() -> Any:
    return PurgingTrigger.of(CountTrigger.of(1))


def same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left == right and repr(left) == repr(right)


@given(VALUES)
@example(datetime(1, 1, 1))
@example(datetime(9999, 12, 31, 23, 59, 59, 999999, timezone.utc))
@example(datetime(2024, 10, 27, 2, 30, fold=1))
@example(1 << 63)
@example(-(1 << 63))
@example("")
@example(b"")
@example(())
@example((None, -0.0, math.inf, "x" * 300, b"y" * 300))
@example(np.float64(1.5))
@example([])
@example([(1, "a", datetime(2024, 2, 29, tzinfo=timezone.utc)), ((), (None, (2.5,)))])
@example([1 << 70, [1], {"a": 1}])
@example(["half of a pair: \ud800"])
@example((1, (2, [3], ("\udfff",))))
def test_values(value: Any) -> None:
    builder = WindowOperatorBuilder(GlobalWindows.create()).trigger(one_by_one())
    for operator in (builder.process(Out()), builder.reduce(lambda a, b: b, Out())):
        with harness_of(operator) as harness:
            harness.operator.process_batch([value], None, ["k"])
            ((found,),) = records(harness)
            assert same(found, value)


def test_what_is_in_a_list_twice_stays_one() -> None:
    inner = [1]
    found = through([inner, (inner, 2)])
    assert found == [[1], ([1], 2)]
    assert found[0] is found[1][0]
    inner.append(inner)
    found = through(inner)
    assert found[1] is found


def test_tuples_too_deep_are_refused() -> None:
    deep: tuple[Any, ...] = ()
    for _ in range(100_000):
        deep = (deep,)
    with pytest.raises(RecursionError):
        through([deep])


def test_not_a_number() -> None:
    builder = WindowOperatorBuilder(GlobalWindows.create()).trigger(one_by_one())
    with harness_of(builder.process(Out())) as harness:
        harness.operator.process_batch([(math.nan,)], None, ["k"])
        ((found,),) = records(harness)
        assert math.isnan(found[0])


@given(st.tuples(VALUES, SCALARS))
def test_rows_by_their_fields(fields: tuple[Any, Any]) -> None:
    row = Row(a=fields[0], b=fields[1])
    assert same(through(row), row)


@pytest.mark.parametrize(
    "value",
    [
        Row(b=1, a=2),
        Row(1, 2),
        Row.of_kind(RowKind.DELETE, 1, 2),
        ("a", "b"),
        Decimal("1.50"),
        date(2024, 2, 29),
        {"a": 1},
    ],
)
def test_values_that_are_no_rows_of_these_fields(value: Any) -> None:
    found = through(value)
    assert same(found, value)
    if isinstance(value, Row):
        assert found.get_row_kind() is value.get_row_kind()


def through(value: Any) -> Any:
    """A value after it was in a window whose elements are rows of a and b."""
    table = StateTable(0)
    backend = KeyedStateBackend(table)
    definition = WindowDefinition.of(GlobalWindows.create()).with_trigger(one_by_one())
    engine = make_window_engine(
        definition.with_function(Out(), "process"),
        backend,
        KeyedTimerService(table),
        KeyedRuntimeContext(backend, task_name="test", of_key=True),
        names=["a", "b"],
    )
    rows = np.empty(1, np.uint32)
    table.intern_objects(["key"], None, rows)
    engine.process_batch([value], rows, None)
    values, _, _ = engine.take_output()
    ((found,),) = values
    return found
