"""Mailboxes: one thread, two threads, deep ones, the loop; peers measured beside them.

Figures are seconds for all ``MAILS`` (or ``ROUNDS``): divide to get the cost of one.  Where two
threads work, pin the run to one core or leave it two, and say which: waking a thread on another
core costs what the machine's idle states cost.
"""

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from flinkish.mailbox import Mail, MailboxController, MailboxProcessor, TaskMailbox

MAILS = 200_000
ROUNDS = 5_000
DEPTH = 100_000


def nothing() -> None:
    pass


class _Bench:
    number = 1
    repeat = (5, 15, 10.0)
    warmup_time = 0


class MailboxOneThread(_Bench):
    """Put and take on the same thread, one by one."""

    def setup(self) -> None:
        self.mail = Mail(nothing, 0, "a mail")
        self.high = Mail(nothing, 5, "a mail")
        self.mailbox = TaskMailbox()
        self.deep = TaskMailbox()
        for _ in range(DEPTH):
            self.deep.put(self.mail)
        self.queue: SimpleQueue[Mail] = SimpleQueue()

    def time_put_and_try_take(self) -> None:
        put, try_take, mail = self.mailbox.put, self.mailbox.try_take, self.mail
        for _ in range(MAILS):
            put(mail)
            try_take()

    def time_simple_queue(self) -> None:
        """The peer: no priorities, no states, no owner."""
        put, get, mail = self.queue.put, self.queue.get_nowait, self.mail
        for _ in range(MAILS):
            put(mail)
            get()

    def time_put_and_take_by_priority_behind_100_000(self) -> None:
        put, try_take, mail = self.deep.put, self.deep.try_take, self.high
        for _ in range(MAILS):
            put(mail)
            try_take(5)


class MailboxTwoThreads(_Bench):
    """One thread puts, this one takes."""

    def _with(self, work: Callable[[], Any], main: Callable[[], Any]) -> None:
        thread = threading.Thread(target=work)
        thread.start()
        main()
        thread.join()

    def time_pipeline_with_batches(self) -> None:
        mailbox = TaskMailbox()
        mail = Mail(nothing, 0, "a mail")

        def put() -> None:
            send = mailbox.put
            for _ in range(MAILS):
                send(mail)

        def take() -> None:
            taken = 0
            take_one = mailbox.try_take_from_batch
            while taken < MAILS:
                if not mailbox.create_batch():
                    mailbox.take()
                    taken += 1
                while take_one() is not None:
                    taken += 1
            assert taken == MAILS

        self._with(put, take)

    def time_pipeline_of_simple_queue(self) -> None:
        queue: SimpleQueue[object] = SimpleQueue()

        def put() -> None:
            send = queue.put
            for _ in range(MAILS):
                send(nothing)

        def take() -> None:
            for _ in range(MAILS):
                queue.get()

        self._with(put, take)

    def time_ping_pong(self) -> None:
        here, mail = TaskMailbox(), Mail(nothing, 0, "a mail")
        there: list[TaskMailbox] = []
        made = threading.Event()

        def answer() -> None:
            own = TaskMailbox()
            there.append(own)
            made.set()
            for _ in range(ROUNDS):
                own.take()
                here.put(mail)

        def ask() -> None:
            made.wait()
            other = there[0]
            for _ in range(ROUNDS):
                other.put(mail)
                here.take()

        self._with(answer, ask)

    def time_ping_pong_of_eventfds(self) -> None:
        """The peer: the kernel's own pair."""
        first, second = os.eventfd(0), os.eventfd(0)

        def answer() -> None:
            for _ in range(ROUNDS):
                os.eventfd_read(first)
                os.eventfd_write(second, 1)

        def ask() -> None:
            for _ in range(ROUNDS):
                os.eventfd_write(first, 1)
                os.eventfd_read(second)

        self._with(answer, ask)
        os.close(first)
        os.close(second)

    def time_ping_pong_of_simple_queues(self) -> None:
        first: SimpleQueue[None] = SimpleQueue()
        second: SimpleQueue[None] = SimpleQueue()

        def answer() -> None:
            for _ in range(ROUNDS):
                first.get()
                second.put(None)

        def ask() -> None:
            for _ in range(ROUNDS):
                first.put(None)
                second.get()

        self._with(answer, ask)


class MailboxLoop(_Bench):
    """The loop of the mailbox thread."""

    def time_default_action(self) -> None:
        """``MAILS`` turns with an action that counts down."""
        left = MAILS

        def action(controller: MailboxController) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                controller.all_actions_completed()

        MailboxProcessor(action).run_mailbox_loop()

    def time_default_action_called_by_hand(self) -> None:
        """What Python takes for the same calls without a loop around them."""
        left = MAILS

        def action(controller: None) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                return

        for _ in range(MAILS):
            action(None)

    def time_execute_into_a_busy_loop(self) -> None:
        run = 0
        started = threading.Event()

        def mail() -> None:
            nonlocal run
            run += 1

        def action(controller: MailboxController) -> None:
            if not started.is_set():
                started.set()
            elif run == MAILS:
                controller.all_actions_completed()

        processor = MailboxProcessor(action)
        execute = processor.get_mailbox_executor(0).execute

        def put() -> None:
            started.wait()
            for _ in range(MAILS):
                execute(mail, "a mail")

        thread = threading.Thread(target=put)
        thread.start()
        processor.run_mailbox_loop()
        thread.join()

    def time_suspend_and_resume_on_the_mailbox_thread(self) -> None:
        left = MAILS

        def action(controller: MailboxController) -> None:
            nonlocal left
            controller.suspend_default_action().resume()
            left -= 1
            if left == 0:
                controller.all_actions_completed()

        MailboxProcessor(action).run_mailbox_loop()
