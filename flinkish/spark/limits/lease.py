"""A worker's lease: permits in hand, and when to ask for more; sans I/O, time is an argument.

Invariants:
  L1  A rate permit is used in [its moment, its moment + patience] on the ledger's clock, whatever
      the clocks of the two machines say (`RemoteClock`); else it is reported unused, once.
  L2  `busy` never exceeds what the last grant allowed, except where a grant allowed less than
      was in use; then nothing starts until calls have ended.  Nor does anything start on a lease
      that is over: it is over here before it is over for the ledger.
  L3  One request is under way at a time, and a grant that answers another one is not used.
"""

from __future__ import annotations

from collections import deque

from flinkish.spark.limits.messages import TRIPS, Grant, LeaseRequest

__all__ = ["Lease", "RemoteClock"]

NEVER = 2**62
_DRIFT = 2e-4  # of two clocks: twice what quartz is allowed
_FRESH_NS = 100_000_000  # how often a worker asks whose number of places should change


class RemoteClock:
    """An estimate of a clock elsewhere, from answers that carry its time.

    An answer to a question asked at s that came at r carries a time between the two.  Each one
    bounds how far the clocks are apart; together they bound it about as well as the quickest.
    """

    def __init__(self) -> None:
        self.least_ns = -NEVER  # of local minus remote
        self.most_ns = NEVER
        self._at_ns = 0

    def learn(self, remote_ns: int, sent_ns: int, received_ns: int) -> None:
        """Take in an answer."""
        drift = int((received_ns - self._at_ns) * _DRIFT) + 1
        apart = int((received_ns - sent_ns) * _DRIFT)  # while the messages travelled
        now = sent_ns - remote_ns - apart, received_ns - remote_ns + apart
        least, most = max(self.least_ns - drift, now[0]), min(self.most_ns + drift, now[1])
        if least > most:  # one of the machines slept
            least, most = now
        self.least_ns, self.most_ns, self._at_ns = least, most, received_ns

    def never_early(self, remote_ns: int) -> int:
        """A local time by which it is certainly that late there."""
        return remote_ns + self.most_ns

    def doubt_ns(self) -> int:
        """How much later than it is the other clock may be thought to be."""
        return self.most_ns - self.least_ns


