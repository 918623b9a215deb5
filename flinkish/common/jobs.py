"""Jobs as PyFlink shows them: their ids, status, clients and results."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from enum import Enum
from typing import Any, Protocol

from flinkish.common.completable_future import CompletableFuture
from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError

__all__ = ["JobClient", "JobExecutionResult", "JobID", "JobStatus", "RunningJob"]


class JobID:
    """The id of a job: 32 hexadecimal digits."""

    def __init__(self, digits: str) -> None:
        if len(digits) != 32 or set(digits) - set("0123456789abcdef"):
            raise IllegalArgumentError(f"the id of a job has 32 hexadecimal digits, not {digits!r}")
        self._digits = digits

    @classmethod
    def generate(cls) -> JobID:
        """A new id."""
        return cls(secrets.token_hex(16))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and other._digits == self._digits

    def __hash__(self) -> int:
        return hash(self._digits)

    def __str__(self) -> str:
        return self._digits

    def __repr__(self) -> str:
        return f"JobID({self._digits!r})"


class JobStatus(Enum):
    """How a job is."""

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Whether it has ended for good."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Whether it has ended, at least here."""
        return self.is_globally_terminal_state() or self is JobStatus.SUSPENDED


class RunningJob(Protocol):
    """The job that a client watches and ends."""

    def status(self) -> JobStatus:
        """How it is."""
        ...

    def cancel(self) -> None:
        """End it."""
        ...

    def stop(self, directory: str | None = None) -> str:
        """End it with a savepoint; gives the savepoint's place."""
        ...

    def wait(self) -> None:
        """Wait for its end; raises its error."""
        ...

    def net_runtime(self) -> int:
        """How long it has run, in ms."""
        ...

    def accumulators(self) -> dict[str, Any]:
        """The counts so far."""
        ...


class JobExecutionResult:
    """The result of a job that has ended."""

    def __init__(self, job_id: JobID, net_runtime: int, accumulators: Mapping[str, Any]) -> None:
        self._job_id = job_id
        self._net_runtime = net_runtime
        self._accumulators = dict(accumulators)

    def get_job_id(self) -> JobID:
        """The id of the job."""
        return self._job_id

    def is_job_execution_result(self) -> bool:
        """Whether the job has run: it has."""
        return True

    def get_net_runtime(self) -> int:
        """How long the job ran, in ms."""
        return self._net_runtime

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """The count of this name; None if there is none."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """All counts by name."""
        return dict(self._accumulators)

    def __repr__(self) -> str:
        return f"JobExecutionResult({self._job_id}, {self._net_runtime} ms)"


class JobClient:
    """Watches a job, and ends it.

    Threading: any number of threads.
    """

    def __init__(self, job_id: JobID, job: RunningJob) -> None:
        self._job_id = job_id
        self._job = job

    def get_job_id(self) -> JobID:
        """The id of the job."""
        return self._job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """How the job is."""
        return CompletableFuture.completed(self._job.status())

    def cancel(self) -> CompletableFuture[None]:
        """End the job without a result, and wait until it has ended."""
        self._job.cancel()
        return CompletableFuture.completed(None)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """End the job after its current micro-batch; gives the place to go on from.

        UnsupportedOperationError if time is to be advanced to its end: timers would fire that a
        job which goes on from the savepoint could not take back.
        """
        if advance_to_end_of_event_time:
            raise UnsupportedOperationError(
                "a job that stops with a savepoint leaves its timers for the job that goes on: "
                "give advance_to_end_of_event_time=False"
            )
        return CompletableFuture.completed(self._job.stop(savepoint_directory))

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Refused: the checkpoint of a running query changes with each micro-batch."""
        raise UnsupportedOperationError(
            "Spark keeps one checkpoint of a running query, which changes with each micro-batch: "
            "call stop_with_savepoint(False), and copy the checkpoint before the job goes on"
        )

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The counts of the job so far."""
        return CompletableFuture.completed(self._job.accumulators())

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result, after the end; the future has the job's error if it failed."""

        def result() -> JobExecutionResult:
            self._job.wait()
            return JobExecutionResult(
                self._job_id, self._job.net_runtime(), self._job.accumulators()
            )

        return CompletableFuture(result, lambda: self._job.status().is_terminal_state())
