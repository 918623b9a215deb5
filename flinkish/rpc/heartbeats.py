"""How often a peer is asked for a sign of life, and when it is given up."""

from __future__ import annotations

from flinkish.common.durations import DurationLike, to_millis
from flinkish.common.errors import IllegalArgumentError

__all__ = ["heartbeats"]


def heartbeats(interval: DurationLike, timeout: DurationLike) -> tuple[int, int]:
    """``heartbeat_interval`` and ``heartbeat_timeout`` in ms, if they go together."""
    beat = to_millis(interval, "heartbeat_interval", minimum=1)
    patience = to_millis(timeout, "heartbeat_timeout", minimum=1)
    if patience < 2 * beat:
        raise IllegalArgumentError(
            f"heartbeat_timeout ({patience} ms) must be at least twice heartbeat_interval ({beat} "
            "ms), or one sign of life that is late is taken for a death"
        )
    return beat, patience
