"""The mailbox that runs by hand."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from flinkish.common.errors import DeadlockError, IllegalStateError
from flinkish.testing import SteppingMailbox
from tests.waiting import PATIENCE


def test_mails_run_one_at_a_time() -> None:
    stepping = SteppingMailbox()
    runs: list[str] = []
    stepping.main_executor.execute(lambda: runs.append("a"), "first")
    stepping.executor(3).execute(lambda: runs.append("b"), "second %d", description_args=[2])
    assert runs == []
    assert stepping.step(1)
    assert runs == ["b"]
    assert not stepping.step(1)
    assert stepping.run_until_idle() == 1
    assert stepping.trace == ["second 2", "first"]


def test_the_default_action_runs_when_asked() -> None:
    runs: list[str] = []
    stepping = SteppingMailbox(lambda c: (runs.append("action"), c.suspend_default_action()))
    stepping.main_executor.execute(lambda: runs.append("mail"))
    assert stepping.run_default_action()
    assert runs == ["mail", "action"]
    assert not stepping.is_default_action_available
    assert not stepping.run_default_action()
    completing = SteppingMailbox(lambda c: c.all_actions_completed())
    assert completing.run_default_action()
    assert not completing.run_default_action()


def test_nothing_waits() -> None:
    stepping = SteppingMailbox()
    executor = stepping.executor(4)
    stepping.executor(3).execute(lambda: None)
    with pytest.raises(DeadlockError, match="no mail of priority 4 or more is queued"):
        executor.yield_()
    executor.execute(lambda: None)
    executor.yield_()


def test_a_mail_that_never_ends() -> None:
    stepping = SteppingMailbox()

    def again() -> None:
        stepping.main_executor.execute(again, "again")

    again()
    with pytest.raises(IllegalStateError, match="after 50 mails, the last of them again"):
        stepping.run_until_idle(50)


def test_other_threads_put() -> None:
    stepping = SteppingMailbox()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(stepping.main_executor.submit, lambda: 7).result(PATIENCE)
    stepping.run_until_idle()
    assert future.result(0) == 7
    left = stepping.main_executor.submit(lambda: 8)
    stepping.close()
    assert left.cancelled()
