"""The vectorised window operator beside the window operator itself, on the same elements."""

from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from flinkish.common import OutputTag, Types
from flinkish.functions import ProcessWindowFunction
from flinkish.functions.aggregates import BuiltInAggregate, BuiltInAggregates
from flinkish.operators import WindowOperatorBuilder
from flinkish.operators.vector_window import WindowSpec
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from flinkish.windowing import WindowAssigner
from tests.operators.test_vector_window import (
    BASE,
    STEPS,
    WANTED,
    Vectorised,
    assigners,
    by_time,
    row_of,
    rows_as_compared,
)

LATE = OutputTag("late", Types.PICKLED_BYTE_ARRAY())


class WithWindow(ProcessWindowFunction):
    """Gives the result with its key and window."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        for result in elements:
            yield key, context.window().start, context.window().end, result


def harness_of(
    wanted: list[BuiltInAggregate], assigner: WindowAssigner, lateness: int
) -> KeyedOneInputStreamOperatorTestHarness:
    operator = (
        WindowOperatorBuilder(assigner)
        .allowed_lateness(lateness)
        .side_output_late_data(LATE)
        .aggregate(BuiltInAggregates(wanted), WithWindow())
    )
    harness = KeyedOneInputStreamOperatorTestHarness(operator, lambda row: row["key"])
    harness.open()
    return harness


@settings(max_examples=60)
@given(WANTED, assigners(), st.sampled_from([0, 3, 20]), STEPS)
def test_equals_the_window_operator_itself(
    wanted: list[BuiltInAggregate], assigner: WindowAssigner, lateness: int, steps: list[Any]
) -> None:
    harness = harness_of(wanted, assigner, lateness)
    vector = Vectorised(WindowSpec.of(assigner, lateness), wanted)
    watermark = BASE - 30
    for step in [*steps, 2**40]:
        seen, late_seen = len(harness.get_output()), len(harness.get_side_output(LATE) or ())
        if isinstance(step, list):
            elements = [(key, BASE + time, *rest) for key, time, *rest in step]
            for element in elements:
                row = {"key": element[0], **row_of(element)}
                harness.process_element(row, element[1])
            late = vector.process(elements)
            sent = (harness.get_side_output(LATE) or [])[late_seen:]
            assert [elements[at][:2] for at in late] == [
                (r.value["key"], r.timestamp) for r in sent
            ]
        else:
            watermark += step
            harness.process_watermark(watermark)
            vector.window.advance_watermark(watermark)
        records = [r for r in harness.get_output()[seen:] if hasattr(r, "value")]
        assert all(record.timestamp == record.value[2] - 1 for record in records)
        found, expected = vector.commit(), [record.value for record in records]
        if isinstance(step, list):
            assert rows_as_compared(found) == rows_as_compared(expected)
        else:
            assert by_time(found) == by_time(expected)
    harness.close()
