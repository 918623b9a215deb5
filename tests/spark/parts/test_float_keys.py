"""0.0 and -0.0 are one key, and so are all NaNs, on every way to a key group and to state."""

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flinkish._core.state.table import StateTable
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.functions.aggregates import Count
from flinkish.operators import KeyedProcessOperator
from flinkish.operators.vector_window import WindowSpec
from flinkish.spark.keyed.columns.packing import combine_rows
from flinkish.spark.keyed.columns.plan import VectorPlan
from flinkish.spark.keyed.packing import keyed_batch
from flinkish.state import ValueStateDescriptor
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from tests.spark.fake_spark import plan

OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]
NUMBERS = [0.0, -0.0, math.nan, OTHER_NAN, 1.5]
# The place of the first number that is the same key.
FIRSTS = [0, 0, 2, 2, 4]
OUT = pa.schema([("n", pa.int64())])


class Counting(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield self.count.value()


def table_of(kind: pa.DataType) -> pa.Table:
    bits = pa.array(np.array(NUMBERS))
    times = pa.array([1000] * len(NUMBERS), pa.timestamp("us", "UTC"))
    columns = {"x": bits.cast(kind), "s": ["a"] * len(NUMBERS), "ts": times}
    return pa.table(columns)


KEYS: dict[str, dict[str, Any]] = {
    "a column": {"key_columns": ("x",), "key_types": (None,)},
    "two columns": {"key_columns": ("x", "s"), "key_types": (None, None)},
    "a function": {"key_columns": (), "key_selector": lambda row: row.x},
    "a tuple of a function": {"key_columns": (), "key_selector": lambda row: ("a", (row.x, 1))},
}


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize("name", KEYS)
def test_rows_by_row(name: str, kind: pa.DataType, tmp_path: Path) -> None:
    table = table_of(kind)
    operator = plan(
        Counting(), OUT, tmp_path, schema=table.schema, max_parallelism=32768, **KEYS[name]
    )
    batch, groups, _ = keyed_batch(operator, table)
    assert [groups.tolist().index(group) for group in groups.tolist()] == FIRSTS
    with operator.strategy.open_run(operator, StateTable(0)) as run:
        rows = run.key_rows(batch).tolist()
    assert [rows.index(row) for row in rows] == FIRSTS


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
@pytest.mark.parametrize("columns", [("x",), ("x", "s")], ids=str)
def test_rows_combined_by_columns(
    columns: tuple[str, ...], kind: pa.DataType, tmp_path: Path
) -> None:
    table = table_of(kind)
    operator = plan(
        VectorPlan(WindowSpec(size=1000, unit=1000), (Count(),)),
        OUT,
        tmp_path,
        schema=table.schema,
        key_columns=columns,
        key_types=(None,) * len(columns),
    )
    combined = combine_rows(operator, table.to_batches()[0])
    found = combined.keys[0].to_pylist()
    assert [math.copysign(1, key) for key in found if key == 0] == [1]


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: ("a", (x, 1))], ids=["alone", "tuple"])
def test_elements_of_a_harness(wrap: Any) -> None:
    harness: Any = KeyedOneInputStreamOperatorTestHarness(
        KeyedProcessOperator(Counting()), wrap, max_parallelism=32768
    )
    harness.open()
    for number in NUMBERS:
        harness.process_element(number, 1)
    assert harness.extract_output_values() == [1, 2, 1, 2, 1]
    operator = harness.operator
    rows = operator.rows_of(NUMBERS).tolist()
    assert [rows.index(row) for row in rows] == FIRSTS
    harness.close()
