"""Ways to ask the model about tickets: one by one, on threads, and asynchronously."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import Any

import aiohttp
import pandas as pd
from progress import BoardAddress, Reporter

from flinkish.datastream.functions import AsyncFunction

SCHEMA = "id bigint, topic string, priority int"
ATTEMPTS = 6
TIMEOUT_S = 3.0  # of an attempt; there are services that do not answer


class Overloaded(Exception):
    """The service asks for fewer calls (429); ``retry_after`` in seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"too many requests, come back in {retry_after} s")
        self.retry_after = retry_after


class Unavailable(Exception):
    """The service failed (5xx)."""


def check(status: int, headers: Any) -> None:
    """Raise what a status means."""
    if status == 429:
        raise Overloaded(float(headers.get("retry-after", 1)))
    if status >= 500:
        raise Unavailable(f"status {status}")


class Triage(AsyncFunction):
    """Asks for one ticket; flinkish sees to how many at once, how often, and what if it fails."""

    def __init__(self, port: int, caller: str, board: BoardAddress | None = None) -> None:
        self.url = f"http://127.0.0.1:{port}/v1/triage"
        self.caller = caller
        self.board = board

    async def open(self, runtime_context: Any) -> None:
        """One pool of connections for all calls of the task."""
        self.reporter = Reporter(self.board) if self.board else None
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            headers={"x-caller": self.caller},
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_S),
        )

    async def async_invoke(self, row: Any) -> list[tuple[int, str, int]]:
        """Topic and priority of a ticket."""
        ticket = {"id": row["id"], "subject": row["subject"], "body": row["body"]}
        try:
            sent = {"x-sent": str(time.monotonic_ns())}
            async with self.session.post(self.url, json=ticket, headers=sent) as response:
                check(response.status, response.headers)
                answer = await response.json()
        except Exception as error:
            self.count(type(error).__name__)
            raise
        self.count("answered")
        return [(row["id"], answer["topic"], answer["priority"])]

    def count(self, what: str) -> None:
        """Tell the driver, if it wants to know."""
        if self.reporter:
            self.reporter.count(what)

    async def close(self) -> None:
        """Close the pool."""
        if self.reporter:
            self.reporter.close()
        await self.session.close()


# --- without flinkish


class Blocking:
    """A connection, kept open, that blocks; with retries as one writes them."""

    def __init__(self, port: int, caller: str) -> None:
        self.port = port
        self.caller = caller
        self.connection: http.client.HTTPConnection | None = None

    def ask(self, number: int, subject: str, body: str) -> tuple[str, int]:
        """Topic and priority of a ticket."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self.attempt({"id": number, "subject": subject, "body": body})
            except Overloaded as error:
                time.sleep(error.retry_after)
            except (Unavailable, OSError, http.client.HTTPException):
                self.connection = None
                time.sleep(0.1 * 2**attempt)
        raise Unavailable(f"no answer for ticket {number} in {ATTEMPTS} attempts")

    def attempt(self, ticket: dict[str, Any]) -> tuple[str, int]:
        """Ask once."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        self.connection.request("POST", "/v1/triage", json.dumps(ticket), {"x-caller": self.caller})
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        check(response.status, response.headers)
        return answer["topic"], answer["priority"]


def one_by_one(port: int, caller: str) -> Any:
    """What a plain UDF does: a call, then the next."""

    def ask(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        client = Blocking(port, caller)
        for batch in batches:
            yield _answers(batch, [client.ask(*row) for row in _rows(batch)])

    return ask


def on_threads(port: int, caller: str, threads: int) -> Any:
    """What one does next: a pool of threads in mapInPandas."""

    def ask(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        mine = local()

        def call(row: tuple[int, str, str]) -> tuple[str, int]:
            if not hasattr(mine, "client"):
                mine.client = Blocking(port, caller)
            answer: tuple[str, int] = mine.client.ask(*row)
            return answer

        with ThreadPoolExecutor(threads) as pool:
            for batch in batches:
                yield _answers(batch, list(pool.map(call, _rows(batch))))

    return ask


def _rows(batch: pd.DataFrame) -> list[tuple[int, str, str]]:
    return list(batch[["id", "subject", "body"]].itertuples(index=False, name=None))


def _answers(batch: pd.DataFrame, answers: list[tuple[str, int]]) -> pd.DataFrame:
    columns = pd.DataFrame(answers, columns=["topic", "priority"], index=batch.index)
    return pd.concat([batch[["id"]], columns], axis=1)
