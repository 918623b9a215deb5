"""process_batch: the same as element by element, for keys of every type; keys that end."""

import datetime
import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flinkish.common import StreamRecord, Types, Watermark
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, NullKeyError
from flinkish.operators import BatchOutput, KeyedProcessOperator, OperatorEnvironment
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness, TestProcessingTimeService
from tests.testing.functions import LATE, Count, Script


def harness_of(function: Any, key_type: Any = None, **options: Any) -> Any:
    harness = KeyedOneInputStreamOperatorTestHarness(
        KeyedProcessOperator(function), lambda value: value[0], key_type, **options
    )
    harness.open()
    return harness


DAY = datetime.date(2013, 1, 1)
NOON = datetime.datetime(2013, 1, 1, 12)
KEYS = {
    "int": (None, range(-500, 500)),
    "long": (Types.LONG(), [*range(-500, 500), 1 << 40, -(1 << 63)]),
    "typed int": (Types.INT(), range(-500, 500)),
    "string": (Types.STRING(), [f"N{number:05d}é" for number in range(500)] + [""]),
    "bytes": (None, [bytes([number % 256, number // 256]) for number in range(500)]),
    "bool": (Types.BOOLEAN(), [True, False]),
    "double": (Types.DOUBLE(), [number / 8 for number in range(-300, 300)]),
    "date": (None, [DAY + datetime.timedelta(days=number) for number in range(500)]),
    "timestamp": (None, [NOON + datetime.timedelta(seconds=number) for number in range(500)]),
    "decimal": (None, [decimal.Decimal(number) / 4 for number in range(500)]),
    "tuple": (
        Types.TUPLE([Types.LONG(), Types.STRING()]),
        [(number, f"n{number % 7}") for number in range(-250, 250)],
    ),
}


@pytest.mark.parametrize("name", KEYS)
def test_many_keys_of_every_type(name: str, rng: np.random.Generator) -> None:
    """Batches and elements give the same, and so does a restored snapshot cut in three."""
    key_type, given = KEYS[name]
    keys = list(given)
    order = [keys[at] for at in rng.integers(0, len(keys), 3 * len(keys))]
    values = [(key,) for key in order]
    times = list(range(len(values)))
    one, many = harness_of(Count(), key_type), harness_of(Count(), key_type)
    half = len(values) // 2
    for harness in (one, many):
        harness.process_watermark(5)
    for value, time in zip(values, times, strict=True):
        one.process_element(value, time)
    many.operator.process_batch(values[:half], times[:half])
    many.operator.process_batch(values[half:], np.array(times[half:]), order[half:])
    assert many.get_output() == one.get_output()
    assert many.get_side_output(LATE) == one.get_side_output(LATE)
    assert many.num_keyed_state_entries() == len(set(order))
    assert {key for key, _ in many.extract_output_values()} == set(order)

    expected = sorted_output(one)
    snapshot = many.snapshot(1, 1)
    found: list[Any] = []
    for index in range(3):
        part = type(many).repartition_operator_state(snapshot, 128, 1, 3, index)
        third = KeyedOneInputStreamOperatorTestHarness(
            KeyedProcessOperator(Count()), lambda v: v[0], key_type, 128, 3, index
        )
        third.initialize_state(part)
        third.open()
        found += sorted_output(third)
    assert sorted(found, key=repr) == expected


def sorted_output(harness: Any) -> list[Any]:
    """What all its timers give."""
    before = len(harness.extract_output_values())
    harness.process_watermark(10**6)
    harness.set_processing_time(10**6)
    return sorted(harness.extract_output_values()[before:], key=repr)


@pytest.mark.parametrize(
    ("key_type", "column"),
    [
        (None, lambda keys: np.array(keys)),
        (Types.LONG(), lambda keys: np.array(keys)),
        (Types.INT(), lambda keys: np.array(keys, np.int32)),
        (Types.LONG(), lambda keys: np.array([k for key in keys for k in (key, 0)])[::2]),
        (Types.LONG(), lambda keys: pa.array(keys)),
    ],
)
def test_columns_of_ints_are_the_same_keys(key_type: Any, column: Any) -> None:
    keys = [5, -7, 5, 1 << 20, -7, 5]
    harness = harness_of(Count(), key_type)
    harness.process_elements([(key,) for key in keys])
    harness.operator.process_batch([(key,) for key in keys], None, column(keys))
    assert harness.extract_output_values()[-6:] == [
        (5, 4), (-7, 3), (5, 5), (1 << 20, 2), (-7, 4), (5, 6),
    ]  # fmt: skip
    assert harness.num_keyed_state_entries() == 3


def test_columns_of_strings_are_the_same_keys() -> None:
    keys = ["", "a", "long enough for the slab", "a", "äöü"]
    harness = harness_of(Count(), Types.STRING())
    harness.process_elements([(key,) for key in keys])
    column = pa.array(["skipped", *keys, "skipped"])[1:-1]
    harness.operator.process_batch([(key,) for key in keys], None, column)
    harness.operator.process_batch([], None, pa.array([], pa.string()))
    harness.operator.process_batch([("", 1)], None, pa.array([""]))
    assert [count for _, count in harness.extract_output_values()] == [
        1, 1, 1, 2, 1, 2, 3, 2, 4, 2, 3,
    ]  # fmt: skip


def test_a_batch_that_does_not_fit_is_refused_whole() -> None:
    harness = harness_of(Count())
    batch = harness.operator.process_batch
    with pytest.raises(IllegalArgumentError, match="2 values came with 1 keys"):
        batch([("a",), ("b",)], None, ["a"])
    with pytest.raises(IllegalArgumentError, match=r"2 values came with timestamps of shape \(3,"):
        batch([("a",), ("b",)], [1, 2, 3])
    with pytest.raises(ArgumentTypeError, match="ints of milliseconds"):
        batch([("a",), ("b",)], [1.5, 2.5])
    with pytest.raises(ArgumentTypeError, match="ints of milliseconds"):
        batch([("a",), ("b",)], [1, None])
    with pytest.raises(NullKeyError, match=r"\(None,\)"):
        batch([("a",), (None,)])
    with pytest.raises(NullKeyError):
        batch([("a",), (None,)], None, pa.array(["a", None]))
    with pytest.raises(ArgumentTypeError, match="dict has no Java hash"):
        batch([("a",), ({},)])
    assert harness.extract_output_values() == []
    batch([])
    batch([("a",)])
    assert harness.extract_output_values() == [("a", 1)]


def test_a_batch_of_another_subtasks_keys_is_refused() -> None:
    harness = harness_of(Count(), Types.LONG(), num_subtasks=2, subtask_index=0)
    values = [(number,) for number in range(20)]
    for keys in (None, np.arange(20), [number for (number,) in values]):
        with pytest.raises(IllegalArgumentError, match="key group"):
            harness.operator.process_batch(values, None, keys)
    assert harness.extract_output_values() == []


def test_output_goes_in_batches_where_it_may() -> None:
    class Collected:
        def __init__(self) -> None:
            self.batches: list[Any] = []
            self.elements: list[Any] = []

        def emit(self, element: Any) -> None:
            self.elements.append(element)

        def emit_side(self, tag: Any, record: Any) -> None:
            raise AssertionError("a batch was possible")

        def emit_batch(self, tag: Any, values: list[Any], timestamps: list[Any]) -> None:
            self.batches.append((tag, values, timestamps))

    output = Collected()
    assert isinstance(output, BatchOutput)
    operator = KeyedProcessOperator(Count())
    operator.setup(
        output,
        OperatorEnvironment(
            key_selector=lambda value: value[0], processing_time_service=TestProcessingTimeService()
        ),
    )
    operator.initialize_state()
    operator.open()
    operator.process_watermark(Watermark(1))
    operator.process_batch([("a",), ("b",), ("a",)], [1, 2, 3])
    assert output.batches == [
        (None, [("a", 1), ("b", 1), ("a", 2)], [1, 2, 3]),
        (LATE, ["('a',) is late"], [1]),
    ]
    operator.process_element(StreamRecord(("a",), 9))
    assert output.batches[2:] == [(None, [("a", 3)], [9])]
    assert output.elements == [Watermark(1)]
    operator.close()


@pytest.mark.parametrize("batch", [True, False])
def test_keys_that_hold_nothing_are_forgotten(batch: bool) -> None:
    """Memory follows the keys that hold something, not those that ever did."""
    harness = harness_of(Script())
    table = harness.operator.table
    most = 0
    for start in range(0, 50_000, 500):
        values = [(key, command, 1) for key in range(start, start + 500) for command in ("put",)]
        values += [(key, "clear") for key in range(start, start + 500)]
        if batch:
            harness.operator.process_batch(values)
        else:
            harness.process_elements(values)
        harness.process_watermark(start)
        most = max(most, table.number_of_keys)
    assert most <= 3_000
    assert harness.num_keyed_state_entries() == 0
    harness.snapshot(1, 1)
    assert table.number_of_keys == 0
    table._check()
