"""The errors of flinkish: one tree under :class:`FlinkishError`, with Flink's names.

A message says what was found, what was needed and what to do; the figures in it are also
attributes, so that a program need not parse it.  Errors of wrong arguments are also
``ValueError`` or ``TypeError``.  All can be pickled, with their attributes, since they cross
from Spark's workers to the driver.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from flinkish.common._root_error import FlinkishError
from flinkish.common._rpc_errors import (
    BackPressureError,
    ConnectionLostError,
    EndpointNotStartedError,
    FencingTokenError,
    FrameError,
    FrameTooLargeError,
    HandshakeError,
    RecipientUnreachableError,
    RemoteError,
    RpcConnectionError,
    RpcError,
    RpcInvalidStateError,
    RpcTimeoutError,
    UnknownMessageError,
)
from flinkish.common.stacks import stack_of

__all__ = [
    "ArgumentTypeError",
    "AsyncTimeoutError",
    "BackPressureError",
    "CancelTaskError",
    "CheckpointError",
    "CheckpointStorageError",
    "ConnectionLostError",
    "CorruptStateError",
    "DeadlockError",
    "EndpointNotStartedError",
    "FencingTokenError",
    "FlinkishError",
    "FrameError",
    "FrameTooLargeError",
    "FutureTimeoutError",
    "HandshakeError",
    "IllegalArgumentError",
    "IllegalStateError",
    "IncompatibleStateError",
    "JobCancellationError",
    "JobExecutionError",
    "MailboxClosedError",
    "MailboxTimeoutError",
    "MissingDependencyError",
    "NullKeyError",
    "RecipientUnreachableError",
    "RejectedExecutionError",
    "RemoteError",
    "RpcConnectionError",
    "RpcError",
    "RpcInvalidStateError",
    "RpcTimeoutError",
    "SchemaMismatchError",
    "SerializationError",
    "StateError",
    "StateMigrationError",
    "TaskCancellationError",
    "TimestampError",
    "UnknownColumnError",
    "UnknownMessageError",
    "UnsupportedOperationError",
    "UserFunctionError",
]


class IllegalStateError(FlinkishError, RuntimeError):
    """The call is right, the moment is wrong: a state read before ``open``, a closed harness."""


class UnsupportedOperationError(FlinkishError, RuntimeError):
    """This object cannot do that at all: a timer in a context without a key.

    As in Flink's ProcessOperator.
    """


class IllegalArgumentError(FlinkishError, ValueError):
    """An argument has a value that cannot be used."""


class ArgumentTypeError(IllegalArgumentError, TypeError):
    """An argument has the wrong type.  Flink knows only one error for both, so this is both."""


class UnknownColumnError(IllegalArgumentError):
    """A column was named that the data does not have.

    ``column`` is what was asked for, ``available`` what there is.
    """

    def __init__(self, message: str, *, column: str = "", available: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.column = column
        self.available = tuple(available)


class NullKeyError(IllegalArgumentError):
    """A row has no key, by which its task is chosen (Flink: KeyGroupRangeAssignment).

    ``value`` is the row, ``column`` the key column if the key comes from one.
    """

    def __init__(self, message: str, *, value: Any = None, column: str | None = None) -> None:
        super().__init__(message)
        self.value = value
        self.column = column


class TimestampError(IllegalArgumentError):
    """A timestamp is missing, of the wrong type, or outside of 64 bits of milliseconds."""


class SchemaMismatchError(IllegalArgumentError):
    """A value does not fit the schema that was declared for it.

    ``value`` is what the function returned, ``schema`` the declaration, as DDL.
    """

    def __init__(self, message: str, *, value: Any = None, schema: str | None = None) -> None:
        super().__init__(message)
        self.value = value
        self.schema = schema


class SerializationError(FlinkishError):
    """Something cannot be turned into bytes, or back.

    ``path`` says which part of it, for instance the attribute of a function that keeps it from
    being pickled: ``"DeadManSwitch.client"``.
    """

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


class StateError(FlinkishError):
    """State could not be read or restored."""


class IncompatibleStateError(StateError):
    """State was written by a job that differs in a way that cannot be bridged.

    ``setting`` names the difference (``"max_parallelism"``), ``was`` is the value the state was
    written with, ``now`` the value of this job.
    """

    def __init__(
        self, message: str, *, setting: str | None = None, was: Any = None, now: Any = None
    ) -> None:
        super().__init__(message)
        self.setting = setting
        self.was = was
        self.now = now


class StateMigrationError(IncompatibleStateError):
    """A state keeps its name but has another kind or type than when it was written."""


class CorruptStateError(StateError):
    """Bytes of state are damaged, or are not ours; nothing of them was used.

    ``version`` is the format version they claim, ``key_group`` the key group they were read
    for, ``checksum`` the checksum found in them; each is None where it is unknown.  What is
    known is added to the message.
    """

    def __init__(
        self,
        message: str,
        *,
        version: int | None = None,
        key_group: int | None = None,
        checksum: int | None = None,
    ) -> None:
        facts = []
        if version is not None:
            facts.append(f"format version {version}")
        if key_group is not None:
            facts.append(f"key group {key_group}")
        if checksum is not None:
            facts.append(f"checksum {checksum:#010x}")
        super().__init__(f"{message} ({', '.join(facts)})" if facts else message)
        self.version = version
        self.key_group = key_group
        self.checksum = checksum


class UserFunctionError(FlinkishError):
    """A user function raised, or returned what it must not; its own error is the ``__cause__``.

    ``function`` is the name of its class, ``method`` the method that was called, ``key`` the
    key it was called for.
    """

    def __init__(
        self,
        message: str,
        *,
        function: str | None = None,
        method: str | None = None,
        key: Any = None,
    ) -> None:
        super().__init__(message)
        self.function = function
        self.method = method
        self.key = key


class MissingDependencyError(FlinkishError, ImportError):
    """A package that a feature needs is not installed.

    ``module`` is what could not be imported, ``extra`` the extra of flinkish that brings it.
    """

    def __init__(self, message: str, *, module: str | None = None, extra: str | None = None):
        super().__init__(message)
        self.module = module
        self.extra = extra

    @classmethod
    def of(cls, module: str, *, feature: str, extra: str | None = None) -> MissingDependencyError:
        """The error with its usual message: what needs ``module``, and how to install it."""
        remedy = f"pip install 'flinkish[{extra}]'" if extra else f"pip install {module}"
        message = f"{feature} needs the package {module}, which cannot be imported: {remedy}"
        return cls(message, module=module, extra=extra)


class CheckpointStorageError(FlinkishError, OSError):
    """Checkpoints cannot be kept where they should be; ``path`` is the directory."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path


