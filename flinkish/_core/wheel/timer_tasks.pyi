"""Timer tasks and the timer that holds them."""

from collections.abc import Callable
from typing import final

from typing_extensions import disjoint_base

from flinkish._core.wheel.timing_wheel import TimingWheel

@disjoint_base
class TimerTask:
    """Something to run after a delay; subclasses override `run`.

    `delay_ms` is an int that fits 64 bits; anything else goes through `_read_delay`, which the
    wall provides.  Zero or less is due at once (Kafka: SystemTimer).
    """

    def __init__(self, delay_ms: object) -> None: ...
    @property
    def delay_ms(self) -> int:
        """The delay that it was made with, in ms."""

    def cancel(self) -> bool:
        """Keep it from running: True if this call did, and then it never runs.

        As in Kafka's TimerTaskList.  False when it is not pending: not added yet, running or run,
        or cancelled before.
        """

    def is_cancelled(self) -> bool:
        """Whether `cancel` won, and it was not added again since."""

    @property
    def _state(self) -> int: ...

@final
class DueTasks:
    """Tasks that were due at a time."""

    def __init__(self, tasks: list[TimerTask], now: int) -> None: ...
    def __len__(self) -> int: ...
    def run(
        self,
        report: Callable[[TimerTask, BaseException], object],
        clock: Callable[[], int] | None = None,
        until: int = ...,
    ) -> bool: ...
    def cancel(self) -> int: ...

@disjoint_base
class TaskTimer:
    """A wheel of tasks and the clock they are due by; the wall adds threads.

    It calls, on the adding thread and outside of any section: `_wake()` after an add that is
    due before `wake_at`, `_hand_over(due)` for a task that is due already (False: no room,
    keep it in the wheel); and, to raise, `_rejected(task)` for an add after `_close_adds` and
    `_unset(task)` for a task without a delay.
    """

    def __init__(self, wheel: TimingWheel, clock: Callable[[], int]) -> None: ...
    @property
    def closed(self) -> bool:
        """Whether it takes no more tasks."""

    @property
    def added(self) -> int:
        """How many tasks were added since it was made."""

    @property
    def cancelled(self) -> int:
        """How many of the added tasks were cancelled."""

    def add(self, task: TimerTask) -> None:
        """Run `task` after its delay; adding a pending one again moves it (Kafka: TimerTaskList).

        One whose delay is not positive goes to the executor at once and is not counted in
        `size` (Kafka: SystemTimer).  RejectedExecutionError after `close`.
        """

    def size(self) -> int:
        """How many tasks wait for their time."""

    def _before_sleep(self) -> float | None: ...
    def _take_due(self, limit: int) -> DueTasks | None: ...
    def _close_adds(self) -> bool: ...
    def _take_all(self) -> DueTasks: ...
