"""Patience with Spark, which starts JVMs and Python processes before anything happens."""

from functools import partial

from tests import waiting

SOON = 300.0  # seconds
until = partial(waiting.until, seconds=SOON)
HEARTBEATS = {"heartbeat_interval": 50, "heartbeat_timeout": 120_000}  # ms
