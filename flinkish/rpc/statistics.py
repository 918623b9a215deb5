"""The statistics of a service."""

from __future__ import annotations

from dataclasses import dataclass

from flinkish.rpc.transport import TransportStatistics

__all__ = ["RpcStatistics"]


@dataclass(frozen=True)
class RpcStatistics:
    """Counts of a service since it was made; ``endpoints`` and ``pending_asks`` are of now.

    ``letters`` is what the common dispatcher threads delivered, in ``turns``; ``pending_asks`` are
    unanswered, local and remote; ``expired_asks`` got no answer in time; ``dead_letters`` reached
    no endpoint.  ``asks_under_way`` are those to other processes; ``transport`` is None while there
    was no need for one.
    """

    endpoints: int
    turns: int
    letters: int
    pending_asks: int
    expired_asks: int
    dead_letters: int
    asks_under_way: int
    transport: TransportStatistics | None
