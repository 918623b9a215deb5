"""The queue of a mailbox: order, batches, states, and what it refuses."""

import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from flinkish._core.mailbox.mailbox import (
    URGENT_BURST,
    Mail,
    MailboxQueue,
    MailboxState,
    MailOptions,
)
from tests.waiting import until

DEFAULT, URGENT, DEFERRABLE = MailOptions
T = 300.0  # s, for what must not hang


def nothing() -> None:
    pass


def mail(name: str, priority: int = 0, options: MailOptions = DEFAULT) -> Mail:
    return Mail(nothing, priority, name, options=options)


@pytest.fixture
def queue() -> MailboxQueue:
    return MailboxQueue()


def names(mails: list[Mail]) -> str:
    return "".join(m.description for m in mails)


def elsewhere(work: Callable[[], object]) -> object:
    """Run on another thread; its result, or its error raised here."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(T)


def signal_who_waits(queue: MailboxQueue) -> None:
    """Send the main thread, which is the owner, an alarm when it waits for mail."""
    until(lambda: queue.awaits_mail)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)


def taken(queue: MailboxQueue, *priorities: int) -> str:
    found = [queue.try_take(priority) for priority in priorities]
    queue._check()
    return "".join("-" if m is None else m.description for m in found)


class TestOrder:
    def test_first_in_first_out(self, queue: MailboxQueue) -> None:
        """A.2."""
        for name in "abcde":
            queue.put(mail(name))
        assert taken(queue, *[0] * 6) == "abcde-"

    def test_a_priority_is_a_filter(self, queue: MailboxQueue) -> None:
        """A.1: the oldest that is visible, not the highest."""
        for name, priority in [("c", 1), ("b", 2), ("d", 1)]:
            queue.put(mail(name, priority))
        queue.put_first(mail("a", 2))
        assert taken(queue, 3, 2, 2, 2, 1, 1, 1) == "-ab-cd-"

    def test_the_main_loop_sees_all(self, queue: MailboxQueue) -> None:
        """A.1: MIN_PRIORITY."""
        for name, priority in [("a", -1), ("b", 2**31 - 1), ("c", 0)]:
            queue.put(mail(name, priority))
        assert taken(queue, 2**31 - 1, -1, -1, -1) == "bac-"

    def test_put_first_is_last_in_first_out(self, queue: MailboxQueue) -> None:
        queue.put(mail("d", 0, URGENT))
        for name, priority in [("c", 0), ("b", 5), ("a", 0)]:
            queue.put_first(mail(name, priority))
        assert names(queue.drain()) == "abcd"

    def test_put_first_keeps_to_the_filter(self, queue: MailboxQueue) -> None:
        queue.put_first(mail("b", 0))
        queue.put(mail("a", 1))
        assert taken(queue, 1, 1, 0) == "a-b"

    @pytest.mark.parametrize("put_here", [True, False])
    def test_urgent_mail_passes_all_but_itself(self, queue: MailboxQueue, put_here: bool) -> None:
        """A.11, A.12, whoever puts it."""
        for name, options in [("d", DEFAULT), ("a", URGENT), ("e", DEFAULT), ("b", URGENT)]:
            m = mail(name, 0, options)
            queue.put(m) if put_here else elsewhere(lambda m=m: queue.put(m))
        queue.put(mail("c", 3, URGENT))
        assert taken(queue, *[0] * 5) == "abcde"

    def test_urgency_does_not_pass_the_filter(self, queue: MailboxQueue) -> None:
        """A.13."""
        queue.put(mail("b", 0, URGENT))
        queue.put(mail("a", 1))
        assert taken(queue, 1, 1, 0) == "a-b"

    def test_deferrable_mail_shows_the_least_priority(self, queue: MailboxQueue) -> None:
        """A.20, A.26."""
        queue.put(mail("a", 3, DEFERRABLE))
        assert queue.try_take(0) is None
        assert queue.try_take_ignoring_deferrable(4) is None
        assert queue.try_take_ignoring_deferrable(3) is not None
        queue.put(mail("b", 3, DEFERRABLE))
        assert taken(queue, -1) == "b"

    def test_one_mail_may_be_put_often(self, queue: MailboxQueue) -> None:
        m = mail("a")
        references = sys.getrefcount(m)
        for _ in range(3):
            queue.put(m)
        assert names(queue.drain()) == "aaa"
        assert sys.getrefcount(m) == references

    def test_depth_and_many_priorities(self, queue: MailboxQueue) -> None:
        for number in range(20_000):
            queue.put(mail(str(number), number % 50))
        for priority in (49, 30, 0):
            m = queue.try_take(priority)
            assert m is not None
            assert int(m.description) == priority
        assert queue.size() == 19_997
        queue._check()
        left = queue.drain()
        assert [int(m.description) for m in left] == sorted(set(range(20_000)) - {0, 30, 49})
        queue._check()

    def test_memory_of_a_deep_queue_comes_back(self, queue: MailboxQueue) -> None:
        m = mail("a")
        for _ in range(2):
            for _ in range(10_000):
                queue.put(m)
            for _ in range(10_000):
                assert queue.try_take() is m
            queue._check()


class TestBatches:
    def fill(self, queue: MailboxQueue, text: str) -> None:
        """Lower case is normal, upper case urgent."""
        for name in text:
            queue.put(mail(name, 0, URGENT if name.isupper() else DEFAULT))

    def batch(self, queue: MailboxQueue, times: int) -> str:
        found = [queue.try_take_from_batch() for _ in range(times)]
        queue._check()
        return "".join("-" if m is None else m.description for m in found)

    def test_a_batch_is_what_is_there(self, queue: MailboxQueue) -> None:
        """A.6, A.7; A.10: it counts as before."""
        assert not queue.create_batch()
        self.fill(queue, "ab")
        assert queue.create_batch()
        self.fill(queue, "c")
        assert queue.size() == 3
        assert self.batch(queue, 3) == "ab-"
        assert queue.create_batch()
        assert self.batch(queue, 2) == "c-"

    def test_what_is_left_of_a_batch_comes_first(self, queue: MailboxQueue) -> None:
        """A.6."""
        self.fill(queue, "ab")
        queue.create_batch()
        assert self.batch(queue, 1) == "a"
        self.fill(queue, "c")
        assert queue.create_batch()
        assert self.batch(queue, 3) == "bc-"

    def test_takes_consume_the_batch_first(self, queue: MailboxQueue) -> None:
        """A.7."""
        self.fill(queue, "ab")
        queue.create_batch()
        self.fill(queue, "c")
        assert taken(queue, 0, 0, 0) == "abc"

    def test_a_take_reaches_past_the_batch(self, queue: MailboxQueue) -> None:
        """A.8."""
        queue.put(mail("b", 1))
        queue.create_batch()
        queue.put(mail("a", 2))
        assert taken(queue, 2) == "a"
        assert self.batch(queue, 1) == "b"

    def test_drain_takes_batch_and_queue(self, queue: MailboxQueue) -> None:
        """A.9."""
        self.fill(queue, "a")
        queue.create_batch()
        self.fill(queue, "b")
        assert names(queue.drain()) == "ab"
        assert queue.drain() == []
        assert queue.state is MailboxState.OPEN
        assert not queue.create_batch()
        assert self.batch(queue, 1) == "-"

    @pytest.mark.parametrize("put_here", [True, False])
    def test_urgent_mail_passes_the_batch(self, queue: MailboxQueue, put_here: bool) -> None:
        """A.11, A.12, A.14: every kind of take, batches made in between."""

        def put(text: str) -> None:
            self.fill(queue, text) if put_here else elsewhere(lambda: self.fill(queue, text))

        put("abc")
        assert self.batch(queue, 1) == "-"
        assert queue.create_batch()
        assert self.batch(queue, 1) == "a"
        put("A")
        assert self.batch(queue, 1) == "A"
        put("B")
        assert taken(queue, 0) == "B"
        put("C")
        assert names([queue.take(0)]) == "C"
        put("d")
        assert self.batch(queue, 3) == "bc-"
        assert taken(queue, 0) == "d"

    def test_urgent_mail_in_order_across_batches(self, queue: MailboxQueue) -> None:
        """A.12."""
        self.fill(queue, "abcd")
        queue.create_batch()
        assert self.batch(queue, 1) == "a"
        self.fill(queue, "ABC")
        assert self.batch(queue, 1) + taken(queue, 0) + names([queue.take(0)]) == "ABC"
        assert self.batch(queue, 1) == "b"
        self.fill(queue, "efg")
        assert self.batch(queue, 1) == "c"
        self.fill(queue, "DE")
        assert queue.create_batch()
        self.fill(queue, "FG")
        assert self.batch(queue, 1) + taken(queue, 0, 0) + self.batch(queue, 1) == "DEFG"
        assert self.batch(queue, 1) + taken(queue, 0, 0, 0) == "defg"

    def test_normal_mail_behind_urgent_mail_is_taken(self, queue: MailboxQueue) -> None:
        """A.15, which Flink 2.2 fails."""
        self.fill(queue, "Ab")
        assert self.batch(queue, 3) == "Ab-"

    def test_a_flood_of_urgent_mail_ends_a_batch(self, queue: MailboxQueue) -> None:
        """Neither the batch nor whoever waits for its end starves."""
        self.fill(queue, "a")
        queue.create_batch()
        for _ in range(URGENT_BURST):
            self.fill(queue, "U")
            assert self.batch(queue, 1) == "U"
        self.fill(queue, "U")
        assert self.batch(queue, 2) == "a-"
        assert queue.create_batch()
        assert self.batch(queue, 2) == "U-"

    def test_a_flood_of_urgent_mail_lets_others_through(self, queue: MailboxQueue) -> None:
        self.fill(queue, "ab")
        found = ""
        for _ in range(4 * URGENT_BURST):
            self.fill(queue, "U")
            found += taken(queue, 0)
        assert found.index("a") == URGENT_BURST
        assert found.replace("U", "") == "ab"

    def test_what_is_queued_at_once_is_no_flood(self, queue: MailboxQueue) -> None:
        """A.11 holds for any number of urgent mails."""
        self.fill(queue, "a" + "U" * 3 * URGENT_BURST)
        assert taken(queue, *[0] * 3 * URGENT_BURST) == "U" * 3 * URGENT_BURST
        assert taken(queue, 0) == "a"


class TestStates:
    def test_quiesced_gives_out_only(self, queue: MailboxQueue) -> None:
        """A.16, A.18."""
        queue.put(mail("a"))
        queue.quiesce()
        queue.quiesce()
        assert queue.state is MailboxState.QUIESCED
        for put in (queue.put, queue.put_first):
            with pytest.raises(RuntimeError, match="QUIESCED, so it takes in no mail; <Mail 'b'"):
                put(mail("b"))
        assert names([queue.take(-1)]) == "a"
        assert queue.try_take() is None
        assert queue.try_take_from_batch() is None

    def test_waiting_on_a_quiesced_mailbox_would_not_end(self, queue: MailboxQueue) -> None:
        queue.put(mail("a", 0))
        queue.quiesce()
        with pytest.raises(RuntimeError, match="no mail of priority 1 or more can come"):
            queue.take(1)
        assert names([queue.take(0)]) == "a"

    def test_closed_gives_out_nothing(self, queue: MailboxQueue) -> None:
        """A.17, A.18."""
        queue.put(mail("b"))
        queue.put(mail("a", 0, URGENT))
        assert names(queue.close()) == "ab"
        assert queue.close() == []
        queue.quiesce()
        assert queue.state is MailboxState.CLOSED
        assert not queue.has_mail()
        calls = [queue.take, queue.try_take, queue.try_take_from_batch]
        for call in [*calls, lambda: queue.put(mail("b")), lambda: queue.put_first(mail("b"))]:
            with pytest.raises(RuntimeError, match="the mailbox is CLOSED"):
                call()
        assert not queue.create_batch()
        queue._check()

    def test_other_threads_may_only_put(self, queue: MailboxQueue) -> None:
        """A.4."""
        for call in (
            *(queue.take, queue.try_take, queue.try_take_ignoring_deferrable, queue.has_mail),
            *(queue.create_batch, queue.try_take_from_batch, queue.quiesce, queue.close),
        ):
            with pytest.raises(RuntimeError, match="belongs to the mailbox thread"):
                elsewhere(call)
        elsewhere(lambda: queue.put(mail("a")))
        assert elsewhere(queue.size) == 1
        assert elsewhere(lambda: queue.state) is MailboxState.OPEN
        assert elsewhere(queue.is_mailbox_thread) is False
        assert queue.is_mailbox_thread()
        assert elsewhere(lambda: queue.run_exclusively(lambda: 7)) == 7
        assert names(elsewhere(queue.drain)) == "a"  # type: ignore[arg-type]

    def test_adoption(self, queue: MailboxQueue) -> None:
        queue.put(mail("a"))

        def work() -> str:
            queue.adopt()
            return taken(queue, 0)

        assert elsewhere(work) == "a"
        with pytest.raises(RuntimeError, match="belongs to the mailbox thread"):
            queue.try_take()
        queue.adopt()
        assert queue.try_take() is None

    def test_nobody_adopts_from_who_waits(self, queue: MailboxQueue) -> None:
        def adopt() -> None:
            while not queue.awaits_mail:
                pass
            with pytest.raises(RuntimeError, match="cannot change hands"):
                queue.adopt()
            queue.put(mail("a"))

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(adopt)
            assert names([queue.take(0)]) == "a"
            done.result(T)


class TestWaiting:
    def test_time_is_over(self, queue: MailboxQueue) -> None:
        queue.put(mail("a", 0))
        assert queue.take(1, 1_000_000) is None
        assert queue.take(1, 0) is None
        assert queue.take(1, -5) is None
        assert not queue.awaits_mail

    def test_mail_of_too_low_a_priority_wakes_nobody(self, queue: MailboxQueue) -> None:
        """A.3: it waits for a mail that matches."""

        def put() -> None:
            while not queue.awaits_mail:
                pass
            for name in "xyz":
                queue.put(mail(name, 0))
            assert queue.awaits_mail
            queue.put(mail("a", 1))
            queue.put(mail("b", 1))

        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(put)
            assert names([queue.take(1), queue.take(1)]) == "ab"
            done.result(T)
        assert taken(queue, 0, 0, 0, 0) == "xyz-"

    def test_signals_are_served(self, queue: MailboxQueue) -> None:
        """A handler that does not raise lets the wait go on."""
        calls: list[int] = []

        def put_behind_it() -> None:
            until(lambda: calls)
            queue.put(mail("a"))

        before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
        try:
            with ThreadPoolExecutor(2) as pool:
                pool.submit(signal_who_waits, queue)
                done = pool.submit(put_behind_it)
                assert names([queue.take(0)]) == "a"
                done.result(T)
        finally:
            signal.signal(signal.SIGALRM, before)
        assert calls == [1]

    def test_a_handler_that_raises_ends_the_wait(self, queue: MailboxQueue) -> None:
        def fail(*_: object) -> None:
            raise KeyError("alarm")

        before = signal.signal(signal.SIGALRM, fail)
        try:
            with ThreadPoolExecutor(1) as pool:
                pool.submit(signal_who_waits, queue)
                with pytest.raises(KeyError, match="alarm"):
                    queue.take(0)
        finally:
            signal.signal(signal.SIGALRM, before)
        queue.put(mail("a"))
        assert taken(queue, 0) == "a"
