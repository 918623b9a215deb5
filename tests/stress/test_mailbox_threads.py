"""Real threads on one mailbox: nothing is lost, order is kept, no wake-up is missed.

Why no wake-up can be lost is written down as Q4 in ``mailbox.pxd``; these tests look for it.
"""

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from flinkish.common.errors import MailboxClosedError, RejectedExecutionError
from flinkish.mailbox import Mail, MailboxProcessor, MailOptions, TaskMailbox

pytestmark = pytest.mark.stress

PRODUCERS = 10
T = 600.0  # s, for what must not hang


def nothing() -> None:
    pass


def mail_of(producer: int, number: int, priority: int = 0) -> Mail:
    return Mail(nothing, priority, (producer, number).__repr__)


class Numbered(Mail):
    """A mail that knows whose and which it is."""

    producer = number = 0


def numbered(producer: int, number: int, priority: int, options: MailOptions) -> Numbered:
    mail = Numbered(nothing, priority, options=options)
    mail.producer, mail.number = producer, number
    return mail


def in_threads(work: Callable[[int], object], threads: int, main: Callable[[], object]) -> None:
    """`work(i)` on each thread and `main` on this one, all from the same moment on."""
    start = threading.Barrier(threads + 1)

    def run(i: int) -> None:
        start.wait(T)
        work(i)

    with ThreadPoolExecutor(threads) as pool:
        done = [pool.submit(run, i) for i in range(threads)]
        start.wait(T)
        main()
        for future in done:
            future.result(T)


@pytest.mark.parametrize("batches", [True, False])
def test_nothing_is_lost_and_each_producer_keeps_its_order(batches: bool) -> None:
    """A.5, a hundred times as many: ten producers with 100,000 mails each."""
    each = 100_000
    mailbox = TaskMailbox()
    mails = [[mail_of(p, n) for n in range(1_000)] for p in range(PRODUCERS)]
    owner_of = {id(mail): (p, n) for p, row in enumerate(mails) for n, mail in enumerate(row)}

    def put(producer: int) -> None:
        row = mails[producer]
        for number in range(each):
            mailbox.put(row[number % 1_000])

    def take() -> None:
        next_of = [0] * PRODUCERS
        left = PRODUCERS * each
        while left:
            found: Mail | None = mailbox.take()
            while found is not None:
                producer, number = owner_of[id(found)]
                assert number == next_of[producer] % 1_000
                next_of[producer] += 1
                left -= 1
                if batches and left and not next_of[producer] % 100:
                    mailbox.create_batch()
                found = mailbox.try_take_from_batch() if batches else mailbox.try_take()
        assert next_of == [each] * PRODUCERS

    in_threads(put, PRODUCERS, take)
    assert mailbox.size() == 0
    mailbox._check()


def test_priorities_and_options_keep_their_order() -> None:
    """Of one producer, mails of one option and priority come in their order; none twice."""
    each = 10_000
    mailbox = TaskMailbox()
    taken: list[Numbered] = []

    def put(producer: int) -> None:
        chance = random.Random(producer)
        for number in range(each):
            options = chance.choice(list(MailOptions))
            mailbox.put(numbered(producer, number, chance.randrange(4), options))

    def take() -> None:
        chance = random.Random(99)
        while len(taken) < PRODUCERS * each:
            if chance.random() < 0.1:
                mailbox.create_batch()
            kinds = [
                lambda: mailbox.try_take(chance.randrange(-1, 4)),
                lambda: mailbox.try_take_ignoring_deferrable(chance.randrange(-1, 4)),
                mailbox.try_take_from_batch,
                lambda: mailbox.take(-1, 50) if mailbox.has_mail() else None,
            ]
            found = chance.choice(kinds)()
            if found is not None:
                assert isinstance(found, Numbered)
                taken.append(found)

    in_threads(put, PRODUCERS, take)
    mailbox._check()
    assert len({(m.producer, m.number) for m in taken}) == PRODUCERS * each
    latest: dict[tuple[object, ...], int] = {}
    for mail in taken:
        lane = (mail.producer, mail.options, mail.original_priority)
        assert latest.get(lane, -1) < mail.number
        latest[lane] = mail.number


def test_no_wake_up_is_lost() -> None:
    """Two threads answer each other: every put meets a taker about to sleep, or just asleep."""
    rounds = 50_000
    here = TaskMailbox()
    there: list[TaskMailbox] = []
    mail = Mail(nothing, 0)
    made = threading.Event()

    def answer(_: int) -> None:
        there.append(TaskMailbox())
        made.set()
        for _ in range(rounds):
            there[0].take(0, 300_000)
            here.put(mail)

    def ask() -> None:
        assert made.wait(T)
        for _ in range(rounds):
            there[0].put(mail)
            assert here.take(0, 300_000) is mail

    in_threads(answer, 1, ask)
    # A lost one would only have delayed its take, to the next slice of the wait; `_check` knows.
    here._check()
    there[0]._check()


