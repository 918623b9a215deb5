"""Rows of all key groups of a partition, packed and handed over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.state.table import FILES, StateTable
from flinkish.spark.real_time.partition_rows import PartitionRows, Process, pack_partitions
from flinkish.time import assign_to_key_group
from tests.spark.fake_spark import plan
from tests.spark.parts.test_real_time import OUT, Counts, rows


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abcdefghij"), st.integers(0, 50)), min_size=1),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 3),
    st.booleans(),
)
def test_rows_of_a_partition_come_by_key_group(
    sent: list[list[tuple[str, int]]], partitions: int, by_time: bool
) -> None:
    changes = {"partitions": partitions, "timestamp_order": by_time}
    made = plan(Counts(), OUT, Path("tables"), max_parallelism=8, **changes)
    payloads: dict[int, list[bytes]] = defaultdict(list)
    wanted: dict[int, list[tuple[int, int]]] = defaultdict(list)
    number = 0
    for some in sent:
        numbered = []
        for key, time in some:
            numbered.append((key, number, time))
            wanted[assign_to_key_group(key, 8)].append((time, number))
            number += 1
        for partition, payload in pack_partitions(made, pa.Table.from_batches([rows(*numbered)])):
            payloads[partition].append(payload)
    found: dict[int, list[tuple[int, int]]] = {}
    for partition, own in payloads.items():
        for group, process in PartitionRows.of(made, own).runs():
            assert group % partitions == partition
            assert group not in found, "one run, since the rows of each are together"
            found[group] = list(handed_over(process, group))
    for group, expected in wanted.items():
        assert found.pop(group) == (sorted(expected) if by_time else expected)
    assert not found


def handed_over(process: Process, group: int) -> Iterator[tuple[int, int]]:
    """The times and numbers of the rows that a run of the operator is handed."""
    table = StateTable()
    table.map([-1] * len(FILES), group, create=True)

    def take(read: Any, keys: Any, times: Any, _: int) -> Iterator[tuple[int, int]]:
        elements = read(0, len(keys))
        assert [table.key_of(row) for row in keys.tolist()] == [one.key for one in elements]
        return zip(times.tolist(), [one.n for one in elements], strict=True)

    run: Any = SimpleNamespace(table=table, process_elements=take)
    return process(run)  # type: ignore[return-value]
