"""The parts of the compiled floor that are Python: errors, logs, bytes.

Every function here is called by ``_core/rpc``, which knows no error class, no log and no codec.
"""

from __future__ import annotations

import concurrent.futures
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from flinkish._core.rpc import future as rpc_future
from flinkish._core.rpc.calls import Procedure
from flinkish._core.rpc.inbox import Inbox
from flinkish.common.durations import to_millis
from flinkish.common.errors import (
    ConnectionLostError,
    DeadlockError,
    EndpointNotStartedError,
    FencingTokenError,
    FrameError,
    FrameTooLargeError,
    IllegalStateError,
    RecipientUnreachableError,
    RpcConnectionError,
    RpcError,
    RpcTimeoutError,
    SerializationError,
    UnknownMessageError,
    UnsupportedOperationError,
)
from flinkish.common.notes import add_note
from flinkish.rpc.callbacks import CALLBACKS
from flinkish.rpc.coroutines import start_coroutine
from flinkish.rpc.dead_letters import DeadLetter
from flinkish.rpc.function_threads import FUNCTIONS
from flinkish.rpc.futures import RpcFuture, awaiting
from flinkish.rpc.log_thread import LateLogger
from flinkish.rpc.remote_errors import (
    INDESCRIBABLE,
    PeerLostError,
    encode_error,
    remote_error,
    said,
)

__all__ = [
    "INDESCRIBABLE",
    "RpcFuture",
    "awaiting",
    "clock",
    "encode_error",
    "remote_error",
    "start_coroutine",
]

_LOG = LateLogger("flinkish.rpc")
_DEPTH = 12  # frames of the call site that are kept

clock = time.monotonic_ns


def callback_failed(callback: object, error: BaseException) -> None:
    """A done callback raised; Ctrl-C in the main thread is none of its doing."""
    in_main = threading.current_thread() is threading.main_thread()
    if in_main and isinstance(error, KeyboardInterrupt):
        raise error
    _LOG.error("the callback %r of a future raised", callback, exc_info=error)


def call_elsewhere(future: RpcFuture[Any], callback: Callable[[Any], object]) -> None:
    """A callback came due on a thread that others depend on."""
    CALLBACKS.put(partial(rpc_future.call_back, future, callback))


callback_waits, call_soon = CALLBACKS.waits, CALLBACKS.put
call_apart = FUNCTIONS.put  # code of a user, which may block for as long as it likes


def never_waits(future: RpcFuture[Any]) -> Exception:
    """A wait on the thread that would end it."""
    return DeadlockError(
        f"thread {threading.current_thread().name!r} must not wait for {future!r}: it is what "
        "brings answers and ends time limits. Wait on another thread, or go on in a callback"
    )


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
    """No answer in time (Flink: PekkoInvocationHandler)."""
    error = RpcTimeoutError(
        f"Invocation of [{method}] at recipient [{address}] timed out after {timeout_ms} ms. It "
        "may have got lost, the endpoint may be busy or wait for something, or the limit is too "
        "short: look at what the endpoint does, or give more time with "
        "gateway.with_timeout(...) or the ask_timeout of the RpcService.",
        address=address,
        method=method,
        timeout_ms=timeout_ms,
    )
    if where is not None:
        add_note(error, f"The call was made here:\n{where}")
    return error


def task_timed_out(timeout_ms: int) -> Exception:
    """A ``call_async`` did not end in time (Flink: RpcEndpoint)."""
    return RpcTimeoutError(
        f"the function was not called, or did not return, within {timeout_ms} ms: the main thread "
        "of the endpoint is busy",
        timeout_ms=timeout_ms,
    )


# --- calls


def not_started(inbox: Inbox, method: str) -> Exception:
    """The endpoint is stopped."""
    return EndpointNotStartedError(
        f"Discard message {method!r}: the endpoint {inbox.home.address_of(inbox.name)} has not "
        "been started, or is stopped; call its start()"
    )


