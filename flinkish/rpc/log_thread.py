"""The thread that hands RPC's log records to the program's handlers.

A handler is the program's code: it may be slow, wait for an endpoint, or never return.

Invariants:
    L1  No handler is called on a thread that RPC depends on, nor under a lock of RPC.  Whether a
        logger is enabled is asked on the thread of the event; texts are made on the log thread,
        since the ``repr`` of an argument may be the program's code, too.
    L2  Handlers get records in the order of the events.  At most ``MOST`` records wait: one that
        comes then is counted, and the log thread says how many were left out.
    L3  A forked child has no log thread.  It begins anew, without the records of its parent.
    L4  At exit the interpreter waits at most ``PATIENCE`` seconds for the records that are left.

Threading: all methods are for all threads.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import traceback
from collections import deque
from time import monotonic

__all__ = ["LOG_THREAD", "LateLogger", "LogThread"]

MOST = 10_000  # records that wait
IDLE = 0.5  # seconds after which the thread ends
PATIENCE = 2.0  # seconds at exit


class LogThread:
    """Calls the handlers of loggers, record by record."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._records: deque[tuple[logging.Logger, logging.LogRecord]] = deque()
        self._left_out = 0
        self._running = False  # a thread takes records, or has taken one
        self._handling = False

    def put(self, logger: logging.Logger, record: logging.LogRecord) -> None:
        """Have the logger's handlers called with a record."""
        with self._changed:
            if len(self._records) >= MOST:
                self._left_out += 1
                return
            self._records.append((logger, record))
            if self._running:
                self._changed.notify_all()
                return
            self._running = True
        try:
            threading.Thread(target=self._run, name="flinkish-rpc-log", daemon=True).start()
        except RuntimeError:  # no thread can be had: the next record tries again
            with self._changed:
                self._running = False

    def flush(self, timeout: float = PATIENCE) -> bool:
        """Wait until the handlers have had all records; False if they need longer."""
        end = monotonic() + timeout
        with self._changed:
            while self._records or self._handling:
                # The thread could not be started, or has not begun.
                if not self._running or not self._changed.wait(max(0.0, end - monotonic())):
                    return False
        return True

    def _run(self) -> None:
        while (found := self._next()) is not None:
            logger, record = found
            try:
                logger.handle(record)
            except Exception:
                if logging.raiseExceptions and sys.stderr is not None:
                    traceback.print_exc()
            del found, record

    def _next(self) -> tuple[logging.Logger, logging.LogRecord] | None:
        with self._changed:
            self._handling = False
            self._changed.notify_all()
            if not self._records and not self._left_out:
                self._changed.wait_for(lambda: self._records, IDLE)
            if not self._records and not self._left_out:
                self._running = False
                return None
            self._handling = True
            if self._left_out and len(self._records) < MOST:
                return self._note()
            return self._records.popleft()

    def _note(self) -> tuple[logging.Logger, logging.LogRecord]:
        """Under the lock: a record of those that were left out."""
        left_out, self._left_out = self._left_out, 0
        logger = logging.getLogger("flinkish.rpc")
        message = "%d log records were left out: the program's log handlers are too slow"
        return logger, logger.makeRecord(
            logger.name, logging.WARNING, __file__, 0, message, (left_out,), None
        )

    def forked(self) -> None:
        """In the child, which has no log thread (L3)."""
        self._reset()


LOG_THREAD = LogThread()
atexit.register(LOG_THREAD.flush)
os.register_at_fork(after_in_child=LOG_THREAD.forked)


class LateLogger:
    """The methods of a logger, for threads that must not run its handlers."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def log(
        self, level: int, message: str, *args: object, exc_info: BaseException | None = None
    ) -> None:
        """Log a message, as ``logging.Logger.log``, on the log thread."""
        self._put(level, message, args, exc_info)

    def debug(self, message: str, *args: object) -> None:
        """Log with the level DEBUG."""
        self._put(logging.DEBUG, message, args)

    def warning(self, message: str, *args: object) -> None:
        """Log with the level WARNING."""
        self._put(logging.WARNING, message, args)

    def error(self, message: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Log with the level ERROR, with the traceback of an error if one is given."""
        self._put(logging.ERROR, message, args, exc_info)

    def exception(self, message: str, *args: object) -> None:
        """Log the error that is being handled, with the level ERROR."""
        self._put(logging.ERROR, message, args, sys.exc_info()[1])

    def _put(
        self,
        level: int,
        message: str,
        args: tuple[object, ...],
        error: BaseException | None = None,
    ) -> None:
        logger = self._logger
        if logger.isEnabledFor(level):
            trace = None if error is None else (type(error), error, error.__traceback__)
            file, line, function, _ = logger.findCaller(stacklevel=3)
            record = logger.makeRecord(
                logger.name, level, file, line, message, args, trace, function
            )
            LOG_THREAD.put(logger, record)
