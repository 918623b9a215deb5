"""Layers around calls, as `async_map` makes them on the driver of what users say.

Workers reach the driver in classic Spark: there its process serves the ledgers of limits, each for
as long as the process lives, at the address at which Spark's own workers reach it.  The process of
a Spark Connect client may be anywhere, so there limits are divided beforehand.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame

from flinkish.common.errors import IllegalArgumentError
from flinkish.common.typeinfo import TypeInformation
from flinkish.functions import AsyncRetryStrategy
from flinkish.spark.calls.layers import CallLayer
from flinkish.spark.limits import Concurrency, Rate
from flinkish.spark.results import LedgerLayer, ResumeLedger
from flinkish.spark.session import context_of, driver_host

if TYPE_CHECKING:
    from flinkish.spark.limits.endpoint import LimitServer

__all__ = ["ledger_layer", "limit_layers"]

_PARALLELISM = "spark.default.parallelism"

_lock = threading.Lock()
_servers: dict[tuple[int, str], LimitServer] = {}  # by process and host


def limit_layers(
    frame: DataFrame, rate: Rate | str | None, concurrency: Concurrency | int | None
) -> tuple[CallLayer, ...]:
    """Layers that keep calls for the rows of a DataFrame to limits; none where there are none."""
    rates = None if rate is None else Rate.of(rate)
    places = None if concurrency is None else Concurrency.of(concurrency)
    if rates is None and places is None:
        return ()
    from flinkish.spark.limits.layer import JobLimits, LimitLayer  # needs the extra rpc

    host = _driver(frame)
    if host is None:
        parts = _parallelism(frame, rates, places)
        rates = rates.divided(parts) if rates and rates.scope == "job" else rates
        places = places.divided(parts) if places and places.scope == "job" else places
    found: list[CallLayer] = []
    # Places of the worker's own first: a call that waits for them has not taken from others.
    for scope in ("worker", "job"):
        mine = rates if rates and rates.scope == scope else None
        my_places = places if places and places.scope == scope else None
        if mine is None and my_places is None:
            continue
        address = None
        if scope == "job" and host is not None:
            address, _ = _server(host).serve(mine, my_places)
        found.append(LimitLayer(JobLimits(mine, my_places, address)))
    return tuple(found)


def ledger_layer(
    path: str | os.PathLike[str],
    name: str,
    version: str,
    schema: pa.Schema,
    settings: Mapping[str, Any],
    retry: AsyncRetryStrategy | None,
    output_type: TypeInformation | None,
    time_zone: tzinfo,
) -> CallLayer:
    """A layer that keeps results of a function, and gives them when the same row comes again."""
    ledger = ResumeLedger(os.fspath(path), name, version, schema, dict(settings))
    return LedgerLayer(ledger, _Final(retry) if retry else None, output_type, time_zone)


class _Final:
    """Whether results are not to be tried again."""

    def __init__(self, retry: AsyncRetryStrategy) -> None:
        self._retry = retry

    def __call__(self, results: list[Any]) -> bool:
        again = self._retry.get_retry_predicate().result_predicate()
        return again is None or not again(results)


def _driver(frame: DataFrame) -> str | None:
    """The host at which workers reach this process; None for a client of Spark Connect."""
    context = context_of(frame.sparkSession)
    return None if context is None else driver_host(context)


def _parallelism(frame: DataFrame, *limits: Rate | Concurrency | None) -> int:
    """Tasks that run at once, for limits that must be divided among them."""
    if all(limit is None or limit.scope == "worker" for limit in limits):
        return 1
    stated = frame.sparkSession.conf.get(_PARALLELISM, "")
    if not (stated or "").isdigit() or int(stated or 0) < 1:
        raise IllegalArgumentError(
            "a limit for the whole job is divided among its tasks here, since workers do not reach "
            f"a client of Spark Connect, and {_PARALLELISM} is {stated or 'not set'}: set it to "
            "the number of tasks that run at once, or use scope='worker'"
        )
    return int(stated or 1)


def _server(host: str) -> LimitServer:
    from flinkish.spark.limits.endpoint import LimitServer

    with _lock:
        mine = os.getpid(), host
        server = _servers.get(mine)
        if server is None:
            server = _servers[mine] = LimitServer(host)
            atexit.register(server.close)
        return server