def unreachable(inbox: Inbox, method: str) -> Exception:
    """The endpoint has ended (Flink: PekkoRpcActor)."""
    return RecipientUnreachableError(
        f"{method!r} cannot be delivered: the endpoint {inbox.home.address_of(inbox.name)} has "
        "ended; connect to its successor"
    )


def unanswered(inbox: Inbox, method: str) -> Exception:
    """The endpoint has ended, and the future that the method returned has not."""
    return RecipientUnreachableError(
        f"{method!r} gets no answer: the endpoint {inbox.home.address_of(inbox.name)} has ended "
        "before the future did that its method returned; connect to its successor"
    )


def fence_mismatch(inbox: Inbox, token: object, method: str) -> Exception:
    """One side is fenced, the other one not (Flink: FencedRpcEndpoint)."""
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
    """The caller belongs to another leader's time."""
    return FencingTokenError(
        f"Fencing token mismatch: {method!r} came to {inbox.home.address_of(inbox.name)} with the "
        f"token {found}, and the endpoint's is {inbox.token!r}. The caller is out of date, or too "
        "early; it has to find out who leads now",
        expected=repr(inbox.token),
        found=found,
    )


def undecodable(procedure: Procedure, cause: BaseException) -> Exception:
    """Arguments came that are not those of the method."""
    error = RpcError(
        f"Could not deserialize the arguments of {procedure.gateway}.{procedure.name}: "
        f"{said(cause)}. Caller and endpoint declare different parameters"
    )
    error.__cause__ = cause
    return error


def some_of(names: list[str], count: int) -> str:
    """These names, of so many."""
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return f"{', '.join(sorted(names)) or 'none'}{more}"


def forked(place: Any) -> Exception:
    """A child process has no threads of its parent."""
    return IllegalStateError(
        f"the service {place.home.name!r} was made before a fork, in the parent process, and its "
        "threads are not here: make a new RpcService in this process"
    )


def dead_letter(inbox: Inbox, method: str, error: Exception, told: bool) -> None:
    """Count a call that was not delivered; a sender who asked gets the error."""
    reason = f"{type(error).__name__}: {error}"
    inbox.home.dead_letters.add(DeadLetter(inbox.name, method, reason, told))
    _LOG.log(logging.INFO if told else logging.DEBUG, "%s", error)


def tell_failed(inbox: Inbox, method: str, error: BaseException) -> None:
    """A tell raised, and nobody waits for an answer."""
    _LOG.error("%s of endpoint %r, called by a tell, raised", method, inbox.name, exc_info=error)


def task_failed(inbox: Inbox, function: object, error: Exception) -> None:
    """``run_async``."""
    _LOG.error("%r, run in endpoint %r, raised", function, inbox.name, exc_info=error)


def task_discarded(inbox: Inbox, function: object, future: RpcFuture[Any] | None) -> None:
    """A function came to an endpoint that does not run (Flink: MainThreadExecutor)."""
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
    """Something that no endpoint survives (Flink: SupervisorActor)."""
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
    """The failure of a method `-> T`, with its cause."""
    text = (
        f"Failure while obtaining synchronous RPC result. [{method}] at [{address}]: "
        f"{type(cause).__name__}: {said(cause)}"
    )
    error: RpcError
    if isinstance(cause, RpcTimeoutError):
        error = RpcTimeoutError(text, address=address, method=method, timeout_ms=cause.timeout_ms)
    else:
        error = RpcError(text)
    error.__cause__ = cause
    return error


# --- bytes


def unsendable(procedure: Procedure, address: str, cause: BaseException) -> Exception:
    """Arguments that cannot travel, in the caller."""
    error = SerializationError(
        f"the arguments of {procedure.gateway}.{procedure.name} cannot be sent to {address}: "
        f"{said(cause)}",
        path=f"{procedure.gateway}.{procedure.name}",
    )
    error.__cause__ = cause
    return error


def unsendable_result(procedure: Procedure, result: Any, cause: BaseException) -> Exception:
    """A result that cannot travel."""
    error = RpcError(
        f"Failed to serialize the result of {procedure.gateway}.{procedure.name}, "
        f"{type(result).__name__}: {said(cause)}"
    )
    error.__cause__ = cause
    return error


