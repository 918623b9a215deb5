"""Watch lists and their timer."""

from collections.abc import Hashable, Iterable
from typing import Any, final

from typing_extensions import disjoint_base

from flinkish._core.purgatory.delayed import DelayedOperation, OperationHome
from flinkish._core.wheel.timer_tasks import TaskTimer

@final
class Shard:
    """Keys and their watchers."""

    def close(self) -> list[DelayedOperation]: ...
    def trim(self) -> None: ...
    def _check(self) -> None: ...

@disjoint_base
class WatchLists(OperationHome):
    """Operations by key, and the timer that expires them: the hot half of the purgatory.

    The wall provides `_keys(keys)`, a tuple or an error; `_refused(operation)` and
    `_foreign(operation, home)`, which raise; and what OperationHome wants.
    """

    def __init__(self, timer: TaskTimer) -> None: ...
    @property
    def closed(self) -> bool:
        """Whether it takes no more operations, since ``shutdown``."""

    @property
    def entered(self) -> int:
        """How many operations were watched since it was made."""

    @property
    def left(self) -> int:
        """How many of the watched operations were completed or refused since then."""

    def try_complete_else_watch(
        self, operation: DelayedOperation, keys: Iterable[Hashable]
    ) -> bool:
        """Complete `operation` now, or watch it under `keys` until it is, or expires.

        True if this call completed it.  `try_complete` is called once, and once more when it
        is watched, so that no change in between is missed (Kafka: DelayedOperationPurgatory); all
        under the operation's lock.  What it raises arrives here, and then this call watched
        nothing.
        """

    def check_and_complete(self, key: Hashable) -> int:
        """Try every operation that is watched under `key`; how many this call completed.

        What an operation raises is reported and counted, and keeps no other from its turn.  A
        DeadlockError (in debug mode) is the caller's, and is raised when all had theirs.  Call it
        without any lock that a completion may want.
        """

    def cancel_for_key(self, key: Hashable) -> list[Any]:
        """Stop watching `key`: its operations, their timers cancelled, none completed.

        One that is watched under another key too can still complete there.
        """

    def watched(self) -> int:
        """How many watches there are: an operation counts once for each of its keys.

        Completed operations leave at once, where Kafka's stay until a check.
        """

    def num_delayed(self) -> int:
        """How many operations have a timer running."""

    def _keys_watched(self) -> int: ...
    def _trim(self) -> None: ...
    def _close_watches(self) -> list[DelayedOperation] | None: ...
    def _check(self) -> None: ...
