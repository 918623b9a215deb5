"""Where there must be room before a task takes more input, and how it waits for something."""

from __future__ import annotations

from typing import Any

from flinkish.mailbox import MailboxController
from flinkish.operators import SupportsSoftBackpressure
from flinkish.task.element_io import Available, StreamTaskOutput
from flinkish.task.io_metrics import PeriodTimer

__all__ = ["Outlets", "suspend_until"]


def suspend_until(
    controller: MailboxController, available: Available, timer: PeriodTimer | None
) -> None:
    """Suspend the default action until ``available`` is done (Flink: StreamTask)."""
    suspension = controller.suspend_default_action(timer)
    if timer is not None:
        timer.mark_start()

    def resume(_: Any) -> None:
        if timer is not None:
            timer.mark_end()
        suspension.resume()

    available.add_done_callback(resume)


class Outlets:
    """The output of a task, and its operator if that may be full.

    As in Flink's StreamTask and SupportsSoftBackpressure.  Waiting for the output is back-pressured
    time.  Waiting for the operator is busy time: the operator is what keeps the task from going on,
    and a search for the slow task of a job looks for the busy one.

    Threading: the mailbox thread.
    """

    def __init__(
        self,
        output: StreamTaskOutput | None,
        operator: object,
        back_pressured: PeriodTimer,
    ) -> None:
        parts: list[tuple[StreamTaskOutput | SupportsSoftBackpressure, PeriodTimer | None]] = []
        if output is not None:
            parts.append((output, back_pressured))
        if isinstance(operator, SupportsSoftBackpressure):
            parts.append((operator, None))
        self._parts = parts
        self.is_available = parts[0][0].is_available if len(parts) == 1 else self._all_available

    def _all_available(self) -> bool:
        return all(part.is_available() for part, _ in self._parts)

    def first_full(self) -> tuple[Available, PeriodTimer | None] | None:
        """The future of the first that has no room, and what times the wait; None if all have."""
        for part, timer in self._parts:
            if not part.is_available():
                return part.get_available_future(), timer
        return None
