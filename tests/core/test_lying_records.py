"""Records that are not as long as they say, or change while they are read."""

from typing import Any

import pyarrow as pa
import pytest

from flinkish._core.columns.columns import columns_from_rows
from flinkish._core.values.row import Row
from tests.core.test_columns import refused


class Short(list[Any]):
    """Says that it is shorter than it is."""

    def __len__(self) -> int:
        return 2


class Long(list[Any]):
    """Says that it is longer than it is."""

    def __len__(self) -> int:
        return 2


@pytest.mark.parametrize("record", [Short(range(100)), Long([1])])
def test_a_record_is_as_long_as_what_it_gives(record: list[Any]) -> None:
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    held = len([*record])
    error = refused([(1, 2), record, (5, 6)], schema)
    assert (error.row_index, error.needed) == (1, "2: a, b")
    assert error.found == f"{held} value{'' if held == 1 else 's'}"


def test_a_record_may_cut_itself_while_it_is_read() -> None:
    class Cut:
        def __init__(self, record: list[Any]) -> None:
            self.record = record

        def __index__(self) -> int:
            self.record.clear()
            return 7

    record: list[Any] = []
    record += [Cut(record), 8, 9]
    schema = pa.schema([(name, pa.int64()) for name in "abc"])
    batch = columns_from_rows([record, Row(1, 2, 3)], schema)
    assert batch.to_pylist() == [{"a": 7, "b": 8, "c": 9}, {"a": 1, "b": 2, "c": 3}]
