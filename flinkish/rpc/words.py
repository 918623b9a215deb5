"""What the floor says and does through Python: errors, logs, bytes.

Every function here is called by ``_core/rpc_*``, which knows no error class, no log and no codec.
"""

from __future__ import annotations

import concurrent.futures
import logging
import sys
import time
import traceback
import types
from collections.abc import Callable
from typing import Any

from flinkish._core import rpc_future
from flinkish._core.rpc_calls import Procedure
from flinkish._core.rpc_inbox import Inbox
from flinkish.common.durations import to_millis
from flinkish.common.errors import (
    DeadlockError,
    EndpointNotStartedError,
    FencingTokenError,
    IllegalStateError,
    RecipientUnreachableError,
    RpcError,
    RpcTimeoutError,
    SerializationError,
    UnknownMessageError,
)
from flinkish.common.notes import add_note
from flinkish.rpc.dead_letters import DeadLetter
from flinkish.rpc.futures import RpcFuture, awaiting

__all__ = ["awaiting", "clock"]

_LOG = logging.getLogger("flinkish.rpc")
_DEPTH = 12  # frames of the call site that are kept


clock = time.monotonic_ns


# --- futures


def generic(cls: type, item: object) -> object:
    """``RpcFuture[int]``."""
    return types.GenericAlias(cls, item)


def callback_failed(callback: object, error: Exception) -> None:
    """A done callback raised."""
    _LOG.error("the callback %r of a future raised", callback, exc_info=error)


def invalid_state(future: RpcFuture[Any]) -> Exception:
    """A second result."""
    return concurrent.futures.InvalidStateError(f"{future!r} has ended; it ends once")


def cancelled(future: object) -> Exception:
    """The result of a cancelled future."""
    return concurrent.futures.CancelledError(f"{future!r}")


def wait_timed_out(future: object, seconds: float) -> Exception:
    """``result(timeout)``; the call itself goes on."""
    return concurrent.futures.TimeoutError(f"{future!r} did not end within {seconds} s")


def millis(timeout: Any) -> int:
    """A time limit in ms."""
    return to_millis(timeout, "timeout", minimum=0)


def place() -> str:
    """Where the call was made, without our own frames."""
    return "".join(traceback.format_stack(limit=_DEPTH)[:-2])


def ask_timed_out(address: str, method: str, timeout_ms: int, where: str | None) -> Exception:
    """No answer in time (Flink: E.22)."""
    error = RpcTimeoutError(
        f"Invocation of [{method}] at recipient [{address}] timed out after {timeout_ms} ms. It "
        "may have got lost, the endpoint may be busy or wait for something, or the limit is too "
        "short: look at what the endpoint does, or give more time with gateway.with_timeout(...) or the "
        "ask_timeout of the RpcService.",
        address=address,
        method=method,
        timeout_ms=timeout_ms,
    )
    if where is not None:
        add_note(error, f"The call was made here:\n{where}")
    return error


def task_timed_out(timeout_ms: int) -> Exception:
    """A ``call_async`` did not end in time (Flink: E.13)."""
    return RpcTimeoutError(
        f"the function was not called, or did not return, within {timeout_ms} ms: the main thread "
        "of the endpoint is busy",
        timeout_ms=timeout_ms,
    )


# --- calls


def not_started(inbox: Inbox, method: str) -> Exception:
    """The endpoint is stopped (Flink: E.1)."""
    return EndpointNotStartedError(
        f"Discard message {method!r}: the endpoint {inbox.home.address_of(inbox.name)} has not "
        "been started, or is stopped; call its start()"
    )


def unreachable(inbox: Inbox, method: str) -> Exception:
    """The endpoint has ended (Flink: E.23)."""
    return RecipientUnreachableError(
        f"{method!r} cannot be delivered: the endpoint {inbox.home.address_of(inbox.name)} has "
        "ended; connect to its successor"
    )


def fence_mismatch(inbox: Inbox, token: object, method: str) -> Exception:
    """One side is fenced, the other one not (Flink: E.26)."""
    address = inbox.home.address_of(inbox.name)
    if token is None:
        return UnknownMessageError(
            f"{method!r} came without a fencing token to the fenced endpoint {address}: connect "
            "with service.connect(address, Gateway, token)"
        )
    return UnknownMessageError(
        f"{method!r} came with the fencing token {token!r} to {address}, which is not fenced: "
        "connect without a token"
    )


def wrong_token(inbox: Inbox, found: str, method: str) -> Exception:
    """The caller belongs to another leader's time (Flink: E.26)."""
    return FencingTokenError(
        f"Fencing token mismatch: {method!r} came to {inbox.home.address_of(inbox.name)} with the "
        f"token {found}, and the endpoint's is {inbox.token!r}. The caller is out of date, or too "
        "early; it has to find out who leads now",
        expected=repr(inbox.token),
        found=found,
    )


def undecodable(procedure: Procedure, cause: Exception) -> Exception:
    """Arguments came that are not those of the method."""
    error = RpcError(
        f"Could not deserialize the arguments of {procedure.gateway}.{procedure.name}: {cause}. "
        "Caller and endpoint declare different parameters"
    )
    error.__cause__ = cause
    return error


