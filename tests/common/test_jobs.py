"""Jobs as their clients see them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from flinkish.common import CompletableFuture, JobClient, JobID, JobStatus
from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError


class FakeJob:
    """A job that ends when the test says so."""

    def __init__(self, error: Exception | None = None) -> None:
        self.state = JobStatus.RUNNING
        self.stopped_at: list[str | None] = []
        self._error = error
        self.ended = threading.Event()

    def status(self) -> JobStatus:
        return self.state

    def cancel(self) -> None:
        self.state = JobStatus.CANCELED
        self.ended.set()

    def stop(self, directory: str | None = None) -> str:
        self.stopped_at.append(directory)
        return "place"

    def wait(self) -> None:
        assert self.ended.wait(10)
        if self._error is not None:
            raise self._error

    def net_runtime(self) -> int:
        return 5

    def accumulators(self) -> dict[str, Any]:
        return {"rows": 3}


def test_ids_are_32_digits_and_differ() -> None:
    one = JobID.generate()
    assert len(str(one)) == 32
    assert one == JobID(str(one))
    assert hash(one) == hash(JobID(str(one)))
    assert one != JobID.generate()
    with pytest.raises(IllegalArgumentError, match="32 hexadecimal digits, not 'x'"):
        JobID("x")


def test_which_states_are_ends() -> None:
    ends = {one for one in JobStatus if one.is_globally_terminal_state()}
    assert ends == {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}
    assert JobStatus.SUSPENDED.is_terminal_state()
    assert not JobStatus.RUNNING.is_terminal_state()


def test_a_client_waits_for_the_result() -> None:
    job = FakeJob()
    client = JobClient(JobID.generate(), job)
    future = client.get_job_execution_result()
    assert not future.done()
    assert client.get_job_status().result() is JobStatus.RUNNING
    assert client.get_accumulators().result() == {"rows": 3}
    job.state = JobStatus.FINISHED
    job.ended.set()
    result = future.result()
    assert future.done()
    assert result.get_job_id() == client.get_job_id()
    assert (result.get_net_runtime(), result.get_accumulator_result("rows")) == (5, 3)
    assert result.get_accumulator_result("none") is None
    assert result.get_all_accumulator_results() == {"rows": 3}
    assert result is future.result()


def test_the_error_of_a_job_is_that_of_its_result() -> None:
    job = FakeJob(ValueError("it failed"))
    job.ended.set()
    future = JobClient(JobID.generate(), job).get_job_execution_result()
    assert isinstance(future.exception(), ValueError)
    with pytest.raises(ValueError, match="it failed"):
        future.result()


def test_ends_and_savepoints() -> None:
    job = FakeJob()
    client = JobClient(JobID.generate(), job)
    assert client.stop_with_savepoint(False, "there").result() == "place"
    assert job.stopped_at == ["there"]
    client.cancel().result()
    assert job.state is JobStatus.CANCELED
    with pytest.raises(UnsupportedOperationError, match="advance_to_end_of_event_time=False"):
        client.stop_with_savepoint(True)
    with pytest.raises(UnsupportedOperationError, match="one checkpoint of a running query"):
        client.trigger_savepoint()


def test_a_future_calls_once_for_any_number_of_threads() -> None:
    calls: list[int] = []
    begun = threading.Barrier(4)

    def call() -> int:
        calls.append(1)
        return 7

    future = CompletableFuture(call, lambda: False)
    found: list[int] = []

    def ask() -> None:
        begun.wait(10)
        found.append(future.result())

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert (calls, found) == ([1], [7] * 4)
    assert not future.cancelled()
    assert future.exception() is None
