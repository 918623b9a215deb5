"""Races on real threads: of one operation, of one task, and of all ways through a purgatory."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from flinkish.purgatory import (
    DelayedOperation,
    DelayedOperationPurgatory,
    SystemTimer,
    TimerTask,
)
from tests.racing import switched_every, together
from tests.waiting import until

pytestmark = pytest.mark.stress


@pytest.fixture(autouse=True)
def _eager_threads() -> Iterator[None]:
    with switched_every(5e-6):
        yield


class Counted(DelayedOperation):
    """Counts its completions, and who is inside."""

    def __init__(self, delay: int = 100_000) -> None:
        super().__init__(delay)
        self.completable = False
        self.completions = 0
        self.expirations = 0
        self.inside = 0
        self.overlaps = 0

    def try_complete(self) -> bool:
        self.inside += 1
        self.overlaps += self.inside != 1
        result = self.completable
        self.inside -= 1
        return self.force_complete() if result else False

    def on_complete(self) -> None:
        self.overlaps += self.inside != 0
        self.completions += 1

    def on_expiration(self) -> None:
        self.expirations += 1


def test_twenty_threads_lose_no_completion() -> None:
    """P.4 [DelayedOperationTest.testTryCompleteWithMultipleThreads]."""
    attempts = 20

    class Sleepy(DelayedOperation):
        def __init__(self, key: str) -> None:
            super().__init__(100_000)
            self.key = key
            self.completable = False
            self.completions = 0
            self.left = list(range(attempts))

        def try_complete(self) -> bool:
            found = self.completable
            time.sleep(random.random() * 0.001)
            return self.force_complete() if found else False

        def on_complete(self) -> None:
            self.completions += 1

    with DelayedOperationPurgatory("sleepy") as home:
        operations = [Sleepy(f"key{i}") for i in range(10)]
        for operation in operations:
            home.try_complete_else_watch(operation, [operation.key])

        def attempt(operation: Sleepy) -> None:
            time.sleep(random.random() * 0.002)
            if operation.left.pop() == 0:
                operation.completable = True
            home.check_and_complete(operation.key)

        def attempt_all() -> None:
            for operation in random.sample(operations, len(operations)):
                attempt(operation)

        together(*[attempt_all] * attempts)
        assert [operation.completions for operation in operations] == [1] * len(operations)


@pytest.mark.parametrize("seed", range(8))
def test_all_ways_to_complete_at_once(seed: int) -> None:
    """P.1, P.5, P.6: try, force, check, expiry, cancel and watching again; one of them wins."""
    chance = random.Random(seed)
    rounds = 60
    operations: list[Counted] = []
    with DelayedOperationPurgatory("ways") as home:
        home.patience_ms = 600_000  # of whom the machine keeps from going on
        for number in range(rounds):
            operation = Counted(chance.choice([0, 1, 2, 3, 100_000]))
            operations.append(operation)
            keys = [("a", number), ("b", number), "all"]
            home.try_complete_else_watch(operation, keys)
            operation.completable = chance.random() < 0.8
            ways: list[Callable[[], object]] = [
                operation.force_complete,
                operation.safe_try_complete,
                lambda keys=keys: home.check_and_complete(keys[0]),
                lambda keys=keys: home.check_and_complete(keys[1]),
                lambda: home.check_and_complete("all"),
                lambda keys=keys, o=operation: home.try_complete_else_watch(o, keys[:2]),
                lambda keys=keys: home.cancel_for_key(keys[0]) and None,
                operation.cancel,
            ]
            calls = chance.sample(ways, 5)
            results = together(*calls)
            operation.force_complete()
            won = [
                result
                for call, result in zip(calls, results, strict=True)
                if call is not ways[7] and result
            ]
            assert len(won) <= 1, f"{len(won)} calls completed it"
        statistics = home.statistics()
        assert (statistics.watched, statistics.delayed, statistics.keys) == (0, 0, 0)
        assert statistics.completed == rounds
        assert statistics.deadlocks == statistics.errors == 0
        home._check()
    # What the reaper completes has ended by now; before, it may be in `on_complete`.
    assert Counter((each.completions, each.overlaps) for each in operations) == {(1, 0): rounds}


def test_shutdown_beside_everything() -> None:
    """P.11: whatever was taken is completed, whatever was not is refused."""
    for _ in range(10):
        home = DelayedOperationPurgatory("ends")
        taken: list[Counted] = []

        def watch(home: DelayedOperationPurgatory = home, taken: list[Counted] = taken) -> None:
            mine = []
            for number in range(300):
                operation = Counted(random.choice([0, 1, 50, 10_000]))
                try:
                    home.try_complete_else_watch(operation, [number % 7, number])
                except RuntimeError:
                    assert operation.completions == operation.expirations
                    break
                mine.append(operation)
                if number % 3 == 0:
                    operation.completable = True
                    home.check_and_complete(number)
            taken.extend(mine)  # one step

        together(watch, watch, watch, home.shutdown)
        home.shutdown()
        assert Counter(operation.completions for operation in taken) in ({1: len(taken)}, {})
        assert home.watched() == home.num_delayed() == 0
        home._check()


def test_a_crowd_of_keys() -> None:
    """Watching, checking and cancelling beside each other leave every list whole."""
    with DelayedOperationPurgatory("crowd", purge_interval=10) as home:
        operations: list[Counted] = []

        def mill(seed: int) -> None:
            chance = random.Random(seed)
            mine = []
            for _ in range(400):
                operation = Counted(chance.choice([1, 5, 100_000]))
                home.try_complete_else_watch(
                    operation, [chance.randrange(5), (chance.randrange(20),), str(operation)]
                )
                operation.completable = True
                mine.append(operation)
                if chance.random() < 0.5:
                    home.check_and_complete(chance.randrange(5))
                elif chance.random() < 0.2:
                    home.cancel_for_key((chance.randrange(20),))
            for operation in mine:
                operation.force_complete()
            operations.extend(mine)

        together(*(lambda seed=seed: mill(seed) for seed in range(4)))
        assert home.statistics().watched == home.statistics().delayed == 0
        home._check()
    # What the reaper completes has ended by now; before, it may be in `on_complete`.
    assert Counter((each.completions, each.overlaps) for each in operations) == {(1, 0): 1600}


def test_circles_of_operations() -> None:
    """H: KAFKA-5970, 6042, 8334: attempts and completions that check others, all ways round."""
    with DelayedOperationPurgatory("circles") as home:
        ring = 6

        class Linked(Counted):
            def __init__(self, at: int) -> None:
                super().__init__()
                self.at = at
                self.open = False

            def try_complete(self) -> bool:
                if self.open:
                    self.open = False  # once: a ring of attempts would never end
                    home.check_and_complete((self.at + 1) % ring)
                return super().try_complete()

            def on_complete(self) -> None:
                super().on_complete()
                home.check_and_complete((self.at + 2) % ring)

        for _ in range(30):
            operations = [Linked(at) for at in range(ring)]
            for operation in operations:
                home.try_complete_else_watch(operation, [operation.at])
            for operation in operations:
                operation.open = operation.completable = True
            together(*(lambda at=at: home.check_and_complete(at) for at in range(ring)))
            assert [operation.completions for operation in operations] == [1] * ring
        assert home.watched() == 0


def test_cancel_beside_expiry() -> None:
    """K.15: cancel returns True or the task runs, never both, never neither."""
    runs: Counter[int] = Counter()

    class Task(TimerTask):
        def __init__(self, number: int) -> None:
            super().__init__(number % 3)
            self.number = number

        def run(self) -> None:
            runs[self.number] += 1

    total = 2_000
    with SystemTimer("races") as timer:
        tasks = [Task(number) for number in range(total)]
        cancelled: set[int] = set()

        def add() -> None:
            for task in tasks:
                timer.add(task)

        def cancel() -> None:
            for task in tasks:
                for _ in range(3):
                    if task.cancel():
                        cancelled.add(task.number)

        together(add, cancel)
        until(lambda: not timer.size())
    assert sorted([*runs.elements(), *cancelled]) == list(range(total))


def test_moving_beside_expiry() -> None:
    """K.13: however often it is moved, a task is in the timer once."""
    with SystemTimer("moves") as timer:
        runs: Counter[int] = Counter()

        class Task(TimerTask):
            def __init__(self, number: int) -> None:
                super().__init__(1 + number % 2)
                self.number = number

            def run(self) -> None:
                runs[self.number] += 1

        tasks = [Task(number) for number in range(20)]

        def move() -> None:
            for _ in range(100):
                for task in tasks:
                    timer.add(task)

        together(*[move] * 3)
        until(lambda: not timer.size())
    assert set(runs) == set(range(20))
    assert all(count <= 300 for count in runs.values())
