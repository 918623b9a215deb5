"""What of a function's fields travels from task to task; without Spark."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from flinkish.common import Row
from flinkish.spark.function_checks import check_function
from flinkish.spark.kept_fields import FieldStore, Given, KeptFields, OpenFields


class Job:
    """The driver's side: tasks of an operator, one micro-batch after the other."""

    def __init__(self, make: Any) -> None:
        self.make = make
        self.kept: dict[int, bytes] = {}
        self.lost: list[str] = []
        self.gifts = 0

    def task(self, use: Any, *, subtask: int = 0, succeeds: bool = True) -> Any:
        """The function of one task after its use."""
        function = self.make()
        fields = OpenFields(KeptFields("op", dict(self.kept), self._take), function, subtask)
        use(function)
        if succeeds:
            fields.collect()
            fields.give()
        return function

    def _take(self, given: Given) -> None:
        self.gifts += 1
        for (_, subtask), (data, lost) in given.items():
            self.kept[subtask] = data
            self.lost += lost


class Anything:
    """Fields of a user's function."""

    def __init__(self) -> None:
        self.n = 0
        self.values: list[Any] = []
        self.same = self.values
        self.table = {number: str(number) for number in range(100)}
        self.lock = threading.Lock()
        self.random = random.Random(7)
        self.me = self
        self.row = Row(a=1)

    def close(self) -> None:
        self.closing: list[int] = []


def count(function: Anything) -> None:
    function.n += 1


def test_changed_fields_go_on_and_nothing_is_sent_without_a_change() -> None:
    job = Job(Anything)
    job.task(lambda function: None)
    assert job.gifts == 0
    for number in range(3):
        assert job.task(count).n == number + 1
    function = job.task(lambda function: None)
    assert function.n == 3
    assert job.gifts == 3
    assert b"table" not in job.kept[0]


def test_a_failed_attempt_changes_nothing() -> None:
    job = Job(Anything)
    job.task(count)
    job.task(count, succeeds=False)
    assert job.task(count).n == 2


def test_subtasks_have_their_own() -> None:
    job = Job(Anything)
    job.task(count, subtask=0)
    assert job.task(count, subtask=1).n == 1
    assert job.task(count, subtask=0).n == 2


def test_objects_that_change_inside() -> None:
    job = Job(Anything)

    def use(function: Anything) -> None:
        function.values.append(function.random.random())
        function.row.a += 1

    for _ in range(3):
        function = job.task(use)
    same = random.Random(7)
    assert function.values == [same.random() for _ in range(3)]
    assert function.row.a == 4
    assert function.same is function.values, "what was one object is one"
    assert function.me is function, "the function itself does not travel"


def test_new_fields_and_deleted_ones() -> None:
    job = Job(Anything)

    def use(function: Any) -> None:
        function.local = type("Local", (), {"x": 1})()
        del function.table

    job.task(use)
    function = job.task(lambda function: None)
    assert function.local.x == 1
    assert not hasattr(function, "table")


def test_a_field_that_cannot_travel_is_named() -> None:
    job = Job(Anything)
    job.task(lambda function: setattr(function, "lazy", threading.Lock()))
    assert job.lost == ["Anything.lazy"]
    job.task(lambda function: function.values.append(threading.Lock()))
    assert set(job.lost) == {"Anything.lazy", "Anything.values", "Anything.same"}


def test_what_close_uses_ends_with_it() -> None:
    class Buffers:
        def __init__(self) -> None:
            self.buffer: list[int] = []
            self.n = 0

        def add(self) -> None:
            self.n += 1
            self.buffer.append(self.n)

        def close(self) -> None:
            self.flush()

        def flush(self) -> None:
            print(self.buffer)

    job = Job(Buffers)
    for _ in range(2):
        function = job.task(Buffers.add)
    assert (function.n, function.buffer) == (2, [2])


def test_what_a_plain_function_closes_over() -> None:
    def make() -> Any:
        seen: list[int] = []
        calls = 0

        def function() -> Any:
            nonlocal calls
            calls += 1
            seen.append(calls)
            return list(seen)

        return function

    job = Job(make)
    for _ in range(3):
        function = job.task(lambda function: function())
    assert function() == [1, 2, 3, 4]


def test_the_driver_keeps_the_last_and_warns_once() -> None:
    class Accumulator:
        def __init__(self) -> None:
            self.value: Given = {}

        def add(self, given: Given) -> None:
            self.value = {**self.value, **given}

    class Context:
        def accumulator(self, *_: Any) -> Accumulator:
            return Accumulator()

    store = FieldStore(Context())  # type: ignore[arg-type]
    assert store.of("op").kept == {}
    store.of("op").give({("op", 0): (b"1", ())})
    store.of("op").give({("op", 0): (b"2", ("F.lock",)), ("other", 0): (b"3", ())})
    with pytest.warns(UserWarning, match=r"operator 'op' set its field F\.lock, which cannot be"):
        assert store.of("op").kept == {0: b"2"}
    assert store.of("op").kept == {0: b"2"}


def test_a_streaming_dataframe_says_what_begins_anew() -> None:
    class Counts:
        def map(self, value: Any) -> Any:
            self.n = value
            return value

    check_function(Counts(), "the function", restarts=False)
    with pytest.warns(UserWarning, match=r"Counts\.map sets 'n' as it runs: in a query"):
        check_function(Counts(), "the function", restarts=True)