def unsent_result(procedure: Procedure, cause: Exception) -> Exception:
    """A result too large to be sent: the error names size and limit."""
    error = RpcError(
        f"The result of {procedure.gateway}.{procedure.name} was not sent: {said(cause)}"
    )
    error.__cause__ = cause
    return error


def unreadable_result(procedure: Procedure, address: str, cause: BaseException) -> Exception:
    """A result that is not what the gateway declares."""
    error = RpcError(
        f"Could not deserialize the result of [{procedure.name}] at [{address}]: {said(cause)}. "
        "The two sides declare different results"
    )
    error.__cause__ = cause
    return error


def service_closed(name: str) -> Exception:
    """The error of asks that are unanswered when their service ends."""
    return RecipientUnreachableError(f"service {name!r} was closed before the answer came")


# --- other processes


def unknown_frame(kind: int, connection: str) -> Exception:
    """The peer says something that we do not understand."""
    return FrameError(f"a frame of kind {kind} came over {connection}, which nobody here takes")


def unknown_link(link: int, connection: str) -> Exception:
    """The peer calls what it never opened."""
    return FrameError(f"a call for link {link} came over {connection}, which was never opened so")


def no_method(inbox: Inbox, method: str) -> Exception:
    """The endpoint has no such method."""
    return RpcConnectionError(
        f"Could not find rpc method {method!r} at {inbox.home.address_of(inbox.name)}: the gateway "
        "of the endpoint's process is of another version"
    )


def absent_method(procedure: Procedure, address: str) -> Exception:
    """The same, at the caller, who was told when it connected."""
    return RpcConnectionError(
        f"Could not find rpc method {procedure.name!r} at {address}: the endpoint has no such. "
        f"Its process knows another version of {procedure.gateway}; update that first"
    )


def only_local(procedure: Procedure, address: str) -> Exception:
    """A local method was called from another process."""
    return UnsupportedOperationError(
        f"{procedure.gateway}.{procedure.name} is @local, and {address} is in another process"
    )


def is_own_fault(error: Exception) -> bool:
    """Whether the caller sent what cannot be sent: then the call itself raises."""
    return isinstance(error, FrameTooLargeError)


def peer_lost(cause: Exception, address: str, method: str, age_ms: int) -> Exception:
    """The error of asks whose connection is lost; none is sent again."""
    after = f" after {age_ms} ms" if age_ms else ""
    for_good = isinstance(cause, ConnectionLostError) and cause.for_good
    error = PeerLostError(
        f"[{method}] at [{address}] got no answer{after}: {cause}. Whether it was carried out is "
        "not known. "
        + (
            "The service there has ended: connect to its successor"
            if for_good
            else "Further calls connect again while the same process runs there"
        ),
        address=address,
        for_good=for_good,
    )
    error.__cause__ = cause
    return error


def unasked(address: str, method: str, cause: Exception) -> Exception:
    """An ask was not sent."""
    if isinstance(cause, ConnectionLostError) and not isinstance(cause, PeerLostError):
        return peer_lost(cause, address, method, 0)
    return cause


def untold(home: Any, address: str, method: str, cause: Exception) -> None:
    """A tell was not sent: counted and logged."""
    reason = f"{type(cause).__name__}: {said(cause)}"
    peer, _, endpoint = address.partition("/user/rpc/")
    home.dead_letters.add(DeadLetter(endpoint, method, reason, True))
    home.lost_tells.add(peer, method, reason)


def answer_lost(inbox: Inbox, method: str, cause: Exception) -> None:
    """An answer could not be sent; the asker hears of the lost connection itself."""
    _LOG.debug("the answer of %s at endpoint %r was not sent: %s", method, inbox.name, cause)


def age_ms(deadline_ms: int, timeout_ms: int) -> int:
    """How long ago a call with this deadline was made."""
    return max(0, clock() // 1_000_000 - (deadline_ms - timeout_ms))


rpc_future.equip(sys.modules[__name__], clock)
