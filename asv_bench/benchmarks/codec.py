"""Columns to records and back, batches to payloads, state to frames.

Figures are seconds for ``ROWS`` values, records or rows; divide by it for a value's price.  The
``pyarrow`` twins do the same with pyarrow alone, as far as it can.
"""

from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from flinkish._core.columns.columns import columns_from_rows
from flinkish._core.columns.records import RecordReader, timestamps_ms
from flinkish._core.values.codec import group_rows, pack_groups, seal, unpack_payload, unseal

SEED = 20_240_229
ROWS = 200_000
BLOCK = 512

KINDS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "int32": lambda rng, rows: pa.array(rng.integers(-(2**31), 2**31, rows, "i4")),
    "int64": lambda rng, rows: pa.array(rng.integers(-(2**40), 2**40, rows)),
    "int64, 10% null": lambda rng, rows: pa.array(
        rng.integers(-(2**40), 2**40, rows), mask=rng.random(rows) < 0.1
    ),
    "float64": lambda rng, rows: pa.array(rng.normal(size=rows)),
    "bool": lambda rng, rows: pa.array(rng.random(rows) < 0.5),
    "string": lambda rng, rows: pa.array([f"N{n:07d}" for n in rng.integers(0, 10**7, rows)]),
    "binary": lambda rng, rows: pa.array([b"N%07d" % n for n in rng.integers(0, 10**7, rows)]),
    "date": lambda rng, rows: pa.array(rng.integers(0, 20_000, rows, "i4")).cast(pa.date32()),
    "timestamp": lambda rng, rows: pa.array(
        rng.integers(0, 2 * 10**15, rows), pa.timestamp("us", "UTC")
    ),
    "timestamp_ntz": lambda rng, rows: pa.array(
        rng.integers(0, 2 * 10**15, rows), pa.timestamp("us")
    ),
    "decimal": lambda rng, rows: pa.array(
        [Decimal(int(n)) / 100 for n in rng.integers(0, 10**9, rows)], pa.decimal128(12, 2)
    ),
}


class Values:
    """One column to Python values and back."""

    params: ClassVar = [list(KINDS)]
    param_names: ClassVar = ["kind"]

    def setup(self, kind: str) -> None:
        self.array = KINDS[kind](np.random.default_rng(SEED), ROWS)
        self.reader = RecordReader([self.array], ("value",))
        self.values = self.reader.values(0)
        self.records = self.reader.tuples()
        self.schema = pa.schema([("value", self.array.type)])

    def time_read(self, kind: str) -> None:
        self.reader.values(0)

    def time_write(self, kind: str) -> None:
        columns_from_rows(self.records, self.schema)

    def time_write_pyarrow(self, kind: str) -> None:
        pa.array(self.values, self.array.type)


def batch_of(*kinds: str, rows: int = ROWS) -> pa.RecordBatch:
    rng = np.random.default_rng(SEED)
    return pa.record_batch({kind: KINDS[kind](rng, rows) for kind in kinds})


class Records:
    """Three columns to records and back."""

    params: ClassVar = [["int64,string,float64", "string,timestamp,int64"]]
    param_names: ClassVar = ["columns"]

    def setup(self, columns: str) -> None:
        self.batch = batch_of(*columns.split(","))
        self.reader = RecordReader(self.batch)
        self.rows = self.reader.rows()
        self.tuples = self.reader.tuples()
        self.dicts = [row.as_dict() for row in self.rows]

    def time_make_reader(self, columns: str) -> None:
        RecordReader(self.batch)

    def time_rows(self, columns: str) -> None:
        self.reader.rows()

    def time_rows_in_blocks(self, columns: str) -> None:
        for start in range(0, ROWS, BLOCK):
            for _ in self.reader.rows(start, start + BLOCK):
                pass

    def time_tuples(self, columns: str) -> None:
        self.reader.tuples()

    def time_rows_pyarrow(self, columns: str) -> None:
        self.batch.slice(0, ROWS // 100).to_pylist()  # a hundredth of the others' rows

    def time_columns_from_rows(self, columns: str) -> None:
        columns_from_rows(self.rows, self.batch.schema)

    def time_columns_from_tuples(self, columns: str) -> None:
        columns_from_rows(self.tuples, self.batch.schema)

    def time_columns_from_dicts(self, columns: str) -> None:
        columns_from_rows(self.dicts, self.batch.schema)


class EventTimes:
    params: ClassVar = [["timestamp", "date", "int64"]]
    param_names: ClassVar = ["kind"]

    def setup(self, kind: str) -> None:
        self.array = KINDS[kind](np.random.default_rng(SEED), ROWS)

    def time_timestamps_ms(self, kind: str) -> None:
        timestamps_ms(self.array)


class Payloads:
    """A million rows by 64 key groups; seconds for ``MILLION`` rows."""

    MILLION = 1_000_000
    params: ClassVar = [["int64,float64,timestamp", "string,float64,timestamp"]]
    param_names: ClassVar = ["columns"]

    def setup(self, columns: str) -> None:
        self.batch = batch_of(*columns.split(","), rows=self.MILLION)
        self.groups = np.random.default_rng(SEED).integers(0, 64, self.MILLION).astype("i4")
        self.payloads = [payload for _, payload, _ in pack_groups(self.batch, self.groups, 64)]

    def time_group_rows(self, columns: str) -> None:
        group_rows(self.groups, 64)

    def time_pack_groups(self, columns: str) -> None:
        pack_groups(self.batch, self.groups, 64)

    def time_unpack_payloads(self, columns: str) -> None:
        for payload in self.payloads:
            unpack_payload(payload, self.batch.schema)

    def track_bytes_besides_the_data(self, columns: str) -> float:
        """Bytes a payload of 64, besides its part of the columns' buffers."""
        data = float(self.batch.nbytes)
        return (sum(map(len, self.payloads)) - data) / len(self.payloads)


class Frames:
    """Seconds for a frame; the megabyte is a table of sorted int64 and repeated text."""

    params: ClassVar = [["1 kB", "1 MB"], [False, True]]
    param_names: ClassVar = ["size", "compress"]

    def setup(self, size: str, compress: bool) -> None:
        count = {"1 kB": 40, "1 MB": 40_000}[size]
        rng = np.random.default_rng(SEED)
        numbers = np.sort(rng.integers(0, 2**40, count)).tobytes()
        texts = b"".join(b"carrier %08d;" % n for n in rng.integers(0, 500, count))
        self.state = numbers + texts
        self.frame = seal(1, 1, 7, self.state, compress=compress)

    def time_seal(self, size: str, compress: bool) -> None:
        seal(1, 1, 7, self.state, compress=compress)

    def time_unseal(self, size: str, compress: bool) -> None:
        unseal(self.frame, 1, 7)


class Calls:
    """What a call costs with next to no data: seconds for one."""

    def setup(self) -> None:
        self.schema = pa.schema([("key", pa.string()), ("at", pa.timestamp("us", "UTC"))])
        self.records = [("a", datetime(2024, 2, 29, tzinfo=timezone.utc))]
        self.batch = columns_from_rows(self.records, self.schema)

    def time_one_record_to_columns(self) -> None:
        columns_from_rows(self.records, self.schema)

    def time_columns_to_one_record(self) -> None:
        RecordReader(self.batch).rows()
