"""What a mailbox measures of itself."""

import pytest

from flinkish.common.errors import IllegalStateError
from flinkish.mailbox import MailboxMetrics, MailboxProcessor
from flinkish.metrics import MetricGroup
from flinkish.testing import TestProcessingTimeService
from tests.mailbox.rig import nothing


class Bench:
    def __init__(self) -> None:
        self.processor = MailboxProcessor(nothing)
        self.timers = TestProcessingTimeService()
        self.timers.set_current_time(0)
        self.now = 0
        self.group = MetricGroup()
        self.metrics = MailboxMetrics(
            self.processor, self.group, interval="2 seconds", clock=lambda: self.now
        )
        self.executor = self.processor.main_mailbox_executor

    def set_up(self) -> None:
        self.metrics.set_up_latency_measurement(self.timers, self.executor)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_mails_and_queue_size_are_always_there() -> None:
    """A.32: the counter of mails."""
    group = MetricGroup()
    processor = MailboxProcessor(lambda c: c.all_actions_completed(), metrics=group)
    for _ in range(3):
        processor.main_mailbox_executor.execute(nothing)
    assert group.snapshot()["mailboxQueueSize"] == 3
    processor.run_mailbox_loop()
    # Three of ours, and the one that completes the loop.
    assert group.snapshot()["mailboxMails"] == processor.mails_run == 4
    assert processor.metrics.group is group


def test_measuring_starts_after_the_first_mail(bench: Bench) -> None:
    """A.44: not after one that only ends the loop."""
    bench.set_up()
    assert bench.metrics.is_latency_measurement_set_up
    bench.processor.suspend()
    bench.processor.run_mailbox_loop()
    assert not bench.metrics.is_latency_measurement_started
    bench.executor.execute(nothing)
    bench.processor.run_mailbox_step()
    assert bench.metrics.is_latency_measurement_started
    assert bench.timers.active_timer_timestamps == [2_000]


def test_latency_is_from_put_to_run(bench: Bench) -> None:
    """A.44."""
    bench.set_up()
    bench.metrics.start_latency_measurement()
    for latency in (5, 11):
        bench.timers.advance("2 seconds")
        assert bench.processor.mailbox.size() == 1
        bench.now += latency * 1_000_000
        bench.processor.run_mailbox_step()
    found = bench.group.snapshot()
    assert found["mailboxLatencyMs"] == {"count": 2, "sum": 16.0, "min": 5.0, "max": 11.0}
    assert found["mailboxMailsPerSecond"]["count"] == 2
    assert bench.timers.active_timer_timestamps == [6_000]


def test_measuring_ends_with_the_mailbox(bench: Bench) -> None:
    bench.set_up()
    bench.metrics.start_latency_measurement()
    bench.processor.close()
    bench.timers.advance("2 seconds")
    assert bench.timers.num_active_timers == 0


def test_misuse(bench: Bench) -> None:
    """A.44."""
    with pytest.raises(IllegalStateError, match="call set_up_latency_measurement first"):
        bench.metrics.start_latency_measurement()
    bench.set_up()
    with pytest.raises(IllegalStateError, match="set up already"):
        bench.set_up()
    bench.metrics.start_latency_measurement()
    with pytest.raises(IllegalStateError, match="runs already"):
        bench.metrics.start_latency_measurement()
    bench.executor.execute(nothing)
    assert bench.processor.run_mailbox_step()
    assert bench.timers.num_active_timers == 1
