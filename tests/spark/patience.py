"""Patience with Spark, which starts JVMs and Python processes before anything happens."""

from functools import partial
from typing import Any

from tests import waiting

SOON = 300.0  # seconds
HOUR_MS = 3_600_000
until = partial(waiting.until, seconds=SOON)
HEARTBEATS = {"heartbeat_interval": 50, "heartbeat_timeout": 120_000}  # ms


def patient(gateway: Any) -> Any:
    """A gateway whose asks fail by nothing but what happens to those who are asked."""
    return gateway.with_timeout(HOUR_MS)