def test_a_wake_up_is_for_a_mail_that_matches() -> None:
    """Mails of other priorities neither end a wait nor hide the one that does."""
    rounds = 3_000
    mailbox = TaskMailbox()
    taken = [0]

    def put(producer: int) -> None:
        if producer:
            for _ in range(rounds):
                mailbox.put(Mail(nothing, producer))
        else:
            for number in range(rounds):
                while taken[0] < number:
                    pass
                mailbox.put(Mail(nothing, 9))

    def take() -> None:
        for number in range(1, rounds + 1):
            assert mailbox.take(9, 300_000).priority == 9
            taken[0] = number

    in_threads(put, 3, take)
    assert len(mailbox.drain()) == 2 * rounds
    mailbox._check()


@pytest.mark.parametrize("end", ["quiesce", "close"])
def test_putters_hear_of_the_end(end: str) -> None:
    """A.18: each mail is either refused or there in the end; A.16, A.17."""
    for turn in range(30):
        mailbox = TaskMailbox()
        accepted = [0] * 4

        def put(producer: int, mailbox: TaskMailbox = mailbox, accepted: list[int] = accepted):
            try:
                while True:
                    mailbox.put(Mail(nothing, producer))
                    accepted[producer] += 1
            except MailboxClosedError:
                pass

        left: list[Mail] = []

        def finish(
            mailbox: TaskMailbox = mailbox, left: list[Mail] = left, turn: int = turn
        ) -> None:
            while mailbox.size() < turn * 3:
                pass
            mailbox.quiesce() if end == "quiesce" else left.extend(mailbox.close())

        in_threads(put, 4, finish)
        left += mailbox.drain()
        assert len(left) == sum(accepted)
        mailbox._check()


def test_exclusion_holds_against_putters() -> None:
    """A.19: what is put within one `run_exclusively` lies together."""
    mailbox = TaskMailbox()
    rounds = 300

    def put(producer: int) -> None:
        for number in range(rounds):
            if producer % 2:
                mailbox.put(numbered(producer, number, 0, MailOptions.DEFAULT))
            else:
                mailbox.run_exclusively(
                    lambda number=number: [
                        mailbox.put(numbered(producer, number, 0, MailOptions.DEFAULT))
                        for _ in range(5)
                    ]
                )

    in_threads(put, 4, nothing)
    left = mailbox.close()
    assert len(left) == 2 * rounds + 2 * 5 * rounds
    position = 0
    while position < len(left):
        first = left[position]
        assert isinstance(first, Numbered)
        size = 1 if first.producer % 2 else 5
        group = left[position : position + size]
        assert {(m.producer, m.number) for m in group} == {(first.producer, first.number)}  # type: ignore[attr-defined]
        position += size


def test_taking_from_who_excludes_others() -> None:
    """The owner waits, now for mail and now for its turn."""
    each = 3_000
    mailbox = TaskMailbox()

    def put(producer: int) -> None:
        for _ in range(each):
            mailbox.run_exclusively(lambda: mailbox.put(Mail(nothing, producer)))

    def take() -> None:
        for _ in range(3 * each):
            mailbox.take(-1, 300_000)

    in_threads(put, 3, take)
    mailbox._check()


def test_a_busy_loop_serves_all_executors() -> None:
    """A.5 through executors: all mails run, each producer's in order, while the action is busy."""
    each = 10_000
    runs: list[list[int]] = [[] for _ in range(PRODUCERS)]
    processor = MailboxProcessor(
        lambda c: c.all_actions_completed() if all(len(r) == each for r in runs) else None
    )

    def execute(producer: int) -> None:
        executor = processor.get_mailbox_executor(producer)
        row = runs[producer]
        for number in range(each):
            executor.execute(lambda number=number: row.append(number))

    in_threads(execute, PRODUCERS, processor.run_mailbox_loop)
    assert runs == [list(range(each))] * PRODUCERS


def test_submitters_race_with_close() -> None:
    """A.27: every future that was accepted ends; none hangs."""
    for _ in range(30):
        processor = MailboxProcessor(lambda _: None)
        executor = processor.main_mailbox_executor
        futures: list[object] = []

        def submit(_: int, executor=executor, futures=futures) -> None:
            try:
                for _ in range(500):
                    futures.append(executor.submit(nothing))
            except RejectedExecutionError:
                pass

        def close(processor: MailboxProcessor = processor) -> None:
            for _ in range(20):
                processor.run_mailbox_step()
            processor.close()

        in_threads(submit, 3, close)
        assert all(future.done() for future in futures)  # type: ignore[attr-defined]
