"""Jobs that run programs: one round over bounded inputs, or a query with a round a micro-batch."""

from __future__ import annotations

import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from flinkish.common.errors import (
    FlinkishError,
    IllegalArgumentError,
    JobCancellationError,
    JobExecutionError,
    UnsupportedOperationError,
)
from flinkish.common.jobs import JobStatus
from flinkish.spark.explained import explain_error
from flinkish.spark.internals import FilesOfSpark, end_after_batch, has_ended
from flinkish.spark.jobs.inputs import Input
from flinkish.spark.jobs.modules import missing_module
from flinkish.spark.jobs.part_files import PartFiles
from flinkish.spark.jobs.rounds import Round
from flinkish.spark.jobs.session import unchanged_plans
from flinkish.spark.kept_fields import FieldStore
from flinkish.spark.passes import JobScope, Pass
from flinkish.spark.real_time.counts import SumOfCounts
from flinkish.spark.session import check_versioned_session, context_of
from flinkish.spark.versions.located import tell_checkpoints

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

__all__ = ["BoundedJob", "Job", "StreamingJob"]

Program = Callable[[Round], None]

_SOURCE = "__flinkish_source"
_TICKS = -1
# Spark sets it for the thread of a query; a query keeps its id after a restart.
_QUERY = "sql.streaming.queryId"


class Job(ABC):
    """A program that runs.

    Threading: any number of threads may ask, wait and cancel.
    """

    def __init__(self, spark: SparkSession, name: str, parameters: Mapping[str, str]) -> None:
        self.spark = spark
        self.name = name
        context = context_of(spark)
        self._counts = None if context is None else context.accumulator({}, SumOfCounts())
        self._scope = JobScope(parameters, None if self._counts is None else self._counts.add)
        self._began = time.monotonic()
        self._took: float | None = None
        self._lock = threading.Lock()
        self._status = JobStatus.CREATED
        self._error: BaseException | None = None

    @abstractmethod
    def start(self) -> None:
        """Begin, and return."""

    @abstractmethod
    def wait(self) -> None:
        """Wait for the end.

        JobExecutionError if the program failed, JobCancellationError if it was cancelled.
        """

    @abstractmethod
    def cancel(self) -> None:
        """End without a result, and wait until it has ended."""

    @abstractmethod
    def stop(self, directory: str | None = None) -> str:
        """End after the current round; gives the place from which a new job can go on."""

    def status(self) -> JobStatus:
        """How it is."""
        with self._lock:
            return self._status

    def net_runtime(self) -> int:
        """How long it has run, in ms."""
        took = self._took
        return int(1000 * (time.monotonic() - self._began if took is None else took))

    def accumulators(self) -> dict[str, Any]:
        """The counts of the tasks that have ended, by the uid of an operator and a name."""
        return {} if self._counts is None else dict(self._counts.value)

    def _ends(self, status: JobStatus, error: BaseException | None = None) -> None:
        with self._lock:
            self._status, self._error = status, error
            self._took = time.monotonic() - self._began

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _failed(self, error: BaseException) -> BaseException:
        """The error of a program, with the lines that matter of Spark's."""
        if isinstance(error, FlinkishError) and not str(error).startswith("[Errno"):
            return error
        said = explain_error(error)
        return JobExecutionError(f"job {self.name!r} failed: {missing_module(said) or said}")