def forked(inbox: Inbox) -> Exception:
    """A child process has no threads of its parent."""
    return IllegalStateError(
        f"the service {inbox.home.name!r} was made before a fork, in the parent process, and its "
        "threads are not here: make a new RpcService in this process"
    )


def dead_letter(inbox: Inbox, method: str, error: Exception, told: bool) -> None:
    """Count a call that was not delivered; a sender who asked gets the error."""
    reason = f"{type(error).__name__}: {error}"
    inbox.home.dead_letters.add(DeadLetter(inbox.name, method, reason, told))
    _LOG.log(logging.INFO if told else logging.DEBUG, "%s", error)


def tell_failed(inbox: Inbox, method: str, error: BaseException) -> None:
    """A tell raised, and nobody waits for an answer (Flink: E.15)."""
    _LOG.error("%s of endpoint %r, called by a tell, raised", method, inbox.name, exc_info=error)


def task_failed(inbox: Inbox, function: object, error: Exception) -> None:
    """``run_async`` (Flink: E.13)."""
    _LOG.error("%r, run in endpoint %r, raised", function, inbox.name, exc_info=error)


def task_discarded(inbox: Inbox, function: object, future: RpcFuture[Any] | None) -> None:
    """A function came to an endpoint that does not run (Flink: E.12)."""
    name = getattr(function, "__qualname__", None) or repr(function)
    error = unreachable(inbox, name) if inbox.life_code == 3 else not_started(inbox, name)
    inbox.home.dead_letters.add(
        DeadLetter(inbox.name, name, f"{type(error).__name__}: {error}", future is None)
    )
    if future is None:
        _LOG.warning("%s was not run: %s", name, error)
    elif not future.done():
        future.set_exception(error)


def endpoint_failed(inbox: Inbox, error: BaseException) -> None:
    """Something that no endpoint survives (Flink: E.29)."""
    inbox.home.endpoint_failed(inbox, error)


def deadlock(mine: Inbox, other: Inbox, method: str) -> Exception:
    """A blocking ask that could never end."""
    if mine is other:
        return DeadlockError(
            f"{method!r} would wait, in the main thread of endpoint {mine.name!r}, for an answer "
            "that only this thread can give. Call the method on self instead, or declare it "
            "`-> Future[T]` and go on in a callback"
        )
    return DeadlockError(
        f"{method!r} would wait, in the main thread of endpoint {mine.name!r}, for endpoint "
        f"{other.name!r}, which itself waits for {mine.name!r}: neither would ever answer. "
        "Declare the method `-> Future[T]` and go on in a callback"
    )


def blocking_failed(method: str, address: str, cause: BaseException | None) -> Exception:
    """The failure of a method `-> T`, with its cause (Flink: E.15)."""
    text = (
        f"Failure while obtaining synchronous RPC result. [{method}] at [{address}]: "
        f"{type(cause).__name__}: {cause}"
    )
    error: RpcError
    if isinstance(cause, RpcTimeoutError):
        error = RpcTimeoutError(text, address=address, method=method, timeout_ms=cause.timeout_ms)
    else:
        error = RpcError(text)
    error.__cause__ = cause
    return error


# --- bytes


def encode(procedure: Procedure, arguments: tuple[Any, ...], address: str) -> bytes:
    """The arguments of a call, in the caller (Flink: E.19)."""
    encode_arguments: Callable[[tuple[Any, ...]], bytes] = procedure.encode_arguments
    try:
        return encode_arguments(arguments)
    except Exception as error:
        raise SerializationError(
            f"the arguments of {procedure.gateway}.{procedure.name} cannot be sent to {address}: "
            f"{error}",
            path=f"{procedure.gateway}.{procedure.name}",
        ) from error


def encode_result(procedure: Procedure, result: Any) -> bytes:
    """A result (Flink: E.20)."""
    try:
        encoded: bytes = procedure.encode_result(result)
    except Exception as error:
        raise RpcError(
            f"Failed to serialize the result of {procedure.gateway}.{procedure.name}, "
            f"{type(result).__name__}: {error}"
        ) from error
    return encoded


def decode_result(procedure: Procedure, payload: Any, address: str) -> Any:
    """A result that arrived (Flink: E.21)."""
    try:
        return procedure.decode_result(payload)
    except Exception as error:
        raise RpcError(
            f"Could not deserialize the result of [{procedure.name}] at [{address}]: {error}. The "
            "two sides declare different results"
        ) from error


def through_bytes(procedure: Procedure, result: Any, address: str) -> Any:
    """A result as another process would get it (Flink: E.18)."""
    return decode_result(procedure, encode_result(procedure, result), address)


def service_closed(name: str) -> Exception:
    """What becomes of asks that are unanswered when their service ends."""
    return RecipientUnreachableError(f"service {name!r} was closed before the answer came")


rpc_future.equip(sys.modules[__name__], clock)
