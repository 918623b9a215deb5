"""Every pair of ways to complete an operation, the second one begun inside the first.

The schedule is fixed: the first way runs until the given call of one of the operation's methods,
in which the second way is begun on a thread of its own and gets until it ends or waits.  Then
the first goes on.  Whatever the pair, the operation is completed once, nobody else is told that
he did it, no two methods overlap and nothing is left behind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from flinkish.common.errors import RejectedExecutionError
from flinkish.purgatory import DelayedOperation, DelayedOperationPurgatory, ManualTimer
from tests.purgatory.operations import ended, in_thread

UNTIL_IT_WAITS = 0.01  # seconds; too short only makes another schedule of it


class Stopping(DelayedOperation):
    """Calls `at_point` once, in the method that is named so."""

    def __init__(self, point: str) -> None:
        super().__init__(10)
        self.point = point
        self.at_point: Callable[[], None] | None = None
        self.completable = False
        self.inside = 0
        self.overlaps = 0
        self.completions = 0
        self.expirations = 0

    def reach(self, point: str) -> None:
        self.inside += 1
        if point == self.point and self.at_point is not None:
            then, self.at_point = self.at_point, None
            then()
        self.overlaps += self.inside > 2  # on_complete within try_complete is as it should be
        self.inside -= 1

    def try_complete(self) -> bool:
        found = self.completable
        self.reach("try_complete")
        return self.force_complete() if found else False

    def on_complete(self) -> None:
        self.completions += 1
        self.reach("on_complete")

    def on_expiration(self) -> None:
        assert self.completions == 1
        self.expirations += 1


class Scene:
    """One operation, watched, and the ways to complete it."""

    def __init__(self, point: str) -> None:
        self.timer = ManualTimer()
        self.home = DelayedOperationPurgatory("pair", timer=self.timer, reaper_enabled=False)
        self.home.patience_ms = 600_000  # of whom the machine keeps from going on
        self.operation = operation = Stopping("nothing")
        self.home.try_complete_else_watch(operation, ["a", "b"])
        operation.completable = True
        operation.point = point
        self.ways: dict[str, Callable[[], object]] = {
            "force": operation.force_complete,
            "try": operation.safe_try_complete,
            "try or else": lambda: operation.safe_try_complete_or_else(lambda: None),
            "check": lambda: self.home.check_and_complete("a"),
            "watch again": self.watch_again,
            "cancel for key": lambda: self.home.cancel_for_key("a") and None,
            "cancel": lambda: operation.cancel() and None,
            "expire": lambda: self.timer.advance_clock(10) and None,
            "shut down": self.home.shutdown,
        }

    def watch_again(self) -> bool:
        try:
            return self.home.try_complete_else_watch(self.operation, ["c"])
        except RejectedExecutionError:
            return False  # the shutdown has it


WAYS = list(Scene("nothing").ways)


@pytest.mark.parametrize("point", ["try_complete", "on_complete"])
@pytest.mark.parametrize("first", WAYS)
def test_pairs(first: str, point: str) -> None:
    """P.1, P.2, P.5, P.6, P.8, P.11."""
    for second, completable in itertools.product(WAYS, [True, False]):
        scene = Scene(point)
        operation = scene.operation
        results: list[object] = []
        threads = []

        def begin_second(
            scene: Scene = scene,
            second: str = second,
            results: list[object] = results,
            threads: list[object] = threads,
        ) -> None:
            scene.operation.completable = True
            thread = in_thread(lambda: results.append(scene.ways[second]()))
            thread.join(UNTIL_IT_WAITS)
            threads.append(thread)

        operation.at_point = begin_second
        operation.completable = completable
        results.append(scene.ways[first]())
        for thread in threads:
            ended(thread)
        operation.completable = True
        results.append(operation.force_complete())
        told = sum(bool(result) for result in results)
        what = f"{first}, then {second} in {point}"
        assert operation.completions == 1, what
        assert operation.overlaps == 0, what
        by_time_or_the_end = operation.expirations + scene.home.statistics().completed_by_shutdown
        assert told + by_time_or_the_end == 1, what
        assert (scene.home.watched(), scene.home.num_delayed()) == (0, 0), what
        assert scene.home.statistics().deadlocks == 0, what
        scene.home._check()
