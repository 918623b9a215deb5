"""Spark's side of a stateful operator, in memory: state and timers that commit with a batch."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from datetime import timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from flinkish.operators.definition import OperatorDefinition
from flinkish.operators.process_definitions import CoProcessDefinition, ProcessDefinition
from flinkish.spark.keyed.columns.packing import pack_rows_of
from flinkish.spark.keyed.columns.plan import VectorPlan
from flinkish.spark.keyed.group_state import HEAD
from flinkish.spark.keyed.output_rows import OutputReader, unpacker
from flinkish.spark.keyed.packing import pack_table
from flinkish.spark.keyed.placement import slot_of
from flinkish.spark.keyed.plan import MAIN, OperatorPlan, StateSettings, Strategy
from flinkish.spark.keyed.processor import KeyGroupProcessor
from flinkish.spark.keyed.strategies import ByColumns, ByRows, TwoInputs

SCHEMA = pa.schema([("key", pa.string()), ("n", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])


def plan(runs: Any, output: pa.Schema, table_dir: Path, **changes: Any) -> OperatorPlan:
    """A plan as `DataStream` would make it for rows of SCHEMA, of a function or a definition."""
    two = "second" in changes
    if not isinstance(runs, OperatorDefinition):
        runs = CoProcessDefinition(runs) if two else ProcessDefinition(runs)
    rows: Strategy = ByColumns() if isinstance(runs, VectorPlan) else ByRows()
    settings = {name: changes.pop(name) for name in list(changes) if name.startswith("compact_")}
    fields: dict[str, Any] = {
        "uid": "operator",
        "operator": runs,
        "strategy": TwoInputs() if two else rows,
        "schema": SCHEMA,
        "key_columns": ("key",),
        "key_types": (None,),
        "key_selector": None,
        "max_parallelism": 4,
        "output": output,
        "output_type": None,
        "event_time": "ts",
        "chained": False,
        "time_zone": timezone.utc,
        "state": StateSettings(table_dir=str(table_dir), **settings),
    }
    return OperatorPlan(**(fields | changes))


def pack_rows(operator: OperatorPlan, table: pa.Table) -> list[tuple[int, Any]]:
    """The payloads that an operator's rows travel in, with their key groups."""
    pack = pack_rows_of(operator) if isinstance(operator.operator, VectorPlan) else pack_table
    return list(pack(operator, table))


class TaskDied(BaseException):
    """What ends a task between two key groups."""


class FakeMap:
    """Spark's MapState under one key."""

    def __init__(self, store: dict[str, Any]) -> None:
        self._log = store.setdefault("log", {})

    def getValue(self, key: Any) -> Any:
        # Spark logs a warning for one that is not there, which only damage may leave.
        assert key in self._log or key != HEAD
        return self._log.get(key)

    def containsKey(self, key: Any) -> bool:
        return key in self._log

    def updateValue(self, key: Any, value: Any) -> None:
        self._log[key] = value

    def removeKey(self, key: Any) -> None:
        del self._log[key]


class _Current:
    """Stands for the map of whatever key group is being called."""

    def __init__(self, spark: FakeSpark) -> None:
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(FakeMap(self._spark.current), name)


class FakeSpark:
    """Key groups to their state: ``{"log": {...}, "timers": {...}}``."""

    def __init__(self) -> None:
        self.state: dict[int, dict[str, Any]] = {}
        self.current: dict[str, Any] = {}
        self.counters: dict[str, int] = {}
        self.clock = 1000

    # --- the handle
    def getMapState(self, name: str, key_schema: StructType, value_schema: StructType) -> Any:
        return _Current(self)

    def registerTimer(self, at: int) -> None:
        self.current["timers"].add(at)

    def deleteTimer(self, at: int) -> None:
        self.current["timers"].discard(at)

    # --- batches
    def batch(
        self,
        operator: OperatorPlan,
        rows: Iterable[tuple[str, int, int]],
        watermark: int,
        *,
        commit: bool = True,
        stop_before: int | None = None,
        take: tuple[str, pa.Schema] | None = None,
    ) -> list[tuple[Any, ...]]:
        """Run rows (key, n, time in ms) in a new task; without ``commit`` it is all undone.

        ``watermark`` is Spark's.  ``stop_before``: the task dies before this call of a group.
        ``take`` names another output than the main one, and its columns.
        """
        before = copy.deepcopy(self.state)
        try:
            results = self._task(operator, list(rows), watermark, stop_before)
            return self._rows(results, *(take or (MAIN, operator.output)))
        except BaseException:
            commit = False
            raise
        finally:
            if not commit:
                self.state = before

    def _task(
        self, operator: OperatorPlan, rows: list[Any], watermark: int, stop_before: int | None
    ) -> list[Any]:
        processor = KeyGroupProcessor(operator)
        processor.init(self)  # type: ignore[arg-type]
        times = self.times(watermark)
        results: list[Any] = []
        columns = zip(*rows, strict=True) if rows else ([], [], [])
        key, n, at = (list(column) for column in columns)
        arrays = [pa.array(key, pa.string()), pa.array(n, pa.int64())]
        arrays.append(pa.array(at, pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC")))
        table = pa.Table.from_arrays(arrays, schema=SCHEMA)
        packed = pack_rows(operator, table) if rows else []
        for call, (group, payload) in enumerate(packed):
            if call == stop_before:
                raise TaskDied
            self._enter(group)
            row = SimpleNamespace(phase=1, part=0, seq=0, payload=payload)
            results += processor.handleInputRows((slot_of(group),), iter([row]), times)
        due = [(at, group) for group in self.state for at in self.state[group]["timers"]]
        for at, group in sorted(due):
            if at <= watermark and at in self.state[group]["timers"]:
                self._enter(group)
                results += processor.handleExpiredTimer((slot_of(group),), times, None)
                self.current["timers"].discard(at)
        processor.close()
        return results

    def times(self, watermark: int) -> Any:
        """The times of a batch, as Spark hands them over."""
        return SimpleNamespace(
            getCurrentWatermarkInMs=lambda: watermark,
            getCurrentProcessingTimeInMs=lambda: self.clock,
        )

    def _enter(self, group: int) -> None:
        fresh: dict[str, Any] = {"timers": set(), "log": {}}
        self.current = self.state.setdefault(group, fresh)

    def _rows(self, results: list[Any], tag: str, schema: pa.Schema) -> list[tuple[Any, ...]]:
        found = [row.asDict() for row in results]
        self.counters = {}
        for row in found:
            for name, value in row.items():
                if value is not None and name not in ("kg", "phase", "tag", "payload", "metrics"):
                    self.counters[name] = self.counters.get(name, 0) + value
        batch = pa.RecordBatch.from_pylist(
            found,
            schema=pa.schema(
                [("phase", pa.int32()), ("tag", pa.string()), ("payload", pa.binary())]
            ),
        )
        unpacked = unpacker(OutputReader(tag, schema), "operator")(iter([batch]))
        names = schema.names
        return [tuple(row[name] for name in names) for out in unpacked for row in out.to_pylist()]
