"""A task inside of ``mapInArrow``: an operator on a mailbox, in Spark's Python worker.

Who may touch what: the operator, its output and the task belong to the thread on which Spark
draws batches from the generator ``SparkTask.run`` - the worker's main thread, which is the mailbox
thread.  The reader's thread (task_input) and that of the timers put mails, and nothing else.

The generator is suspended only between two runs of the mailbox loop, while Spark has a batch; mails
wait meanwhile.  It ends in one of three ways, after each of which the operator is closed and the
timers' thread is gone:

  finished   The input has ended, so the reader's thread is gone, too, and Spark may use the process
             for another task.
  failed     Something raised.  The reader may still be inside of Spark's socket, where nobody can
             call it back; but Spark ends a process whose function raised.
  canceled   Spark closed the generator, which it does when it could not write a batch: what has
             started the task wants no more of it.  That error ends the process, likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Protocol, runtime_checkable

import pyarrow as pa
from pyspark import TaskContext

from flinkish.common.errors import RejectedExecutionError
from flinkish.common.notes import add_note, shortened, spell_out_notes
from flinkish.operators import OperatorEnvironment
from flinkish.spark.tasks.input import BatchReader, RowInput
from flinkish.spark.tasks.output import TaskOutput
from flinkish.spark.tasks.plan import TaskPlan
from flinkish.task import OneInputStreamTask, StopMode, TaskState
from flinkish.time import ProcessingTimeService, SystemProcessingTimeService

__all__ = ["HoldsElements", "SparkTask", "Subtask", "task_function"]

Batches = Iterator[pa.RecordBatch]

# How long (ms) an ended task waits for its threads; they have nothing left to do.
_PATIENCE_MS = 5_000
# For a reader that may be inside of Spark's socket it does not wait.
_AT_ONCE_MS = 50

_SHOWN = 500  # characters of a row in a message


@dataclass(frozen=True)
class Subtask:
    """Which part of the work a task has: Spark's partition, and how often it was tried before."""

    partition: int = 0
    attempt: int = 0

    @classmethod
    def current(cls) -> Subtask:
        """That of the Spark task which this process runs."""
        context = TaskContext.get()
        return cls() if context is None else cls(context.partitionId(), context.attemptNumber())


@runtime_checkable
class HoldsElements(Protocol):
    """An operator that gives some elements later than it takes them.

    When the input has ended, its task waits until it holds none, and only then has it finish.
    Meanwhile all goes on as before: results leave as they come, timers fire, and what would be
    tried again later is.  Without this the end of each micro-batch would cut that short.
    """

    def let_go(self) -> int:
        """Wait for no further elements; how many are still held.

        It is asked again after each mail, so a mail or a timer must be on its way for them.
        """
        ...


def task_function(plan: TaskPlan) -> Callable[[Batches], Batches]:
    """The function for ``mapInArrow`` that runs the plan's operator."""

    def run(batches: Batches) -> Batches:
        # All is made here, in the worker: nothing of it could be forked or sent.
        subtask = Subtask.current()
        if plan.control_plane is None:
            yield from SparkTask(plan, batches, subtask).run()
            return
        # Not for the many tasks without a control plane, which need nothing of rpc.
        from flinkish.spark.control_plane.attached import run_attached

        def make(batches: Batches) -> SparkTask:
            return SparkTask(plan, batches, subtask)

        yield from run_attached(plan.control_plane, plan.name, make, batches)

    run.__name__ = plan.name  # in Spark's plans
    return run


