"""Services of RPC between a driver and its workers: how long they take to meet, and to part."""

import concurrent.futures
from contextlib import suppress

from flinkish.rpc import RpcService

__all__ = ["CONNECT_MS", "end"]

CONNECT_MS = 30_000
_STOP_S = 5.0  # for how long the end of a driver waits for a service of its


def end(service: RpcService) -> None:
    """Close it; what takes long to stop goes on to do so when this has returned."""
    with suppress(concurrent.futures.TimeoutError):
        service.close_async().exception(_STOP_S)
