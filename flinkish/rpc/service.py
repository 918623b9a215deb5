"""The service: a process's, or an application's, place for endpoints."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Any, Literal, TypeVar, cast

from flinkish._core.rpc.calls import LocalPort
from flinkish._core.rpc.future import Deadlines, RpcFuture
from flinkish._core.rpc.inbox import Inbox
from flinkish._core.wheel.timing_wheel import TimingWheel
from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import (
    ArgumentTypeError,
    HandshakeError,
    IllegalArgumentError,
    IllegalStateError,
    RpcConnectionError,
    RpcInvalidStateError,
)
from flinkish.rpc import words
from flinkish.rpc.addresses import (
    RpcAddress,
    check_endpoint_id,
    check_service_name,
    is_pattern,
    matches,
)
from flinkish.rpc.dead_letters import DeadLetters, LostTells
from flinkish.rpc.dialing import check_advertised
from flinkish.rpc.dispatcher import Dispatcher
from flinkish.rpc.executors import ScheduledExecutor
from flinkish.rpc.futures import completed, failed, uncancellable
from flinkish.rpc.gateway import GatewayProxy, RpcGateway, gateways_of, proxy_of
from flinkish.rpc.log_thread import LateLogger
from flinkish.rpc.remote import Remote
from flinkish.rpc.states import Endpoint
from flinkish.rpc.statistics import RpcStatistics
from flinkish.rpc.tls import TlsConfig
from flinkish.rpc.tokens import same_token
from flinkish.rpc.transport import Transport
from flinkish.time import SystemProcessingTimeService

__all__ = ["RpcService"]

Proxy = TypeVar("Proxy", bound=RpcGateway)
_LOG = LateLogger("flinkish.rpc")
_NAMED = 8  # endpoints that an error names


def _clock_ms() -> int:
    return time.monotonic_ns() // 1_000_000


class RpcService:
    """Runs endpoints and connects to those of others.

    ``name`` is the first part of its endpoints' addresses.  ``ask_timeout`` is the time limit of
    asks that say nothing else.  ``host`` is where it listens, ``advertised_host`` the name or
    address by which others reach that, if it is another one (Flink: bind-host and address).
    ``force_serialization`` lets local calls go through bytes, to test as if the endpoint were
    remote.  ``mails_per_turn`` letters at most are delivered to an endpoint before others have
    their turn on one of ``dispatcher_threads`` threads.  ``capture_call_sites`` adds to a time-out
    where the call was made, for some 40 us a call (Flink: PekkoInvocationHandler).

    Threading: safe from any thread.  A forked child makes its own.

    Life cycle: ``close_async`` ends all endpoints, waits for every ``on_stop``, then frees threads
    and sockets; it is a context manager that does so (Flink: PekkoRpcService).
    """

    def __init__(
        self,
        name: str,
        *,
        host: str | None = None,
        advertised_host: str | None = None,
        port: int = 0,
        secret: str | bytes | None = None,
        tls: TlsConfig | Literal["plaintext"] | None = None,
        ask_timeout: DurationLike = 10_000,
        max_frame_size: int = 10 * 1024 * 1024,
        force_serialization: bool = False,
        dispatcher_threads: int = 2,
        mails_per_turn: int = 64,
        capture_call_sites: bool = False,
        **transport: Any,
    ) -> None:
        self.name = check_service_name(name)
        self.ask_timeout_ms = to_millis(ask_timeout, "ask_timeout", minimum=1)
        self.dead_letters = DeadLetters()
        self.lost_tells = LostTells(self._call_at)
        self.timers = SystemProcessingTimeService(
            self._timer_failed, name=f"{name}-rpc-timers", clock=_clock_ms
        )
        self.deadlines = Deadlines(TimingWheel(1, 512, _clock_ms()), self._wake_at)
        self._serialize = force_serialization
        self.captures = capture_call_sites
        self._dispatcher = Dispatcher(f"{name}-rpc", dispatcher_threads, mails_per_turn)
        self._inboxes: dict[str, Inbox] = {}
        self._lock = threading.Lock()
        self._closed: RpcFuture[None] | None = None
        self._pid = os.getpid()
        self._secret = secret
        self._settings = transport | {
            "host": host,
            "advertised_host": advertised_host,
            "port": port,
            "tls": tls,
            "max_frame_size": max_frame_size,
        }
        self._transport: Transport | None = None
        self._remote = Remote(self)
        self._prefix = f"flinkish://{name}/user/rpc/"
        self._advertised_host = host if advertised_host is None else advertised_host
        if self._advertised_host is not None:
            self._listen(self._advertised_host)

    def _listen(self, advertised: str) -> None:
        """Listen where it is told to; its endpoints' addresses say what others are to dial."""
        check_advertised(advertised, self._settings["host"])
        transport = self.transport()
        transport.listen()
        if transport.advertised is not None:
            service = RpcAddress(self.name, "", *transport.advertised).service
            self._prefix = f"{service}/user/rpc/"

    # --- what it is

    @property
    def hostname(self) -> str:
        """The host that others reach it at."""
        return "localhost" if self._advertised_host is None else self._advertised_host

    @property
    def port(self) -> int | None:
        """The port that it listens on, None if it only dials."""
        bound = self._transport.address if self._transport is not None else None
        return None if bound is None else bound[1]

    @property
    def tls(self) -> TlsConfig | Literal["plaintext"] | None:
        """The certificate that encrypts connections; the service makes one if none was given."""
        return self._settings["tls"] if self._transport is None else self._transport.tls

    def transport(self) -> Transport:
        """Its connections to other services, made when they are first needed."""
        with self._lock:
            if self._transport is None:
                if not self._secret:
                    raise IllegalArgumentError(
                        f"service {self.name!r} has no secret and cannot talk to other processes: "
                        "make one with secrets.token_hex(32) and give it to all services of the "
                        "application"
                    )
                self._transport = Transport(
                    self.name, self._remote, secret=self._secret, **self._settings
                )
            return self._transport

    def address_of(self, endpoint_id: str) -> str:
        """The address of an endpoint of this service, whether there is one or not."""
        return self._prefix + endpoint_id

    @property
    def scheduled_executor(self) -> ScheduledExecutor:
        """Runs functions later."""
        return ScheduledExecutor(self.timers)

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more endpoints and connections."""
        return self._closed is not None

    def statistics(self) -> RpcStatistics:
        """Counts of the work that is waiting and that was done."""
        return RpcStatistics(
            endpoints=len(self._inboxes),
            turns=self._dispatcher.turns,
            letters=self._dispatcher.letters,
            pending_asks=len(self.deadlines),
            expired_asks=self.deadlines.expired,
            dead_letters=self.dead_letters.count,
            asks_under_way=self._remote.under_way,
            transport=None if self._transport is None else self._transport.statistics(),
        )

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "open"
        return f"<RpcService {self.name!r} {state}, {len(self._inboxes)} endpoints>"

    # --- endpoints

    def start_server(
        self, endpoint: Endpoint, endpoint_id: str, *, token: Any, own_thread: bool
    ) -> Inbox:
        """Give an endpoint its inbox; what RpcEndpoint's constructor calls."""
        self._check_open()
        check_endpoint_id(endpoint_id)
        with self._lock:
            self._check_open()
            if endpoint_id in self._inboxes:
                raise IllegalArgumentError(
                    f"service {self.name!r} has an endpoint {endpoint_id!r} already; a name is "
                    "free again when the endpoint's termination_future has ended"
                )
            queue = self._dispatcher.queue(endpoint_id, own_thread)
            inbox = self._inboxes[endpoint_id] = Inbox(queue, self, endpoint_id, endpoint, token)
        return inbox

    def stop_server(self, endpoint: Endpoint) -> RpcFuture[None]:
        """The same as the endpoint's ``close_async``."""
        return endpoint.close_async()

    def forget(self, inbox: Inbox) -> None:
        """An endpoint has ended: its name is free."""
        with self._lock:
            if self._inboxes.get(inbox.name) is inbox:
                del self._inboxes[inbox.name]
        self._dispatcher.release(inbox.name)

    def endpoint_of(self, inbox: Inbox) -> Any:
        """The endpoint of an inbox; RecipientUnreachableError when it has ended."""
        if inbox.target is None:
            raise words.unreachable(inbox, "a function")
        return inbox.target

    def local_port(self, inbox: Inbox, token: Any) -> LocalPort:
        """Where gateways to an endpoint of this service send to."""
        return LocalPort(
            inbox,
            self,
            self.address_of(inbox.name),
            self.hostname,
            inbox.token if same_token(token, inbox.token) else token,
            self.ask_timeout_ms,
            self.deadlines,
            self.captures,
            self._serialize,
        )

    def endpoint_failed(self, inbox: Inbox, error: BaseException) -> None:
        """An endpoint met what it does not survive (Flink: SupervisorActor, PekkoRpcActor)."""
        endpoint = inbox.target
        _LOG.error("endpoint %r failed and is ended", inbox.name, exc_info=error)
        if endpoint is not None:
            endpoint._abort(error)
        if not isinstance(error, RpcInvalidStateError):
            self.close_async()

    # --- connecting

    def connect(
        self, address: str, gateway: Callable[..., Proxy], fencing_token: Any = None
    ) -> RpcFuture[Proxy]:
        """A gateway to the endpoint at ``address``, whose last part may be a pattern.

        Fails with RpcConnectionError if there is none, with HandshakeError if it does not offer
        the gateway.  Whether the token is right shows at the first call (Flink: FencedRpcEndpoint).
        ``gateway`` is a class; ``type[...]`` would not take one with abstract methods.
        """
        self._check_open()
        if not (isinstance(gateway, type) and issubclass(gateway, RpcGateway)):
            raise ArgumentTypeError(
                f"connect needs a subclass of RpcGateway, not {gateway!r}: "
                "connect(address, Gateway[, fencing_token])"
            )
        if issubclass(gateway, GatewayProxy):
            raise ArgumentTypeError(f"connect needs the gateway itself, not {gateway!r}")
        parsed = RpcAddress.parse(address)
        if not self._is_mine(parsed):
            return self._remote.connect(parsed, cast("type[Proxy]", gateway), fencing_token)
        try:
            inbox = self.find(parsed.endpoint)
            endpoint = self.endpoint_of(inbox)
            if not isinstance(endpoint, gateway):
                raise self.not_offered(inbox, endpoint, gateway.__name__)
        except Exception as error:
            return failed(error)
        return completed(proxy_of(gateway, self.local_port(inbox, fencing_token)))

    def resolve_one(self, path: str) -> RpcFuture[str]:
        """The full address of the running endpoint that a path or pattern means.

        ``path`` is an address, or ``/user/rpc/ENDPOINT`` or ENDPOINT of this service.
        """
        self._check_open()
        if "://" not in path:
            path = self.address_of(path.removeprefix("/user/rpc/"))
        parsed = RpcAddress.parse(path)
        if not self._is_mine(parsed):
            return self._remote.resolve(parsed)
        try:
            return completed(self.address_of(self.find(parsed.endpoint).name))
        except RpcConnectionError as error:
            return failed(error)

    def find(self, endpoint_id: str) -> Inbox:
        """The endpoint of this name, in O(1), or a running one that fits the pattern."""
        with self._lock:
            inbox = self._inboxes.get(endpoint_id)
            named = inbox is not None or not is_pattern(endpoint_id)
            everyone = [] if named else [*self._inboxes.items()]
        if not named:
            fitting = [i for name, i in everyone if matches(name, endpoint_id)]
            # One that runs, if there is one: others may be stopped, or not started yet.
            inbox = max(fitting, key=lambda i: i.life_code == 1, default=None)
        if inbox is None:
            with self._lock:
                some, count = [*islice(self._inboxes, _NAMED)], len(self._inboxes)
            raise RpcConnectionError(
                f"Could not connect to rpc endpoint under address {self.address_of(endpoint_id)}: "
                f"no such endpoint; service {self.name!r} has {words.some_of(some, count)}"
            )
        return inbox

    @staticmethod
    def not_offered(inbox: Inbox, endpoint: object, gateway: str) -> HandshakeError:
        """The error for a gateway that an endpoint does not implement."""
        has = ", ".join(kind.__name__ for kind in gateways_of(type(endpoint))) or "none"
        return HandshakeError(
            f"endpoint {inbox.name!r} does not offer the gateway {gateway}; it offers {has}"
        )

    def _is_mine(self, address: RpcAddress) -> bool:
        if address.host is None:
            return address.name == self.name
        return f"{address.service}/user/rpc/" == self._prefix

    # --- time

    def _wake_at(self, at_ms: int) -> None:
        try:
            self.timers.register_timer(at_ms - 1, lambda _: self.deadlines.expire())
        except IllegalStateError:
            self.deadlines.abandon(words.service_closed(self.name))

    def _call_at(self, at_ms: int, call: Callable[[], object]) -> None:
        """Call it at a time of the clock, unless the service has closed before."""
        with suppress(IllegalStateError):
            self.timers.register_timer(at_ms, lambda _: call())

    def _timer_failed(self, error: BaseException) -> None:
        _LOG.error("a function on the timer thread of service %r raised", self.name, exc_info=error)

    # --- the end

    def _check_open(self) -> None:
        if self._pid != os.getpid():
            raise IllegalStateError(
                f"the service {self.name!r} was made in process {self._pid}, before a fork: make a "
                "new RpcService in this process"
            )
        if self._closed is not None:
            raise IllegalStateError(f"RpcService is stopped: {self.name!r}")

    def close_async(self) -> RpcFuture[None]:
        """End all endpoints, then the service; the future fails if an ``on_stop`` did."""
        with self._lock:
            if self._closed is not None:
                return self._closed
            closed = self._closed = uncancellable()
            inboxes = [*self._inboxes.values()]
        left = len(inboxes)
        failures: list[BaseException] = []
        lock = threading.Lock()

        def ended(future: RpcFuture[None]) -> None:
            nonlocal left
            error = future.exception()
            with lock:
                left -= 1
                if error is not None:
                    failures.append(error)
                last = left == 0
            if last:
                self._tear_down(closed, failures)

        futures = [endpoint.close_async() for i in inboxes if (endpoint := i.target) is not None]
        left = len(futures)
        for future in futures:
            future.add_done_callback(ended)
        if not futures:
            self._tear_down(closed, failures)
        return closed

    def _tear_down(self, closed: RpcFuture[None], failures: list[BaseException]) -> None:
        transport = self._transport

        def finish(_: object) -> None:
            self._dispatcher.close()
            self.lost_tells.tell_all()
            self.timers.shutdown()
            self.deadlines.abandon(words.service_closed(self.name))
            if failures:
                closed.set_exception(failures[0])
            else:
                closed.set_result(None)

        if transport is None:
            finish(None)
        else:
            transport.close().add_done_callback(finish)

    def close(self) -> None:
        """``close_async``, and wait for it."""
        self.close_async().result()

    def __enter__(self) -> RpcService:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
