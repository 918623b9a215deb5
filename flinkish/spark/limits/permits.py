"""The ledger of permits: one for a job, on the driver; sans I/O, time is an argument.

Rate.  Permits are moments on one line of time, ``1 / rate`` apart.  A worker gets a slice of the
line that lies a little ahead, some moments at once, so most permits cost no message; and nobody
can hoard, for a moment is void soon after it is over.  However many workers come and go, they
share that one line.

Invariants:
  P1  Permits with moments in any window of w seconds are at most ``rate * w + burst``; they are
      used up to ``PATIENCE_NS`` late, never early.
  P2  A permit that is not known to be unused counts as used: a zombie may have used it until it
      was void.  The line goes on without a dead worker, so what is lost is its last slices.
  P3  The concurrency permits that living workers hold are at most the limit; a worker that
      comes back after its lease was over brings calls that nobody can undo, and then nobody gets
      a further permit until they are at most the limit again.

Shares.  With n workers a slice is an n-th of a lead, and each holds two at most.  So a worker that
comes waits for less than two leads, and one that dies takes less than two n-ths of a lead with
it.  Nobody gets moments that are further off: where the rate is slow, or paused, workers get
turns to ask again, in the order of asking.  A lead is ``LEAD_NS``, and longer where workers say
that answers take longer: a worker that has to wait for its answer until its slices are over
would stand still meanwhile, and on a crowded machine or a far one it would most of the time.
"""

from __future__ import annotations

from dataclasses import dataclass

from flinkish.spark.limits.adaptive import Aimd
from flinkish.spark.limits.messages import TRIPS, Grant, LeaseRequest
from flinkish.spark.limits.rate import Concurrency, Rate

__all__ = ["LEAD_NS", "LEASE_NS", "PATIENCE_NS", "LimitStatistics", "PermitLedger"]

# In a window of 5 s, 2 % are 100 ms of the rate.  A permit that is used late is at most
# PATIENCE_NS late, the burst is 30 ms by default, and what comes back unused was granted at most
# two LEAD_NS before.
LEAD_NS = 40_000_000
_LONGEST_LEAD_NS = 1_500_000_000
PATIENCE_NS = 40_000_000
LEASE_NS = 5_000_000_000  # silent for longer, and concurrency permits go to others

_RECOUNT_NS = 5_000_000
_NO_MOMENTS = 0, 0, 0


@dataclass(frozen=True)
class LimitStatistics:
    """The permits that a ledger granted since it was made, and its present limits."""

    workers: int
    granted: int  # rate permits
    returned: int  # of them, unused
    held: int  # concurrency permits
    expired: int  # workers that were silent for too long
    refused: int  # requests with a token that was not, or no longer, theirs
    decreases: int
    rate_per_s: float  # 0 for none
    concurrency: int  # 0 for none
    paused_ns: int  # until calls go on


class _Session:
    """A worker with a lease."""

    __slots__ = (
        *("token", "number", "seen_ns", "ask_ns", "trip_ns"),
        *("latest", "outstanding", "holding", "waiting"),
    )

    def __init__(self, token: int) -> None:
        self.token = token
        self.number = 0  # of the last grant
        self.seen_ns = 0
        self.ask_ns = -(2**62)  # when it may ask for further rate permits
        self.trip_ns = 0  # how long answers take to come
        self.latest = 0  # rate permits of the last grant
        self.outstanding = 0  # rate permits that may yet come back
        self.holding = 0  # concurrency permits
        self.waiting = 0  # and those that it could use


