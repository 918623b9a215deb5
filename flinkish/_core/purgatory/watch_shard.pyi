"""One of the shards of the watch lists."""

from typing import final

from flinkish._core.purgatory.delayed import DelayedOperation

@final
class Shard:
    """Keys and their watchers."""

    def close(self) -> list[DelayedOperation]: ...
    def trim(self) -> None: ...
    def _check(self) -> None: ...
