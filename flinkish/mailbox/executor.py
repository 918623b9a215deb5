"""Handing work to the mailbox thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from flinkish._core.mailbox.mailbox import MailboxLoop, MailExecutor, MailOptions
from flinkish.common.errors import ArgumentTypeError, RejectedExecutionError
from flinkish.mailbox.action_executor import StreamTaskActionExecutor
from flinkish.mailbox.task_mailbox import TaskMailbox

__all__ = ["MailboxExecutor", "MailboxFuture"]

T = TypeVar("T")


class MailboxFuture(Future[T]):
    """The result of a submitted function; asyncio code may ``await`` it.

    Cancelling it before its mail runs keeps the function from being called.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        super().__init__()
        self._function: Callable[[], T] | None = function

    def __call__(self) -> None:
        """Call the function, on the mailbox thread, and keep what it returns or raises.

        KeyboardInterrupt and SystemExit are kept and raised here as well.
        """
        function, self._function = self._function, None
        if function is None or not self.set_running_or_notify_cancel():
            return
        try:
            result = function()
        except BaseException as error:
            self.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            self.set_result(result)

    def __await__(self) -> Generator[Any, None, T]:
        """Wait for it in the running event loop."""
        from asyncio import wrap_future

        return wrap_future(self).__await__()


class MailboxExecutor(MailExecutor):
    """Lets the mailbox thread call functions, as mails of one priority.

    ``execute`` and ``submit`` are for any thread.  The yielding methods and ``should_interrupt``
    belong to the mailbox thread; with them an operator that must wait lets mails of its own
    priority and above run meanwhile.

    Commands are called by ``action_executor``; ``loop`` is asked by ``is_idle``.
    """

    rejected_error = RejectedExecutionError
    async_error = ArgumentTypeError

    def __init__(
        self,
        mailbox: TaskMailbox,
        priority: int,
        action_executor: StreamTaskActionExecutor | None = None,
        loop: MailboxLoop | None = None,
    ) -> None:
        # Without an executor the compiled code calls the command itself.
        immediate = type(action_executor) is StreamTaskActionExecutor
        super().__init__(mailbox, priority, None if immediate else action_executor, loop)

    def submit(
        self,
        function: Callable[[], T],
        description: object = None,
        *,
        options: MailOptions | None = None,
        description_args: Iterable[object] | None = None,
    ) -> MailboxFuture[T]:
        """Let the mailbox thread call ``function()``; the future gets what comes of it.

        An error goes to the future alone, the loop goes on (Flink: MailboxExecutorImpl).  ``close``
        of the processor cancels the future (Flink: MailboxProcessor).  ArgumentTypeError for an
        async function: nobody here would await its coroutine.  Other parameters and errors as of
        ``execute``.
        """
        if not callable(function):
            raise ArgumentTypeError(
                f"submit needs something callable without arguments, not {type(function).__name__}"
            )
        if iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__):
            raise ArgumentTypeError(
                f"submit calls {getattr(function, '__qualname__', function)!r} on the mailbox "
                "thread, which runs no event loop, so that an async function would only return a "
                "coroutine that nobody awaits; submit a plain function, or run the coroutine in a "
                "loop of yours and submit what is to be done with its result"
            )
        if description is None:
            description = getattr(function, "__qualname__", function)
        future = MailboxFuture(function)
        self.execute(future, description, options=options, description_args=description_args)
        return future