class PermitLedger:
    """Grants permits of a job's rate, its concurrency or both.

    Threading: one thread at a time, such as an endpoint's.
    """

    def __init__(self, rate: Rate | None = None, concurrency: Concurrency | None = None) -> None:
        full = rate.per_second if rate else 0.0
        self._rate = Aimd(full, rate.adaptive if rate else None)
        self._burst = rate.burst_permits if rate else 0
        places = concurrency.limit if concurrency else 0
        self._places = Aimd(float(places), concurrency.adaptive if concurrency else None)
        self._line_ns = float(-(2**62))  # the next moment that nobody has
        self._turn_ns = float(-(2**62))  # when the next who waits for it may ask
        self._sessions: dict[str, _Session] = {}
        self._held = 0
        self._tokens = 0
        self._active = 1
        self._lead_ns = LEAD_NS
        self._counted_ns = -(2**62)
        self._granted = self._returned = self._expired = self._refused = 0

    def lease(self, request: LeaseRequest, now_ns: int) -> Grant:
        """Answer a request that arrived now."""
        self._expire(now_ns)
        session = self._sessions.get(request.worker)
        if session is None or session.token != request.token:
            return self._join(request, session, now_ns)
        if request.number != session.number:
            self._take_back(session, session.latest, now_ns)
        self._take_back(session, request.unused, now_ns)
        session.seen_ns = now_ns
        session.trip_ns = request.trip_ns
        self._lead_ns = max(self._lead_ns, _lead(request.trip_ns))
        session.number += 1
        session.latest = 0
        if request.throttled:
            for limit in (self._rate, self._places):
                limit.throttled(request.started_ns, request.retry_after_ns, now_ns)
        moments = self._moments(session, request.wanted, now_ns)
        self._share(session, request, now_ns)
        return self._grant(session, now_ns, moments)

    def leave(self, worker: str, token: int, unused: int, now_ns: int) -> None:
        """A worker is done; nothing if it is not, or no longer, one of ours."""
        session = self._sessions.get(worker)
        if session is not None and session.token == token:
            self._take_back(session, unused, now_ns)
            self._forget(worker, session)

    def statistics(self, now_ns: int) -> LimitStatistics:
        """Counts so far, and the limits of this moment."""
        paused = max(self._rate.paused_until_ns, self._places.paused_until_ns)
        return LimitStatistics(
            workers=len(self._sessions),
            granted=self._granted,
            returned=self._returned,
            held=self._held,
            expired=self._expired,
            refused=self._refused,
            decreases=self._rate.decreases + self._places.decreases,
            rate_per_s=self._rate.limit(now_ns),
            concurrency=int(self._places.limit(now_ns)),
            paused_ns=max(paused - now_ns, 0),
        )

    # --- sessions

    def _join(self, request: LeaseRequest, before: _Session | None, now_ns: int) -> Grant:
        """A new worker, or one whose lease is over: a token, and nothing yet but what it uses."""
        refused = request.token != 0
        self._refused += refused
        if before is not None:  # the same name, so the same worker: its first answer was lost
            self._forget(request.worker, before)
        self._tokens += 1
        session = self._sessions[request.worker] = _Session(self._tokens)
        session.seen_ns = now_ns
        session.number = 1
        self._counted_ns = -(2**62)
        moments = _NO_MOMENTS
        if refused:
            # It keeps what its running calls need and cannot be told to stop them.
            session.holding = request.holding
            self._held += request.holding
        else:
            moments = self._moments(session, request.wanted, now_ns)
            self._share(session, request, now_ns)
        return self._grant(session, now_ns, moments, refused=refused)

    def _expire(self, now_ns: int) -> None:
        if now_ns - self._counted_ns < _RECOUNT_NS:
            return
        self._counted_ns = now_ns
        for worker, session in list(self._sessions.items()):
            if now_ns - max(session.seen_ns, session.ask_ns) > LEASE_NS:
                self._forget(worker, session)
                self._expired += 1
        # Workers that were heard of lately, or are to come: those that died are soon left out.
        since_ns = now_ns - 2 * self._lead_ns
        sessions = self._sessions.values()
        active = [
            one for one in sessions if max(one.seen_ns, one.ask_ns) + 2 * one.trip_ns >= since_ns
        ]
        self._active = len(active)
        self._lead_ns = _lead(max([one.trip_ns for one in active], default=0))

    def _forget(self, worker: str, session: _Session) -> None:
        self._held -= session.holding
        del self._sessions[worker]
        self._counted_ns = -(2**62)

    def _grant(
        self,
        session: _Session,
        now_ns: int,
        moments: tuple[int, int, int],
        refused: bool = False,
    ) -> Grant:
        first_ns, span_ns, overdue = moments
        return Grant(
            token=session.token,
            number=session.number,
            now_ns=now_ns,
            permits=session.latest,
            overdue=overdue,
            first_ns=first_ns,
            span_ns=span_ns,
            patience_ns=PATIENCE_NS,
            ask_at_ns=max(session.ask_ns, now_ns),
            paused_until_ns=max(self._rate.paused_until_ns, self._places.paused_until_ns),
            holding=self._allowance(session, now_ns),
            lease_ns=LEASE_NS,
            refused=refused,
        )

    # --- rate

    def _moments(self, session: _Session, wanted: int, now_ns: int) -> tuple[int, int, int]:
        """Give a worker the next moments on the line: the first, how long, and how many at once.

        None to one that has two slices, or wants none, or where they are far off.  Moments that
        are over, as there are after a pause, are saved up to the burst, and count as of now.
        """
        rate = self._rate.limit(now_ns) / 1e9  # permits a ns
        if not rate or wanted <= 0 or session.ask_ns > now_ns:
            return _NO_MOMENTS
        earliest = max(now_ns - (self._burst - 1) / rate, self._rate.paused_until_ns)
        self._line_ns = max(self._line_ns, earliest)
        if self._line_ns > now_ns + 2 * self._lead_ns:
            session.ask_ns = self._turn(rate)
            return _NO_MOMENTS
        overdue = min(max(int((now_ns - self._line_ns) * rate) + 1, 0), wanted)
        ahead = max(1, int(rate * self._lead_ns / max(self._active, 1)))
        if overdue <= 1:
            overdue = 0
        elif self._lead_ns == LEAD_NS:
            ahead = 0  # they are asked for with the answer, and soon there
        ahead = min(ahead, wanted - overdue)
        count = overdue + ahead
        first, span = max(int(self._line_ns), now_ns), int(ahead / rate)
        self._line_ns += count / rate
        session.ask_ns = first + span - span // max(ahead, 1) - self._lead_ns
        session.latest = count
        session.outstanding += count
        self._granted += count
        return first, span, overdue

    def _turn(self, rate: float) -> int:
        """When to ask again: a lead before a moment is there that nobody before it waits for."""
        first = self._line_ns - self._lead_ns
        last = first + max(self._active - 1, 0) / rate  # more than that wait no longer
        turn = min(max(self._turn_ns, first), last)
        self._turn_ns = turn + 1 / rate
        return int(turn)

    def _take_back(self, session: _Session, unused: int, now_ns: int) -> None:
        """Moments that nobody used are there once more; the burst says how many at most.

        They are others, later ones: what a window has more by that is what came back in it of
        moments before it.  So where leads are long, not all come back.
        """
        rate = self._rate.limit(now_ns) / 1e9
        unused = min(unused, session.outstanding)
        if rate and unused > 0:
            session.outstanding -= unused
            if self._lead_ns > LEAD_NS:
                unused = min(unused, int(LEAD_NS * rate / max(self._active, 1)))
            self._line_ns -= unused / rate
            self._returned += unused

    # --- concurrency

    def _share(self, session: _Session, request: LeaseRequest, now_ns: int) -> None:
        """Let a worker have what it still holds, and what it may have of the places left."""
        limit = int(self._places.limit(now_ns))
        if not limit:
            return
        self._held += request.holding - session.holding
        session.holding = request.holding
        session.waiting = request.waiting
        free = limit - self._held
        if free <= 0 or request.waiting <= 0 or self._places.paused_until_ns > now_ns:
            return
        share = self._fair(limit)
        below = max(share - session.holding, 0)
        others = self._owed(share) - min(below, request.waiting)
        more = min(request.waiting, max(below, free - others), free)
        session.holding += more
        self._held += more

    def _fair(self, limit: int) -> int:
        sessions = self._sessions.values()
        return max(1, limit // max(1, sum(one.holding + one.waiting > 0 for one in sessions)))

    def _owed(self, share: int) -> int:
        """Places that workers with less than their share wait for."""
        sessions = self._sessions.values()
        return sum(min(one.waiting, share - one.holding) for one in sessions if one.holding < share)

    def _allowance(self, session: _Session, now_ns: int) -> int:
        """The share that a worker may hold: its own, or less if others have too little."""
        limit = int(self._places.limit(now_ns))
        share = self._fair(limit)
        if session.holding <= share:
            return session.holding
        short = self._owed(share) + max(self._held - limit, 0) - max(limit - self._held, 0)
        return max(share, session.holding - max(short, 0))


def _lead(trip_ns: int) -> int:
    """How far ahead a worker needs moments whose answers take so long."""
    return min(max(LEAD_NS, TRIPS * trip_ns), _LONGEST_LEAD_NS)
