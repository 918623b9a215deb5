"""The messages between workers and the ledger of permits.

Plain numbers, so that any transport carries them.  Times are ns of the ledger's monotonic clock;
a worker learns what that says from the grants (`lease.RemoteClock`).
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

__all__ = ["TRIPS", "Grant", "LeaseRequest", "PermitGateway"]

TRIPS = 3  # of the slowest worker's messages in a lead, where that is longer than usual


@dataclass(frozen=True)
class LeaseRequest:
    """A worker tells what it has and what it needs; one at a time.

    ``token`` is that of its last grant, 0 in its first request, and ``number`` the last grant's
    number: a grant that never arrived is taken back by that.
    """

    worker: str
    token: int
    number: int
    wanted: int  # rate permits
    unused: int  # rate permits that it got, did not use and will not use
    holding: int  # concurrency permits that it keeps, in use or not
    waiting: int  # further ones that it could use at once
    throttled: bool  # whether a call was told so since the last request
    started_ns: int  # when the latest of these calls was started
    retry_after_ns: int  # how long the longest of them is to wait
    trip_ns: int = 0  # how long its answers lately took to come, on average


@dataclass(frozen=True)
class Grant:
    """Permits of a lease.

    Of the ``permits`` of a rate, ``overdue`` may be used from ``first_ns`` on.  Of the n others,
    permit i may be used from ``first_ns + i * span_ns // n`` on, or if some were overdue, from
    ``first_ns + (i + 1) * span_ns // n``.  Each may for ``patience_ns``; then it is void.
    ``holding`` is how many concurrency permits the worker may hold from now on: if it has more in
    use, it gives them back as they become free.  A worker that was silent for ``lease_ns`` has
    lost them; it is ``refused``, gets a new token, and asks again with that.
    """

    token: int
    number: int
    now_ns: int
    permits: int
    overdue: int
    first_ns: int
    span_ns: int
    patience_ns: int
    ask_at_ns: int  # asking for more rate permits before is of no use
    paused_until_ns: int  # no call is to be started before
    holding: int
    lease_ns: int
    refused: bool


class PermitGateway(Protocol):
    """The ledger as a worker sees it, near or far."""

    def lease(self, request: LeaseRequest) -> Future[Grant]:
        """Ask for permits."""

    def leave(self, worker: str, token: int, unused: int) -> None:
        """Give everything back and say good-bye; ``unused`` as in a request."""
