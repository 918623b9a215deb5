"""A source function as a streaming source of Spark, whose offsets are its state."""

from __future__ import annotations

import atexit
import base64
import contextlib
import logging
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from datetime import timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructField, StructType, TimestampType

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    TaskCancellationError,
)
from flinkish.common.typeinfo import TypeInformation
from flinkish.functions import CheckpointedFunction, SourceFunction
from flinkish.spark.encoders import RowEncoder
from flinkish.spark.internals import arrow_schema, dumps, loads
from flinkish.spark.pickling import check_picklable
from flinkish.spark.schemas import output_schema
from flinkish.spark.sources.run import Emitted, SourceRun

__all__ = ["register_source"]

_LOG = logging.getLogger(__name__)

# A batch ends when there are so many records, when the source has paused, or after a while.
CAPACITY = 100_000
PATIENCE_S = 1.0
QUIET_S = 0.05
CANCEL_S = 30.0


@dataclass(frozen=True)
class SourcePlan:
    """The plan of a source, which travels to Spark's processes."""

    name: str
    function: bytes  # pickled: every run begins with one of its own
    schema: StructType
    values: StructType  # the schema without the column of timestamps
    value_type: TypeInformation | None
    timestamp_column: str | None

    def start(self, offset: dict[str, Any]) -> SourceRun:
        """Run the function from an offset on."""
        function = loads(self.function)
        return SourceRun(function, base64.b64decode(offset["state"]), self.name, CAPACITY)

    def batch(self, records: list[Emitted]) -> pa.RecordBatch:
        """Records as columns."""
        what = f"the source {self.name!r}"
        encoder = RowEncoder(what, arrow_schema(self.values), self.value_type, timezone.utc)
        batch = encoder.encode([value for value, _ in records])
        if self.timestamp_column is None:
            return batch
        times = pa.array([at for _, at in records], pa.timestamp("ms", "UTC"))
        columns = [*batch.columns, times.cast(pa.timestamp("us", "UTC"))]
        return pa.RecordBatch.from_arrays(columns, schema=arrow_schema(self.schema))


def register_source(
    spark: SparkSession,
    function: SourceFunction,
    schema: StructType | TypeInformation | str,
    *,
    name: str = "flinkish-source",
    timestamp_column: str | None = None,
) -> None:
    """Make ``spark.readStream.format(name)`` a stream of what a source function emits.

    The function is also a CheckpointedFunction; its state is the stream's offset, so a restarted
    query goes on after the last batch that it finished.  A batch that was begun and not finished
    is made again, from the state before it: exactly once, if the function emits the same records
    again when it starts from the same state.  One that does not give as many is an
    IllegalStateError.

    The function runs in a process of Spark's beside the driver, as one task: its records pass
    through that process, so its rate is that of one core.

    Args:
        spark: the session that gets the format.
        function: the source; sent by pickle, opened in that process.
        schema: columns of what is emitted: tuples, dicts or Rows, or plain values of one column.
        name: the format's name; several sources in one session need several.
        timestamp_column: a column after the others for the times of ``collect_with_timestamp``,
            null for records without.  Without it the times are not kept.  Watermarks that the
            function emits are not used: declare one on this column.
    """
    kind = type(function).__name__
    if not isinstance(function, SourceFunction):
        raise ArgumentTypeError(f"register_source takes a SourceFunction, not {function!r}")
    if not isinstance(function, CheckpointedFunction):
        raise ArgumentTypeError(
            f"{kind} is no CheckpointedFunction, so a restarted query could not go on where it "
            "was: give it snapshot_state and restore_state"
        )
    values = output_schema(schema, f"the schema of the source {name!r}")
    columns = values
    if timestamp_column is not None:
        if timestamp_column in values.names:
            raise IllegalArgumentError(
                f"the source {name!r} has a column {timestamp_column!r} already; name another one "
                "for the timestamps"
            )
        columns = StructType([*values.fields, StructField(timestamp_column, TimestampType())])
    check_picklable(function, f"the source {kind}")
    value_type = schema if isinstance(schema, TypeInformation) else None
    pickled = dumps(function)
    plan = SourcePlan(name, pickled, columns, values, value_type, timestamp_column)
    spark.dataSource.register(_data_source(plan))


def _data_source(plan: SourcePlan) -> type[DataSource]:
    # A class of its own for each source: Spark knows a source by the name of its class.
    class FlinkishSource(DataSource):
        def __init__(self, options: MutableMapping[str, str]) -> None:
            super().__init__(options)

        @classmethod
        def name(cls) -> str:
            return plan.name

        def schema(self) -> StructType:
            return plan.schema

        def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:
            return SourceReader(plan)

    return FlinkishSource


class SourceReader(SimpleDataSourceStreamReader):
    """Reads a source for Spark.

    An offset has the state of the function, the number of records before it, and the number of
    the batch that it ends.
    """

    def __init__(self, plan: SourcePlan) -> None:
        self._plan = plan
        self._run: SourceRun | None = None
        self._at: dict[str, Any] = {}

    def initialOffset(self) -> dict[str, Any]:
        """Before the first record."""
        return {"batch": 0, "records": 0, "state": ""}

    def read(self, start: dict[str, Any]) -> tuple[Iterator[Any], dict[str, Any]]:
        """The next rows of the source: columns, and the offset after them."""
        run = self._run_from(start)
        records, state = run.take(PATIENCE_S, QUIET_S)
        if not records:
            return iter(()), start
        self._at = {
            "batch": start["batch"] + 1,
            "records": start["records"] + len(records),
            "state": base64.b64encode(state).decode(),
        }
        return iter([self._plan.batch(records)]), self._at

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[Any]:
        """A batch once more, by another run of the function from the state before it."""
        wanted = end["records"] - start["records"]
        records: list[Emitted] = []
        run = self._plan.start(start)
        try:
            while len(records) < wanted:
                ended = run.ended()
                more, _ = run.take(PATIENCE_S, QUIET_S)
                if ended and not more:
                    raise IllegalStateError(
                        f"the source {self._plan.name!r} emitted {len(records)} records when batch "
                        f"{end['batch']} was made again, and {wanted} the first time: it must emit "
                        "the same records whenever it starts from the same state"
                    )
                records += more
        finally:
            _end(run)
        return iter([self._plan.batch(records[:wanted])])

    def commit(self, end: dict[str, Any]) -> None:
        """Spark has finished the batch that ends here."""
        if self._run is not None:
            self._run.notify(end["batch"])

    def _run_from(self, start: dict[str, Any]) -> SourceRun:
        if self._run is not None and self._at == start:
            return self._run
        if self._run is not None:
            _end(self._run)
        else:
            atexit.register(self._stop)
        self._run, self._at = self._plan.start(start), start
        return self._run

    def _stop(self) -> None:
        if self._run is not None:
            with contextlib.suppress(Exception):
                _end(self._run)


def _end(run: SourceRun) -> None:
    try:
        run.cancel(CANCEL_S)
    except TaskCancellationError as error:
        _LOG.warning("%s", error)
