"""The errors of remote procedure calls; users import them from ``flinkish.common.errors``."""

from __future__ import annotations

from typing import Any

from flinkish.common._root_error import FlinkishError


class RpcError(FlinkishError, RuntimeError):
    """A remote procedure call failed (Flink: RpcException)."""


class RpcConnectionError(RpcError, ConnectionError):
    """No endpoint is at an address, or the other side has no such method.

    As in Flink's PekkoRpcService and PekkoRpcActor.
    """


class HandshakeError(RpcConnectionError):
    """The two sides do not fit: versions, secrets, or a gateway that is not offered.

    As in Flink's PekkoRpcService.
    """


class RecipientUnreachableError(RpcError):
    """The endpoint has ended, or its service has (Flink: RpcEndpoint, PekkoRpcActor)."""


class EndpointNotStartedError(RpcError):
    """The endpoint was not started yet, or is stopped; it discards what it is asked.

    As in Flink's RpcEndpoint.
    """


class FencingTokenError(RpcError):
    """The caller holds another fencing token than the endpoint (Flink: FencedRpcEndpoint).

    ``expected`` is the endpoint's token, ``found`` the caller's; from another process their
    texts.
    """

    def __init__(self, message: str, *, expected: Any = None, found: Any = None) -> None:
        super().__init__(message)
        self.expected = expected
        self.found = found


class UnknownMessageError(RpcError):
    """An endpoint cannot handle a message, such as a call without a token to a fenced endpoint.

    As in Flink's FencedRpcEndpoint.
    """


class RpcInvalidStateError(RpcError):
    """An endpoint was told to start or stop when its state no longer allows that.

    As in Flink's PekkoRpcActor.
    """


class RpcTimeoutError(RpcError, TimeoutError):
    """No answer came in time (Flink: PekkoInvocationHandler).

    ``address`` and ``method`` say of what, ``timeout_ms`` how long was waited.
    """

    def __init__(
        self, message: str, *, address: str = "", method: str = "", timeout_ms: int = 0
    ) -> None:
        super().__init__(message)
        self.address = address
        self.method = method
        self.timeout_ms = timeout_ms


class RemoteError(RpcError):
    """An error that was raised in another process (Flink: PekkoInvocationHandler).

    ``type_name`` is the name of its class, ``message`` its text, ``remote_traceback`` the
    traceback as text; ``str()`` has the class and the text.  When the class is Python's
    own or one of flinkish, then the error that is raised here is of that class as well: ``except
    KeyError`` works.
    """

    def __init__(
        self, message: str = "", *, type_name: str = "", remote_traceback: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.type_name = type_name
        self.remote_traceback = remote_traceback

    def __str__(self) -> str:
        name = self.type_name.removeprefix("builtins.")
        return f"{name}: {self.message}" if name else self.message


class ConnectionLostError(RpcConnectionError):
    """The connection ended: closed, broken, silent for too long, or of the parent process.

    ``address`` is the peer's, as far as it is known.  ``for_good`` is true when the service there
    said that it ends: nobody will be there to connect to.
    """

    def __init__(self, message: str, *, address: str = "", for_good: bool = False) -> None:
        super().__init__(message)
        self.address = address
        self.for_good = for_good


class FrameError(RpcError):
    """The peer sent bytes that the protocol does not know; the connection ends."""


class FrameTooLargeError(RpcError, ValueError):
    """A message does not fit a frame, and was not sent.

    ``size`` and ``limit`` are bytes of a whole frame, ``option`` is what sets the limit.
    """

    def __init__(
        self, message: str, *, size: int = 0, limit: int = 0, option: str = "max_frame_size"
    ) -> None:
        super().__init__(message)
        self.size = size
        self.limit = limit
        self.option = option


class BackPressureError(RpcTimeoutError):
    """The receiver did not keep up, so a request was not sent within its time."""