class SparkTask(OneInputStreamTask):
    """Runs an operator on the batches of a partition; ``run`` gives what it emits, as batches.

    Threading: made, run and closed on one thread.
    """

    def __init__(
        self,
        plan: TaskPlan,
        batches: Batches,
        subtask: Subtask,
        *,
        processing_time_service: ProcessingTimeService | None = None,
    ) -> None:
        self._plan = plan
        self._subtask = subtask
        self._clocks = processing_time_service or SystemProcessingTimeService(
            self.report_throwable, name=f"{plan.name}-timer"
        )
        encoders = plan.encoders()
        self._main_encoder = encoders[None]
        self._collected = TaskOutput(
            encoders,
            self._clocks.get_current_processing_time,
            self._call_at,
            self._return_soon,
            plan.age_ms,
        )
        self._reader = BatchReader(batches, plan.name)
        self._rows = RowInput(self._reader, self._return_soon, plan.elements, plan.stamps)
        super().__init__(
            plan.make_operator(),
            self._rows,
            self._collected,
            name=plan.name,
            environment=_environment(plan, subtask),
            processing_time_service=self._clocks,
        )

    def run(self) -> Batches:
        """Run the task, as ``invoke`` does, and give its output on the way.

        An error of the operator comes out unchanged, with notes about operator, partition and row.
        """
        self._require_created("run")
        self._state = TaskState.RESTORING
        self._mailbox.adopt()
        try:
            yield from self._run_to_the_end()
            self._clean_up(TaskState.FINISHED)
        except GeneratorExit:
            self._canceled = True
            self._clean_up(TaskState.CANCELED)
            raise
        except BaseException as error:
            self._explain(error)
            if not self._state.is_terminal:
                self._clean_up(TaskState.FAILED, error)
            raise

    def _run_to_the_end(self) -> Batches:
        self._restore()
        self._state = TaskState.RUNNING
        with self._plan.watched(self.operator, self._main_encoder):
            yield from self._run_open()

    def _run_open(self) -> Batches:
        self._times.start()
        self._reader.start()
        while not self._rows.ended:
            self._processor.run_mailbox_loop()
            yield from self._collected.take()
        if isinstance(self.operator, HoldsElements):
            while self.operator.let_go():
                self._processor.main_mailbox_executor.yield_()
                yield from self._collected.take()
        self._end_data(StopMode.DRAIN)
        self._after_invoke()
        yield from self._collected.take(all_of_it=True)

    def _stop_threads(self) -> None:
        """End the threads that there are, once the timers take no more."""
        self._clocks.shutdown_and_await(_PATIENCE_MS)
        self._reader.close(_PATIENCE_MS if self._rows.ended else _AT_ONCE_MS)

    def _return_soon(self) -> None:
        """Have the mailbox loop return, for output to be taken."""
        self._processor.suspend()

    def _call_at(self, timestamp: int, function: Callable[[], None]) -> None:
        """Call a function on the mailbox thread at a time (ms); not at all once the task ends."""

        def put(_: int) -> None:
            try:
                self._processor.main_mailbox_executor.execute(function, "look at the output's age")
            except RejectedExecutionError:
                return  # what there is leaves with the end

        self._clocks.register_timer(timestamp, put)

    def _explain(self, error: BaseException) -> None:
        where = (
            f"raised in task {self.name!r}, partition {self._subtask.partition}, "
            f"attempt {self._subtask.attempt}"
        )
        last = self._rows.last_row()
        if last is not None:
            number, row = last
            shown = shortened(row, _SHOWN)
            where += f"; the last row it had taken was number {number}, {shown}"
        add_note(error, where)
        spell_out_notes(error)


def _environment(plan: TaskPlan, subtask: Subtask) -> OperatorEnvironment:
    if not plan.key_columns:
        # Spark does not tell how many partitions there are.
        parallelism = max(subtask.partition + 1, OperatorEnvironment.max_parallelism)
        return OperatorEnvironment(
            task_name=plan.name,
            index=subtask.partition,
            parallelism=parallelism,
            max_parallelism=parallelism,
            attempt=subtask.attempt,
            job_parameters=plan.job_parameters,
        )
    # Spark has put each key into one partition, by a hash of its own: here, all are at home.
    return OperatorEnvironment(
        task_name=plan.name,
        attempt=subtask.attempt,
        job_parameters=plan.job_parameters,
        key_selector=itemgetter(*plan.key_columns),
        key_type=plan.key_type,
    )