class BoundedJob(Job):
    """A program over all rows of its inputs, in a thread of its own.

    ``within`` None is for Flink's batch mode, in which operators sort rows by key.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        inputs: Sequence[Input],
        program: Program,
        parameters: Mapping[str, str],
        within: Pass | None,
    ) -> None:
        super().__init__(spark, name, parameters)
        self._inputs = inputs
        self._program = program
        self._within = within
        self._tag = f"flinkish-{secrets.token_hex(8)}"
        self._cancelled = False
        self._thread = threading.Thread(target=self._run, name=f"job {name}", daemon=True)

    def start(self) -> None:
        """Begin in a thread."""
        self._status = JobStatus.RUNNING
        self._thread.start()

    def _run(self) -> None:
        spark = self.spark
        context = context_of(spark)
        try:
            # Tags of a classic session are of the thread that gives them: another could not cancel.
            (spark.addTag if context is None else context.addJobTag)(self._tag)
            frames = [(one.frame(spark), one) for one in self._inputs]
            this = Round.over(frames, spark, self._within, self._scope, self._tag)
            try:
                self._program(this)
            finally:
                this.close()
        except BaseException as error:
            if self._cancelled:
                self._ends(JobStatus.CANCELED, _cancelled(self.name))
            else:
                self._ends(JobStatus.FAILED, self._failed(error))
        else:
            self._ends(JobStatus.FINISHED)

    def wait(self) -> None:
        """Wait for the thread."""
        self._thread.join()
        self._raise()

    def cancel(self) -> None:
        """Interrupt what Spark runs for this job."""
        self._cancelled = True
        context = context_of(self.spark)
        while self._thread.is_alive():
            if context is None:
                self.spark.interruptTag(self._tag)
            else:
                context.cancelJobsWithTag(self._tag)
            self._thread.join(0.2)

    def stop(self, directory: str | None = None) -> str:
        """Refused: there is no state to go on from."""
        raise UnsupportedOperationError(
            f"job {self.name!r} has bounded sources alone, so it keeps no checkpoint: "
            "cancel() ends it, and a new job reads the sources again"
        )


class StreamingJob(Job):
    """A program as one query of Spark's Structured Streaming, with a round each micro-batch."""

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        inputs: Sequence[Input],
        program: Program,
        parameters: Mapping[str, str],
        partitions: int,
        checkpoint: str | None,
        interval_ms: int,
    ) -> None:
        super().__init__(spark, name, parameters)
        context = context_of(spark)
        if context is None:
            raise UnsupportedOperationError(
                "programs with unbounded sources need a classic session, since the functions of "
                "their micro-batches run in this process; Spark Connect runs bounded ones"
            )
        check_versioned_session(spark)
        token, now = secrets.token_hex(8), time.time_ns() // 1_000_000
        self._within = Pass(partitions, False, token, now, FieldStore(context))
        self._inputs = inputs
        self._program = program
        self._checkpoint = checkpoint
        self._interval = interval_ms
        self._files = PartFiles(spark, token, checkpoint)
        self._done: int | None = None  # the last round that has run to its end
        self._query: StreamingQuery | None = None
        self._stopping: JobStatus | None = None
        self._ending = threading.Lock()

    def start(self) -> None:
        """Start the query; raises the job's error if it cannot start."""
        tell_checkpoints(self.spark)
        try:
            self._start()
        except Exception as error:
            failed = self._failed(error)
            self._ends(JobStatus.FAILED, failed)
            raise failed from None

    def _start(self) -> None:
        writer = self._united().writeStream.queryName(self.name).foreachBatch(self._round)
        if self._interval:
            writer = writer.trigger(processingTime=f"{self._interval} milliseconds")
        if self._checkpoint is not None:
            writer = writer.option("checkpointLocation", self._checkpoint)
        self._query = writer.start()
        self._status = JobStatus.RUNNING

    def _united(self) -> DataFrame:
        """The rows of all unbounded sources, and ticks, in one DataFrame."""
        goes_on = self._checkpoint is not None and FilesOfSpark(self.spark).names(
            f"{self._checkpoint.rstrip('/')}/offsets"
        )
        streams = [
            (number, (one.going_on() if goes_on else one).frame(self.spark))
            for number, one in enumerate(self._inputs)
            if not one.bounded
        ]
        # A batch a second without rows serves timers on processing time.
        ticks = self.spark.readStream.format("rate").option("rowsPerSecond", 1)
        ticks = ticks.option("numPartitions", 1)
        found = [*streams, (_TICKS, ticks.load().select("value"))]
        kinds = {number: frame.schema for number, frame in found}
        united: DataFrame | None = None
        for number, frame in found:
            columns = [
                (F.struct("*") if number == other else F.lit(None).cast(kind)).alias(_column(other))
                for other, kind in kinds.items()
            ]
            part = frame.select(F.lit(number).alias(_SOURCE), *columns)
            united = part if united is None else united.union(part)
        assert united is not None
        return united

    def _round(self, frame: DataFrame, number: int) -> None:
        """Run the program over a micro-batch."""
        spark = frame.sparkSession
        frame = frame.persist()
        with unchanged_plans(spark):
            frames = []
            for at, one in enumerate(self._inputs):
                if one.bounded:
                    rows = one.frame(spark)
                    found = rows if number == 0 else rows.where(F.lit(False))
                else:
                    found = frame.where(F.col(_SOURCE) == at).select(f"{_column(at)}.*")
                frames.append((found, one))
            query = spark.sparkContext.getLocalProperty(_QUERY) or self.name
            files = self._files
            this = Round.over(frames, spark, self._within, self._scope, query, number, files)
            try:
                self._program(this)
            finally:
                this.close()
                frame.unpersist()
        self._done = number

    def wait(self) -> None:
        """Wait for the query."""
        assert self._query is not None
        try:
            self._query.awaitTermination()
        except Exception as error:
            self._ended(error)
        else:
            self._ended(None)
        self._raise()

    def _ended(self, error: BaseException | None) -> None:
        with self._ending:
            if self._took is not None:
                return
            try:
                self._publish_files()
            except Exception as unpublished:
                error = error or unpublished
            if self._stopping is JobStatus.CANCELED:
                self._ends(JobStatus.CANCELED, _cancelled(self.name))
            elif error is not None:
                self._ends(JobStatus.FAILED, self._failed(error))
            elif self._stopping is not None:
                self._ends(self._stopping)
            else:  # somebody stopped the query itself
                self._ends(JobStatus.CANCELED, _cancelled(self.name))

    def _publish_files(self) -> None:
        """Publish the last round's files if it was committed; else the next job publishes them."""
        last = self._done
        if last is None:
            return
        if self._checkpoint is not None:
            commit = f"{self._checkpoint.rstrip('/')}/commits/{last}"
            last = last if FilesOfSpark(self.spark).exists(commit) else last - 1
        self._files.publish(last)

    def status(self) -> JobStatus:
        """How the query is."""
        query = self._query
        if query is not None and self._took is None and has_ended(query):
            self._ended(query.exception())
        return super().status()

    def cancel(self) -> None:
        """Stop the query, maybe within a micro-batch."""
        query = self._query
        assert query is not None
        if self.status().is_terminal_state():
            return
        self._stopping = JobStatus.CANCELED
        query.stop()
        self.status()

    def stop(self, directory: str | None = None) -> str:
        """Stop the query after its current micro-batch; returns its checkpoint, to go on from.

        IllegalArgumentError for a path other than the checkpoint's; the job's error if its last
        batch failed, or if it was cancelled meanwhile.
        """
        if self._checkpoint is None:
            raise IllegalArgumentError(
                f"job {self.name!r} has no checkpoint that lasts: say where it is kept before it "
                "is started, with the CheckpointConfig's set_checkpoint_storage_dir(...)"
            )
        if directory is not None and directory.rstrip("/") != self._checkpoint.rstrip("/"):
            raise IllegalArgumentError(
                f"the state of job {self.name!r} is in its checkpoint, {self._checkpoint!r}, and "
                f"cannot be written to {directory!r}: leave the directory out, and copy the "
                "checkpoint after the job has ended"
            )
        query = self._query
        assert query is not None
        if not self.status().is_terminal_state():
            self._stopping = self._stopping or JobStatus.FINISHED
            end_after_batch(query)
        if self.status() is not JobStatus.FINISHED:
            self._raise()
        return self._checkpoint


def _cancelled(name: str) -> JobCancellationError:
    return JobCancellationError(f"job {name!r} was cancelled")


def _column(number: int) -> str:
    return f"source_{number}" if number >= 0 else "ticks"