class RejectedExecutionError(IllegalStateError):
    """Work was handed to something that is closed and takes no more."""


class DeadlockError(IllegalStateError):
    """Two threads wait for each other; one of them was kept from it, and got this."""


class FutureTimeoutError(FlinkishError, TimeoutError):
    """A future was not done when the time of its DelayedFuture was over (Kafka: DelayedFuture)."""


class MailboxClosedError(IllegalStateError):
    """A mailbox that is quiesced takes in no mail, and one that is closed gives out none."""


class MailboxTimeoutError(FlinkishError, TimeoutError):
    """No mail came while somebody waited for it."""


class CheckpointError(FlinkishError):
    """A checkpoint did not come about.

    ``reason`` is the name of a CheckpointFailureReason, ``checkpoint_id`` the checkpoint, None if
    it did not get as far as an id.
    """

    def __init__(
        self, message: str, *, reason: str | None = None, checkpoint_id: int | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.checkpoint_id = checkpoint_id


class CancelTaskError(FlinkishError):
    """The task was cancelled; raised where a source goes on emitting, or an operator yields."""


class TaskCancellationError(FlinkishError, TimeoutError):
    """A source function did not return after ``cancel``; ``stack`` says where its thread was."""

    def __init__(self, message: str, *, stack: str = "") -> None:
        super().__init__(message)
        self.stack = stack

    @classmethod
    def of(cls, source: str, thread: threading.Thread, timeout_ms: int) -> TaskCancellationError:
        """The error for a source whose thread still runs after this time."""
        stack = stack_of(thread.ident)
        return cls(
            f"{source} did not return from run within {timeout_ms} ms after cancel(); its thread "
            "is left behind. Let run() look at what cancel() sets, and wait with time-outs. It was "
            f"here:\n{stack}",
            stack=stack,
        )


class JobExecutionError(FlinkishError):
    """A job has failed; the failure of its task is the ``__cause__``."""


class JobCancellationError(JobExecutionError):
    """A job was cancelled, so it has no result."""


class AsyncTimeoutError(FlinkishError, TimeoutError):
    """A call, with all its retries, was not done when its time was over.

    As in Flink's AsyncWaitOperator.
    """


# Last in this file: tracebacks and pickles name the place that users know.
for _name in __all__:
    globals()[_name].__module__ = __name__