class Lease:
    """Permits of one worker; ``paced``: it needs rate permits, ``counted``: and places.

    Threading: one thread at a time.  Complexity: O(1) a permit.
    """

    def __init__(self, worker: str, *, paced: bool, counted: bool) -> None:
        self.worker = worker
        self.busy = 0
        self.look_at_ns = -NEVER  # when `request` may have something to ask, nobody waiting
        self.paused_until_ns = -NEVER
        self.clock = RemoteClock()
        self._paced = paced
        self._counted = counted
        self._places = 0 if counted else NEVER
        self._token = self._number = 0
        # The moments in hand: those of the first slice in parts, further slices as they came.
        self._due_ns = NEVER  # moment of the next permit
        self._patience_ns = 0
        self._first_ns = self._span_ns = self._count = self._next = 0
        self._slices: deque[tuple[int, int, int]] = deque()
        self._ahead = 0  # permits in `_slices`
        self._unused = 0
        self._peak = 0  # most calls at once since _peak_from_ns
        self._peak_from_ns = -NEVER
        self._taken = 0  # since _speed_from_ns
        self._speed_from_ns = -NEVER
        self._speed = 0.0  # permits taken a ns
        self._sent_ns = 0  # when the request under way was sent
        self._trip_ns = 0  # how long answers take to come, on average
        self._reported = 0  # unused permits in it
        self._lease_ns = 0
        self._over_ns = NEVER  # when the lease is over unless it is renewed
        self._ask_ns = -NEVER  # when the ledger may have more rate permits
        self._asked_ns = -NEVER  # when the last request was sent
        self._hold_off_ns = -NEVER  # after one that failed
        self._throttled = False
        self._started_ns = -NEVER
        self._retry_after_ns = 0
        self._telling: LeaseRequest | None = None  # the request under way

    # --- permits

    def take(self, now_ns: int) -> bool:
        """Start a call now, if it may; `done` ends it."""
        if self.busy >= self._places or now_ns < self.paused_until_ns or now_ns > self._over_ns:
            return False
        if self._paced:
            if now_ns - self._due_ns > self._patience_ns:
                self._skip(now_ns)
            if now_ns < self._due_ns:
                return False
            self._step()
        self._taken += 1
        self.busy += 1
        if self.busy > self._peak:
            self._peak = self.busy
        return True

    def done(self) -> None:
        """A call has ended."""
        self.busy -= 1

    def untake(self) -> None:
        """A call that `take` allowed is not started after all."""
        self.busy -= 1
        self._unused += self._paced

    def throttled(self, started_ns: int, retry_after_ns: int, now_ns: int) -> None:
        """A call started then was told that it was too much; the ledger is to hear of it now."""
        self._throttled = True
        self._started_ns = max(self._started_ns, started_ns)
        self._retry_after_ns = max(self._retry_after_ns, retry_after_ns)
        self.paused_until_ns = max(self.paused_until_ns, now_ns + retry_after_ns)
        self.look_at_ns = now_ns

    @property
    def in_hand(self) -> int:
        """Rate permits that it could still use."""
        return self._count - self._next + self._ahead

    def _step(self) -> None:
        """On to the next moment."""
        self._next += 1
        if self._next < self._count:
            self._due_ns = self._first_ns + self._next * self._span_ns // self._count
        elif self._slices:
            self._first_ns, self._span_ns, self._count = self._slices.popleft()
            self._ahead -= self._count
            self._next = 0
            self._due_ns = self._first_ns
        else:
            self._count = self._next = 0
            self._due_ns = NEVER

    def _skip(self, now_ns: int) -> None:
        """Past the moments that are over."""
        while now_ns - self._due_ns > self._patience_ns:
            if self._span_ns:
                past = now_ns - self._patience_ns - self._first_ns
                over = min(-(-past * self._count // self._span_ns), self._count)
            else:
                over = self._count
            self._unused += max(over - self._next, 1)
            self._next = max(over - 1, self._next)
            self._step()

    # --- requests

    def request(self, waiting: int, now_ns: int) -> LeaseRequest | None:
        """The next request, with so many calls waiting; None if there is none, or one is under way.

        The answer goes to `granted`, its absence to `failed`.
        """
        if self._telling is not None or now_ns < self._hold_off_ns:
            return None
        if self._paced and now_ns - self._due_ns > self._patience_ns:
            self._skip(now_ns)
        wanted = self._wanted(waiting, now_ns) if self._paced else 0
        missing = self._missing(waiting)
        paced = wanted > 0 and now_ns >= self._ask_ns
        if not (paced or self._throttled or now_ns >= self._renew_at(missing)):
            self.look_at_ns = max(self._ask_ns, now_ns + _FRESH_NS // 10)
            return None
        self._sent_ns = self._asked_ns = now_ns
        self.look_at_ns = NEVER
        self._reported = self._unused
        asked = LeaseRequest(
            worker=self.worker,
            token=self._token,
            number=self._number,
            wanted=max(wanted, 0),
            unused=self._unused,
            holding=self._keep(now_ns),
            waiting=missing,
            throttled=self._throttled,
            started_ns=self._started_ns - self.clock.least_ns if self._throttled else 0,
            retry_after_ns=self._retry_after_ns,
            trip_ns=self._trip_ns,
        )
        self._telling, self._throttled, self._retry_after_ns = asked, False, 0
        return asked

    def granted(self, grant: Grant, now_ns: int) -> None:
        """Take in the answer to the request under way."""
        local = self.clock.never_early
        self.clock.learn(grant.now_ns, self._sent_ns, now_ns)
        self._trip_ns += (now_ns - self._sent_ns - self._trip_ns) // 8
        self._token, self._number = grant.token, grant.number
        self._lease_ns = grant.lease_ns
        if self._counted:
            self._over_ns = self._sent_ns + grant.lease_ns
            self._places = grant.holding
        self._telling = None
        self.paused_until_ns = max(self.paused_until_ns, local(grant.paused_until_ns))
        if grant.refused:
            self.drop()
            self._unused = 0  # they were the business of the lease that is over
            self._ask_ns = self.look_at_ns = now_ns
            return
        self._unused -= self._reported
        if grant.permits:
            # Later by the doubt at the beginning, so earlier by it at the end; where the network
            # is slower than patience lasts, better a little late than never.
            doubt = self.clock.doubt_ns()
            self._patience_ns = max(grant.patience_ns - doubt, grant.patience_ns // 4)
            first_ns, others = local(grant.first_ns), grant.permits - grant.overdue
            if grant.overdue:
                self._slices.append((first_ns, 0, grant.overdue))
                first_ns += grant.span_ns // max(others, 1)
            if others:
                self._slices.append((first_ns, grant.span_ns, others))
            self._ahead += grant.permits
            if self._next >= self._count:
                self._count = self._next = 0
                self._step()
        self._ask_ns = self.look_at_ns = local(grant.ask_at_ns)

    def failed(self, now_ns: int, retry_after_ns: int) -> None:
        """The request under way was not answered, and a later answer does not count."""
        if self._telling is not None and self._telling.throttled:
            self._throttled = True
            self._retry_after_ns = max(self._retry_after_ns, self._telling.retry_after_ns)
        self._telling = None
        self._ask_ns = self.look_at_ns = self._hold_off_ns = now_ns + retry_after_ns

    def drop(self) -> int:
        """Give up the rate permits in hand; how many there are to report unused."""
        self._unused += self.in_hand
        self._count = self._next = self._ahead = 0
        self._slices.clear()
        self._due_ns = NEVER
        return self._unused

    @property
    def token(self) -> int:
        """The token of the lease; 0 before the first grant."""
        return self._token

    def wake_at(self, waiting: int, now_ns: int) -> int:
        """When to look again: `take` may have more, or `request` something to ask."""
        at = NEVER
        if self._telling is None:
            at = self._renew_at(self._missing(waiting))
            if self._paced and waiting > self.in_hand:
                at = min(at, self._ask_ns)
            at = max(at, self._hold_off_ns)
        if waiting and self.busy < self._places and now_ns <= self._over_ns:
            due = self._due_ns if self._paced else -NEVER
            at = min(at, max(due, self.paused_until_ns))
        return at

    def _missing(self, waiting: int) -> int:
        """Calls that wait for a place."""
        return max(waiting - max(self._places - self.busy, 0), 0)

    def _renew_at(self, missing: int) -> int:
        """When to ask because of places: to have more, to give some back, to keep them."""
        if not self._counted or not (self._token or missing):
            return NEVER
        if missing and not self._token:
            return -NEVER
        change = missing or self._places > self.busy
        return self._asked_ns + (_FRESH_NS if change else self._lease_ns // 3)

    def _keep(self, now_ns: int) -> int:
        """Places to hold on to: as many as there lately were calls at once."""
        if not self._counted:
            return 0
        if now_ns > self._over_ns:
            self._places = 0
        if now_ns - self._peak_from_ns >= _FRESH_NS:
            self._places = min(self._places, self._peak)
            self._peak, self._peak_from_ns = self.busy, now_ns
        self._places = max(self._places, 0)
        return max(self._places, self.busy)

    def _wanted(self, waiting: int, now_ns: int) -> int:
        """Permits for those who wait, and for as many as there lately were in two leads' time."""
        spent = now_ns - self._speed_from_ns
        if spent >= _FRESH_NS // 10:
            self._speed = self._taken / spent
            self._taken, self._speed_from_ns = 0, now_ns
        return waiting + int(self._speed * max(_FRESH_NS, 2 * TRIPS * self._trip_ns)) - self.in_hand
