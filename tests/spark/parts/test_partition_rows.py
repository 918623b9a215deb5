"""Rows of all key groups of a partition, packed and handed over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.state.table import StateTable
from flinkish.spark.real_time.partition_rows import PartitionRows, pack_partitions
from flinkish.time import assign_to_key_group
from tests.spark.fake_spark import plan
from tests.spark.parts.live_task import OUT, Counts, rows


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
    found: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for partition, own in payloads.items():
        rows_of = PartitionRows.of(made, own)
        assert (rows_of.groups[1:] >= rows_of.groups[:-1]).all(), "the rows of each are together"
        for group, *row in handed_over(rows_of):
            assert group % partitions == partition
            found[group].append(tuple(row))
    for group, expected in wanted.items():
        assert found.pop(group) == (sorted(expected) if by_time else expected)
    assert not found


def handed_over(found: PartitionRows) -> Iterator[tuple[int, int, int]]:
    """Key group, time and number of the rows that a task has of it, in their order."""
    table = StateTable(0, 7)
    keys = found.keys.rows(table, groups=found.groups)
    elements = found.elements(0, len(found))
    assert [table.key_of(row) for row in keys.tolist()] == [one.key for one in elements]
    assert found.times is not None
    numbers = [one.n for one in elements]
    return zip(found.groups.tolist(), found.times.tolist(), numbers, strict=True)
