"""A mock of a model behind HTTP, with what makes such services hard to call.

    python model_server.py --log requests.log [--rate 1500] [--latency-ms 200]

``POST /v1/triage`` takes a ticket as JSON and gives ``{"topic": ..., "priority": ...}`` after a
while: latencies are log-normal, with one in a hundred ten times as long.  Some first attempts get
a 429 with ``retry-after``, some a 503, some no answer at all: which ones follows from the ticket.
Beyond ``--rate`` calls a second everybody gets a 429.  ``GET /stats`` counts.

Every request is a line of the log: when it was sent (the header ``x-sent``, else 0) and when it
came in, in ns of the machine's monotonic clock, who asked (``x-caller``), ticket, status.  Prints
its port, ends with its standard input.  Loopback only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from typing import Any, TextIO

from tickets import triage

REASONS = {200: "OK", 404: "Not Found", 429: "Too Many Requests", 503: "Service Unavailable"}
BURST_S = 0.1  # seconds' worth of calls that may come at once


class Model:
    """What the server knows: its limits, and whom it has answered."""

    def __init__(self, log: TextIO, rate: float, latency_ms: float, trouble: float) -> None:
        self.log = log
        self.rate = rate
        self.latency_ms = latency_ms
        self.trouble = trouble
        self.answered: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self._seen: Counter[tuple[str, int]] = Counter()
        self._line = 0.0  # as of when the calls so far would have been allowed

    def verdict(self, caller: str, ticket: int) -> tuple[int, float]:
        """The status that a request gets, 0 for none, and after how many seconds."""
        now = time.monotonic()
        self._line = max(self._line, now - BURST_S) + 1 / self.rate
        if self._line > now:
            return 429, 0.0
        self._seen[caller, ticket] += 1
        chance = random.Random(f"{ticket} {self._seen[caller, ticket]}")
        fate = chance.random() / self.trouble if self.trouble else 1.0
        if fate < 0.003:
            return 429, 0.0
        if fate < 0.013:
            return 503, self.latency_ms / 2000
        if fate < 0.015:
            return 0, 0.0
        slow = 10 if chance.random() < 0.01 else 1
        return 200, slow * chance.lognormvariate(0, 0.4) * self.latency_ms / 1000


class Connection(asyncio.Protocol):
    """One client's connection: a request after the other."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.buffer = b""
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """As asyncio declares it."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Take in bytes, and serve the requests that are complete."""
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            request, *lines = self.buffer[:end].decode("latin-1").split("\r\n")
            headers = {
                name.strip().lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines)
            }
            size = end + 4 + int(headers.get("content-length", 0))
            if len(self.buffer) < size:
                return
            body, self.buffer = self.buffer[end + 4 : size], self.buffer[size:]
            self.serve(request, headers, body)

    def serve(self, request: str, headers: dict[str, str], body: bytes) -> None:
        """Answer a request, now or later."""
        if request.startswith("GET /stats"):
            answered, statuses = dict(self.model.answered), dict(self.model.statuses)
            self.answer(200, {"answered": answered, "statuses": statuses})
            return
        if not request.startswith("POST /v1/triage"):
            self.answer(404, {"error": request})
            return
        ticket = json.loads(body)
        caller, sent = headers.get("x-caller", "?"), headers.get("x-sent", "0")
        status, after = self.model.verdict(caller, ticket["id"])
        line = f"{sent} {time.monotonic_ns()} {caller} {ticket['id']} {status}\n"
        self.model.log.write(line)
        self.model.statuses[status] += 1
        if status:
            loop = asyncio.get_running_loop()
            loop.call_later(after, self.triage, caller, status, ticket)

    def triage(self, caller: str, status: int, ticket: dict[str, Any]) -> None:
        """Give the answer whose time has come."""
        if self.transport.is_closing():
            return
        if status == 200:
            self.model.answered[caller] += 1
            topic, priority = triage(ticket["subject"], ticket["body"])
            self.answer(status, {"topic": topic, "priority": priority})
        else:
            self.answer(status, {"error": REASONS[status]})

    def answer(self, status: int, content: dict[str, Any]) -> None:
        """Send a response."""
        body = json.dumps(content).encode()
        retry = "retry-after: 1\r\n" if status == 429 else ""
        head = (
            f"HTTP/1.1 {status} {REASONS[status]}\r\n{retry}content-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self.transport.write(head.encode() + body)


async def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--log", required=True)
    parser.add_argument("--rate", type=float, default=1500, help="calls a second")
    parser.add_argument("--latency-ms", type=float, default=200, help="median")
    parser.add_argument("--trouble", type=float, default=1, help="0 for none, 2 for twice as much")
    asked = parser.parse_args()
    loop = asyncio.get_running_loop()
    with open(asked.log, "w", buffering=1 << 16) as log:
        model = Model(log, asked.rate, asked.latency_ms, asked.trouble)
        server = await loop.create_server(lambda: Connection(model), "127.0.0.1", 0, backlog=4096)
        print(server.sockets[0].getsockname()[1], flush=True)
        ended = loop.run_in_executor(None, sys.stdin.read)
        while not ended.done():
            await asyncio.wait([ended], timeout=0.2)
            log.flush()
        server.close()


if __name__ == "__main__":
    asyncio.run(main())
