"""What a task measures of itself: latency of its mails (A.44), idle, busy, back-pressured time."""

import pytest

from flinkish.common.errors import IllegalStateError
from flinkish.metrics import MetricGroup
from flinkish.operators import OperatorEnvironment
from flinkish.task import InputStatus, SourceStreamTask, StreamTask
from flinkish.task.io_metrics import PerSecond, TaskIOMetrics
from flinkish.testing import TestProcessingTimeService
from tests.task.jobs import Clock, Counting, Output, Script, running
from tests.waiting import PATIENCE, until


def test_the_latency_of_mails_is_measured_from_the_first_mail_on() -> None:
    """A.44: a mail each second; what ends the loop does not count."""
    clock = TestProcessingTimeService()
    clock.set_current_time(0)
    environment = OperatorEnvironment()
    task = StreamTask(
        Script(InputStatus.NOTHING_AVAILABLE),
        environment=environment,
        processing_time_service=clock,
    )
    measured = environment.metrics.snapshot
    with running(task) as (run,):
        until(lambda: task._processor.mailbox.awaits_mail)
        assert not task._processor.metrics.is_latency_measurement_started
        task.mailbox_executor.submit(lambda: None).result(PATIENCE)
        for second in (1, 2):
            until(lambda second=second: clock.active_timer_timestamps == [second * 1000])
            clock.set_current_time(second * 1000)
            until(lambda second=second: measured()["mailboxLatencyMs"]["count"] == second)
        task.cancel()
        assert run.join() is None
    assert measured()["mailboxMailsPerSecond"]["count"] >= 2

    ended = StreamTask(Script(), processing_time_service=clock)
    ended.invoke()
    assert not ended._processor.metrics.is_latency_measurement_started


def test_a_task_sets_measuring_up_once() -> None:
    """A.44"""
    task = StreamTask(Script(), processing_time_service=TestProcessingTimeService())
    with pytest.raises(IllegalStateError, match="call set_up_latency_measurement first"):
        task._processor.metrics.start_latency_measurement()
    task.invoke()
    with pytest.raises(IllegalStateError, match="set up already"):
        task._processor.metrics.set_up_latency_measurement(
            task._timers, task._processor.main_mailbox_executor
        )


def test_a_rate_is_the_mean_since_it_was_read_last() -> None:
    clock, total = Clock(), Clock()
    rate = PerSecond(clock, total)
    rate.start()
    clock.advance(999)
    total.advance(500)
    assert rate.value() == 0  # no second is over
    clock.advance(1)
    assert rate.value() == rate.value() == 500
    clock.advance(4000)
    total.advance(3000)
    assert rate.value() == 750
    clock.advance(1000)
    total.advance(1001)
    assert rate.value() == 1000
    clock.advance(1000)
    assert rate.value() == 0


def test_rates_of_a_task() -> None:
    clock, group = Clock(), MetricGroup()
    times = TaskIOMetrics(clock, group, knows_busy=True)
    clock.advance(5000)
    times.start()
    times.idle.mark_start()
    clock.advance(600)
    times.idle.mark_end()
    times.back_pressured.mark_start()
    clock.advance(300)
    times.back_pressured.mark_end()
    clock.advance(100)
    found = group.snapshot()
    assert found["idleTimeMsPerSecond"] == 600
    assert found["backPressuredTimeMsPerSecond"] == 300
    assert found["busyTimeMsPerSecond"] == 100
    times.stop()
    clock.advance(1000)
    assert group.snapshot()["busyTimeMsPerSecond"] == 0


def test_nobody_knows_how_busy_a_source_is() -> None:
    environment = OperatorEnvironment()
    SourceStreamTask(Counting(1), Output(), environment=environment).invoke()
    found = environment.metrics.snapshot()
    assert found["busyTimeMsPerSecond"] is None
    assert found["idleTimeMsPerSecond"] == 0
