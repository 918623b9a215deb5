"""Endpoints: objects whose methods are called by messages, one at a time."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Coroutine
from inspect import iscoroutine
from typing import Any, Protocol, TypeVar, overload

from flinkish._core.rpc.calls import LocalPort, Task, TurnFuture, turn_future
from flinkish._core.rpc.future import RpcFuture, start_deadline
from flinkish._core.rpc.inbox import Inbox
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    RpcError,
    UnsupportedOperationError,
)
from flinkish.rpc.coroutines import EndpointLoop
from flinkish.rpc.executors import MainThreadExecutor, callable_of
from flinkish.rpc.futures import uncancellable
from flinkish.rpc.gateway import RpcGateway, check_implements, gateways_of, proxy_of
from flinkish.rpc.remote_errors import said
from flinkish.rpc.service import RpcService
from flinkish.rpc.states import Control, EndpointState, next_state
from flinkish.rpc.words import unanswered

__all__ = ["FencedRpcEndpoint", "RpcEndpoint"]

T = TypeVar("T")
Proxy = TypeVar("Proxy", bound=RpcGateway)


class Closeable(Protocol):
    """Has a ``close``."""

    def close(self) -> object:
        """Give up what it holds."""


C = TypeVar("C", bound=Closeable)


class RpcEndpoint(RpcGateway):
    """An object that others call through gateways: ``class Counter(RpcEndpoint, CounterGateway)``.

    Threading: all of its calls, functions and life-cycle methods run one after another, in its
    *main thread*, which is a turn on one of the service's dispatcher threads, or its own with
    ``own_thread=True`` (for endpoints that block).  So its state needs no lock.

    Ordering: calls of one caller run in the order in which they were sent.

    Life cycle: made stopped; ``start`` runs ``on_start``; ``close_async`` runs ``on_stop``, until
    whose future ends calls are still answered (Flink: RpcEndpoint).  A failing ``on_start`` ends
    it.

    Methods of its gateways return values or futures, or are ``async def``; what they raise goes
    to the asker.  Coroutines run on an event loop of the endpoint, which runs in its main thread:
    they give way to other calls at an ``await`` that waits.  The endpoint's end cancels them.
    """

    _implements = True
    _checked: type | None = None
    _loop: EndpointLoop | None = None  # made by the first coroutine

    def __init__(
        self, service: RpcService, endpoint_id: str | None = None, *, own_thread: bool = False
    ) -> None:
        self._set_up(service, endpoint_id, None, own_thread)

    def _set_up(
        self, service: RpcService, endpoint_id: str | None, token: Any, own_thread: bool
    ) -> None:
        kind = type(self)
        if kind.__dict__.get("_checked") is not kind:
            check_implements(kind, RpcEndpoint)
            kind._checked = kind
        self._running = False
        self._executor: MainThreadExecutor | None = None
        self._resources: list[Closeable] | None = []
        self._terminated: RpcFuture[None] = uncancellable()
        self._inbox: Inbox = service.start_server(
            self,
            uuid.uuid4().hex if endpoint_id is None else endpoint_id,
            token=token,
            own_thread=own_thread,
        )

    # --- for subclasses

    def on_start(self) -> None:
        """Called in the main thread when it is started; to be overridden."""

    def on_stop(self) -> Any:
        """Called in the main thread when it is closed; None, or a future to wait for.

        It may be ``async def``: calls are answered until it has ended.
        """

    # --- what it is

    @property
    def service(self) -> RpcService:
        """The service that runs it."""
        service: RpcService = self._inbox.home
        return service

    @property
    def endpoint_id(self) -> str:
        """Its name within the service."""
        return self._inbox.name

    @property
    def address(self) -> str:
        """Where others connect to."""
        return self.service.address_of(self._inbox.name)

    @property
    def hostname(self) -> str:
        """Host of the service."""
        return self.service.hostname

    @property
    def is_running(self) -> bool:
        """True from its start until ``on_stop`` has returned."""
        return self._running

    @property
    def termination_future(self) -> RpcFuture[None]:
        """Ends when the endpoint has; fails with what ``on_start`` or ``on_stop`` raised."""
        return self._terminated

    def __repr__(self) -> str:
        state = EndpointState(self._inbox.life_code).name.lower()
        return f"<{type(self).__name__} {self.endpoint_id!r} {state}>"

    def get_self_gateway(self, gateway: Callable[..., Proxy]) -> Proxy:
        """A gateway to this endpoint itself; its calls are mails like any others."""
        if not (isinstance(gateway, type) and isinstance(self, gateway)):
            has = ", ".join(kind.__name__ for kind in gateways_of(type(self))) or "no gateway"
            raise UnsupportedOperationError(
                f"{type(self).__name__} does not implement "
                f"{getattr(gateway, '__name__', gateway)!r}; it implements {has}"
            )
        return proxy_of(gateway, self._port(self._inbox.token))

    def _port(self, token: Any) -> LocalPort:
        return self.service.local_port(self._inbox, token)

    # --- the life

    def start(self) -> None:
        """Let it take calls, after ``on_start`` has run in the main thread."""
        self._control(self._start)

    def stop(self) -> None:
        """Let it discard calls until it is started again."""
        self._control(self._stop)

    def close_async(self) -> RpcFuture[None]:
        """End it: ``on_stop``, then no more calls; gives the ``termination_future``."""
        self._control(self._terminate)
        return self._terminated

    def _control(self, step: Callable[[], None]) -> None:
        self._inbox.post(Task(step, None, True))

    def _move(self, control: Control) -> EndpointState:
        """Go on in the table of lives; the state before."""
        before = EndpointState(self._inbox.life_code)
        self._inbox.set_life(next_state(before, control, self._inbox.name))
        return before

    def _start(self) -> None:
        if self._move(Control.START) is EndpointState.STARTED:
            return
        self._running = True
        try:
            self.on_start()
        except BaseException as error:
            failure = RpcError(f"Could not start RpcEndpoint {self._inbox.name}: {said(error)}")
            failure.__cause__ = error
            self._close_resources()
            self._finish(failure)

    def _stop(self) -> None:
        self._move(Control.STOP)
        self._running = False

    def _terminate(self) -> None:
        before = self._move(Control.TERMINATE)
        if before is EndpointState.TERMINATING:
            return
        failure = self._close_resources()
        if before is EndpointState.STOPPED:
            self._wind_up(failure)
            return
        try:
            stopping = self.on_stop()
            if iscoroutine(stopping):
                stopping = self._start_coroutine("on_stop", stopping)
        except BaseException as error:
            stopping = None
            failure = failure or error
        finally:
            self._running = False
        if stopping is None:
            self._wind_up(failure)
            return

        def stopped(future: Any) -> None:
            error = failure
            if future.cancelled():
                error = error or IllegalStateError("the future that on_stop returned was cancelled")
            else:
                error = error or future.exception()
            self._control(lambda: self._wind_up(error))

        stopping.add_done_callback(stopped)

    def _wind_up(self, error: BaseException | None) -> None:
        """End the coroutines, then the endpoint; in the main thread."""
        if self._loop is None:
            self._finish(error)
        else:
            self._loop.wind_up(lambda: self._finish(error))

    def _finish(self, error: BaseException | None) -> None:
        """The end, in the main thread."""
        if self._inbox.life_code == EndpointState.TERMINATED and self._terminated.done():
            return
        self._running = False
        if self._loop is not None:
            self._loop.close()
        self._inbox.close()
        self.service.forget(self._inbox)
        if error is None:
            self._terminated.set_result(None)
        else:
            self._terminated.set_exception(error)

    def _abort(self, error: BaseException) -> None:
        """Something happened that it does not survive."""
        self._close_resources()
        self._finish(error)

    def _start_coroutine(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> RpcFuture[Any]:
        """Run it in the main thread, where this is called."""
        if self._loop is None:
            try:
                self._loop = EndpointLoop(self._inbox)
            except BaseException:
                coroutine.close()
                raise
        return self._loop.start(coroutine, lambda: unanswered(self._inbox, name))

    # --- resources

    def register_resource(self, resource: C) -> C:
        """Close a resource before ``on_stop`` is called; returns the resource."""
        if not callable(getattr(resource, "close", None)):
            raise ArgumentTypeError(f"a resource needs a method close(), and {resource!r} has none")
        if self._resources is None:
            resource.close()
            raise IllegalStateError(
                f"endpoint {self.endpoint_id!r} has closed its resources; {resource!r} was, too"
            )
        self._resources.append(resource)
        return resource

    def unregister_resource(self, resource: Closeable) -> bool:
        """Take it out, for the caller to close; whether it was registered."""
        if self._resources is None or resource not in self._resources:
            return False
        self._resources.remove(resource)
        return True

    def _close_resources(self) -> BaseException | None:
        """Close all, last first; the first error."""
        resources, self._resources = self._resources, None
        failure: BaseException | None = None
        for resource in reversed(resources or []):
            try:
                resource.close()
            except BaseException as error:
                if failure is None:
                    failure = RpcError(
                        f"closing a resource, a {type(resource).__name__}, failed: {said(error)}"
                    )
                    failure.__cause__ = error
        return failure

    # --- the main thread

    def validate_runs_in_main_thread(self) -> None:
        """Raise IllegalStateError on any other thread.  Always on: it costs a comparison."""
        if not self._inbox.in_turn():
            raise IllegalStateError(
                f"this must run in the main thread of endpoint {self._inbox.name!r}, and does not: "
                "use run_async, call_async or the main_thread_executor"
            )

    @property
    def main_thread_executor(self) -> MainThreadExecutor:
        """Runs functions in the main thread, now or later."""
        if self._executor is None:
            executor = MainThreadExecutor(self._inbox)
            if self._resources is None:
                executor.close()
            else:
                self._resources.append(executor)
            self._executor = executor
        return self._executor

    def run_async(self, function: Callable[[], object]) -> None:
        """Run it in the main thread; what it raises is logged."""
        self._inbox.post(Task(callable_of(function)))

    @overload
    def call_async(
        self, function: Callable[[], Coroutine[Any, Any, T]], timeout: DurationLike
    ) -> RpcFuture[T]: ...
    @overload
    def call_async(self, function: Callable[[], T], timeout: DurationLike) -> RpcFuture[T]: ...
    def call_async(self, function: Callable[[], Any], timeout: DurationLike) -> RpcFuture[Any]:
        """Call it in the main thread; RpcTimeoutError when that takes longer.

        It may be ``async def``, as in ``run_async`` and in the ``main_thread_executor``.
        """
        future: TurnFuture[Any] = turn_future(self._inbox)
        task = Task(callable_of(function), future)
        millis = to_millis(timeout, "timeout", minimum=0)
        start_deadline(future, self.service.deadlines, millis)
        self._inbox.post(task)
        return future

    def schedule_run_async(
        self, function: Callable[[], object], delay: DurationLike
    ) -> RpcFuture[Any]:
        """Run it in the main thread after ``delay``; cancel the future to keep it from that."""
        return self.main_thread_executor.schedule(function, delay)


class FencedRpcEndpoint(RpcEndpoint):
    """An endpoint that answers only who knows its token (Flink: FencedRpcEndpoint).

    The token is fixed: an endpoint of another leadership is another endpoint.  Calls with another
    token get a FencingTokenError, calls without one an UnknownMessageError; tells are dropped.
    For callers in other processes the token must be a value that travels.
    """

    def __init__(
        self,
        service: RpcService,
        endpoint_id: str | None = None,
        fencing_token: Any = None,
        *,
        own_thread: bool = False,
    ) -> None:
        if fencing_token is None:
            raise IllegalArgumentError(
                f"{type(self).__name__} is fenced and needs a fencing_token that is not None"
            )
        self._set_up(service, endpoint_id, fencing_token, own_thread)

    @property
    def fencing_token(self) -> Any:
        """The token, which never changes."""
        return self._inbox.token
