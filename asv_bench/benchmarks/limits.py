"""Permits of a job's limits: what one costs a call, and what a message costs the ledger.

Figures are seconds for ``PERMITS`` calls, or for ``MESSAGES`` requests: divide to get one.
"""

import asyncio

from flinkish.spark.limits.endpoint import LimitServer, connect
from flinkish.spark.limits.limiter import Limiter, LocalGateway
from flinkish.spark.limits.messages import LeaseRequest, PermitGateway
from flinkish.spark.limits.permits import LEAD_NS, PermitLedger
from flinkish.spark.limits.rate import Concurrency, Rate

PERMITS = 200_000
MESSAGES = 20_000
RATE = Rate("20000000/s")  # so many that nobody waits
PLACES = Concurrency(1_000)
LIMITS = {"rate": (RATE, None), "concurrency": (None, PLACES), "both": (RATE, PLACES)}


class Permits:
    """Permits one after the other; the ledger in this process, or behind `flinkish.rpc`."""

    params = (("rate", "concurrency", "both"), ("near", "endpoint"))
    param_names = ("limit", "ledger")
    number = 1
    repeat = (3, 9, 10.0)
    warmup_time = 0

    def setup(self, limit: str, ledger: str) -> None:
        self.rate, self.places = LIMITS[limit]
        self.server = LimitServer("127.0.0.1") if ledger == "endpoint" else None
        self.gateway: PermitGateway
        if self.server is None:
            self.gateway = LocalGateway(PermitLedger(self.rate, self.places))
        else:
            address, _ = self.server.serve(self.rate, self.places)
            self.gateway = connect(address)

    def teardown(self, limit: str, ledger: str) -> None:
        if self.server is not None:
            self.server.close()

    def time_permit(self, limit: str, ledger: str) -> None:
        async def main() -> None:
            limiter = Limiter(
                self.gateway,
                "worker",
                rate=self.rate,
                concurrency=self.places,
                loop=asyncio.get_running_loop(),
            )
            for _ in range(PERMITS):
                limiter.release(await limiter.acquire())
            limiter.close()

        asyncio.run(main())


class Requests:
    """Requests of many workers to the ledger itself, in virtual time."""

    params = (1, 100)
    param_names = ("workers",)
    number = 1
    repeat = (3, 9, 10.0)
    warmup_time = 0

    def time_request(self, workers: int) -> None:
        ledger = PermitLedger(Rate("100000/s"), Concurrency(10_000))
        now_ns = 1_000_000_000
        tokens = [(0, 0)] * workers
        for turn in range(MESSAGES):
            number = turn % workers
            token, last = tokens[number]
            request = LeaseRequest(
                worker=f"w{number}",
                token=token,
                number=last,
                wanted=1_000,
                unused=0,
                holding=10,
                waiting=10,
                throttled=False,
                started_ns=0,
                retry_after_ns=0,
            )
            grant = ledger.lease(request, now_ns)
            tokens[number] = grant.token, grant.number
            now_ns += LEAD_NS // workers
