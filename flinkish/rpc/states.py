"""The life of an endpoint, as a table (Flink: PekkoRpcActor)."""

from __future__ import annotations

from enum import IntEnum
from typing import Protocol

from flinkish._core.rpc.future import RpcFuture
from flinkish.common.errors import RpcInvalidStateError

__all__ = ["Control", "Endpoint", "EndpointState", "next_state"]


class Endpoint(Protocol):
    """An `RpcEndpoint`, as far as its service knows it."""

    def close_async(self) -> RpcFuture[None]:
        """Have it stop."""


class EndpointState(IntEnum):
    """``TERMINATING`` still delivers calls, until ``on_stop`` has ended (Flink: RpcEndpoint)."""

    STOPPED = 0
    STARTED = 1
    TERMINATING = 2
    TERMINATED = 3


class Control(IntEnum):
    """A message to an endpoint beside its calls; passes fencing and the running check."""

    START = 0
    STOP = 1
    TERMINATE = 2
    FINISH = 3


_S = EndpointState
_NEXT = {
    (_S.STOPPED, Control.START): _S.STARTED,
    (_S.STOPPED, Control.STOP): _S.STOPPED,
    (_S.STOPPED, Control.TERMINATE): _S.TERMINATED,
    (_S.STARTED, Control.START): _S.STARTED,
    (_S.STARTED, Control.STOP): _S.STOPPED,
    (_S.STARTED, Control.TERMINATE): _S.TERMINATING,
    (_S.TERMINATING, Control.TERMINATE): _S.TERMINATING,
    (_S.TERMINATING, Control.FINISH): _S.TERMINATED,
}


def next_state(state: EndpointState, control: Control, name: str) -> EndpointState:
    """The state after ``control``; RpcInvalidStateError where that is not allowed."""
    after = _NEXT.get((state, control))
    if after is None:
        raise RpcInvalidStateError(
            f"endpoint {name!r} is {state.name} and cannot {control.name.lower()}; make a new one"
        )
    return after
