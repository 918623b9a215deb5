"""StreamGroupedReduceOperator: what Flink's StreamGroupedReduceOperatorTest pins."""

from typing import Any

import pytest

from flinkish.common import StreamRecord
from flinkish.common.errors import ArgumentTypeError
from flinkish.functions import ReduceFunction, RuntimeContext
from flinkish.operators import StreamGroupedReduceOperator
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness


class Add(ReduceFunction):
    def __init__(self) -> None:
        self.calls: list[str] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls.append("open")

    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]

    def close(self) -> None:
        self.calls.append("close")


def opened(function: Any, **options: Any) -> Any:
    harness = KeyedOneInputStreamOperatorTestHarness(
        StreamGroupedReduceOperator(function, **options), lambda value: value[0]
    )
    harness.open()
    return harness


def test_each_element_gives_what_its_key_was_reduced_to() -> None:
    harness = opened(Add())
    for time, (key, value) in enumerate([("a", 1), ("a", 2), ("b", 5), ("a", 4)]):
        harness.process_element((key, value), time)
    harness.process_element(("b", 1))
    assert harness.get_output() == [
        StreamRecord(("a", 1), 0),
        StreamRecord(("a", 3), 1),
        StreamRecord(("b", 5), 2),
        StreamRecord(("a", 7), 3),
        StreamRecord(("b", 6), None),
    ]


def test_the_function_is_opened_and_closed() -> None:
    function = Add()
    opened(function).close()
    assert function.calls == ["open", "close"]


def test_a_plain_function_and_a_snapshot() -> None:
    before = opened(max)
    before.process_element(("a", 3))
    after = KeyedOneInputStreamOperatorTestHarness(
        StreamGroupedReduceOperator(max),  # type: ignore[arg-type]
        lambda value: value[0],
    )
    after.initialize_state(before.snapshot())
    after.open()
    after.process_element(("a", 2))
    assert after.extract_output_values() == [("a", 3)]


def test_with_bounded_input_the_last_value_alone() -> None:
    """Flink: BatchGroupedReduceOperator."""
    harness = opened(Add(), only_last=True)
    for key, value in [("a", 1), ("a", 2), ("b", 5)]:
        harness.process_element((key, value), 7)
    assert harness.extract_output_values() == []
    harness.process_watermark(2**63 - 1)
    assert sorted(harness.extract_output_values()) == [("a", 3), ("b", 5)]


def test_what_is_refused() -> None:
    for wrong in (Add, 3):
        with pytest.raises(ArgumentTypeError, match="ReduceFunction"):
            StreamGroupedReduceOperator(wrong)  # type: ignore[arg-type]
