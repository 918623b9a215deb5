"""Limits of time that tests of services do without: a busy machine stands still for longer."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from flinkish.rpc import RpcService
from flinkish.rpc.transport import Transport

# Shorter than tests wait (PATIENCE), so that a limit that was reached is what they show; and than
# the minute after which a worker looks for itself, so that no wake-up is lost unnoticed.
LONG = 50_000
LIMITS = [
    (RpcService.__init__, {"ask_timeout": LONG}),
    (Transport.__init__, {"connect_timeout": LONG, "send_timeout": LONG}),
    (Transport.__init__, {"heartbeat_interval": "10 minutes", "heartbeat_timeout": "1 hour"}),
]


@contextmanager
def patient() -> Iterator[None]:
    """Meanwhile these are the limits of services and transports that are made without others."""
    with ExitStack() as stack:
        for made_by, limits in LIMITS:
            assert limits.keys() <= made_by.__kwdefaults__.keys()
            stack.enter_context(patch.dict(made_by.__kwdefaults__, limits))
        yield
