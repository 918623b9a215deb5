"""What a task gives Spark: batches of bounded size and age."""

from datetime import timezone
from typing import Any

import pyarrow as pa
import pytest

from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import IllegalArgumentError, SchemaMismatchError
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import Types
from flinkish.spark.internals import arrow_schema
from flinkish.spark.schemas import output_schema
from flinkish.spark.tasks import output as task_output
from flinkish.spark.tasks.output import TaskOutput
from flinkish.spark.tasks.plan import AGE_MS, SideOutput, TaskPlan
from tests.spark.task_operators import NUMBERS, ODD, Life


class Rig:
    """An output with a clock by hand."""

    def __init__(self, **plan: Any) -> None:
        self.now = 1_000
        self.calls: list[tuple[int, Any]] = []
        self.suspended = 0
        given: dict[str, Any] = {
            "name": "numbers",
            "make_operator": lambda: Life([]),
            "output": NUMBERS,
            "output_type": None,
            "sides": (),
            "time_zone": timezone.utc,
        }
        made = TaskPlan(**given | plan)
        self.output = TaskOutput(
            made.encoders(),
            lambda: self.now,
            lambda at, function: self.calls.append((at, function)),
            self.suspend,
            made.age_ms,
        )

    def suspend(self) -> None:
        self.suspended += 1

    def emit(self, *numbers: Any) -> None:
        for number in numbers:
            self.output.emit(StreamRecord((number,)))

    def pass_time(self, ms: int) -> None:
        self.now += ms
        due = [function for at, function in self.calls if at <= self.now]
        self.calls = [(at, function) for at, function in self.calls if at > self.now]
        for function in due:
            function()

    def take(self, **how: bool) -> list[list[int]]:
        return [batch.column(0).to_pylist() for batch in self.output.take(**how)]


def test_nothing_is_taken_before_it_is_due() -> None:
    rig = Rig()
    rig.emit(1, 2, 3)
    assert rig.take() == []
    assert rig.suspended == 0
    assert rig.take(all_of_it=True) == [[1, 2, 3]]
    assert rig.take(all_of_it=True) == []


def test_values_are_no_older_than_the_plan_says() -> None:
    rig = Rig(age_ms=2)
    for number in range(3):
        rig.emit(number)
        rig.pass_time(1)
        assert rig.take() == []
        rig.pass_time(1)
        assert rig.take() == [[number]]


def test_the_first_values_leave_early_and_later_ones_by_their_age() -> None:
    rig = Rig()
    rig.emit(1)
    rig.pass_time(task_output.FIRST_AGE_MS)
    assert rig.suspended == 1
    assert not rig.output.is_available()
    room = rig.output.get_available_future()
    assert not room.done()
    assert rig.take() == [[1]]
    assert rig.output.is_available()
    assert room.done()

    rig.emit(2)
    rig.pass_time(AGE_MS - 1)
    assert rig.output.is_available()
    rig.emit(3)
    rig.pass_time(1)
    assert not rig.output.is_available()
    assert rig.take() == [[2, 3]]


def test_the_age_is_that_of_the_oldest_value() -> None:
    rig = Rig()
    rig.emit(1)
    rig.pass_time(task_output.FIRST_AGE_MS)
    assert rig.take() == [[1]]
    rig.emit(2)
    rig.pass_time(AGE_MS // 2)
    assert rig.take(all_of_it=True) == [[2]]
    rig.pass_time(10)
    rig.emit(3)
    rig.pass_time(AGE_MS // 2)
    assert rig.output.is_available(), "the call was for a value that has left"
    rig.pass_time(AGE_MS // 2)
    assert rig.take() == [[3]]


def test_one_call_at_a_time_watches_the_age() -> None:
    rig = Rig()
    for number in range(50):
        rig.emit(number)
        rig.take(all_of_it=True)
    assert len(rig.calls) == 1


def test_a_block_asks_for_its_conversion_once_and_a_full_batch_leaves() -> None:
    rig = Rig()
    taken: list[list[int]] = []
    for number in range(task_output.BATCH_ROWS + 10):
        before = rig.suspended
        rig.emit(number)
        if rig.suspended > before:
            taken += rig.take()
    assert [len(batch) for batch in taken] == [task_output.BATCH_ROWS]
    assert rig.take(all_of_it=True) == [list(range(task_output.BATCH_ROWS, number + 1))]


def test_what_one_element_yields_is_cut_into_batches() -> None:
    rig = Rig()
    count = 3 * task_output.BATCH_ROWS + 5
    rig.output.emit_batch(None, [(n,) for n in range(count)], [None] * count)
    assert rig.suspended == 1
    taken = rig.take()
    assert [len(batch) for batch in taken] == [task_output.BATCH_ROWS] * 3
    taken += rig.take(all_of_it=True)
    assert [n for batch in taken for n in batch] == list(range(count))


def test_large_values_make_small_batches() -> None:
    text = pa.schema([("text", pa.string())])
    rig = Rig(output=text)
    value = "x" * 20_000
    rig.output.emit_batch(None, [(value,)] * 2_000, [None] * 2_000)
    batches = list(rig.output.take(all_of_it=True))
    assert sum(batch.num_rows for batch in batches) == 2_000
    assert max(batch.nbytes for batch in batches) < 4 * task_output.BATCH_BYTES


def test_watermarks_end_here() -> None:
    rig = Rig()
    rig.output.emit(Watermark(5))
    assert rig.take(all_of_it=True) == []
    assert rig.calls == []


def side(tag: OutputTag) -> SideOutput:
    return SideOutput(tag, arrow_schema(output_schema(tag.type_info, "the side output")))


def test_side_outputs_are_columns_of_structs() -> None:
    rig = Rig(sides=(side(ODD),))
    rig.output.emit(StreamRecord((2,)))
    rig.output.emit_side(ODD, StreamRecord((1, "one")))
    rows = [row for batch in rig.output.take(all_of_it=True) for row in batch.to_pylist()]
    assert rows == [
        {"__flinkish_main": {"n": 2}, "__flinkish_side_0": None},
        {"__flinkish_main": None, "__flinkish_side_0": {"n": 1, "text": "one"}},
    ]


def test_a_tag_that_was_not_named() -> None:
    rig = Rig(sides=(side(ODD),))
    with pytest.raises(IllegalArgumentError, match=r"'late'.*side outputs.*'odd'.*side_outputs"):
        rig.output.emit_side(OutputTag("late", "n bigint"), StreamRecord((1,)))


def test_a_value_that_does_not_fit_is_shown() -> None:
    rig = Rig()
    rig.emit(1, "two")
    with pytest.raises(
        SchemaMismatchError, match=r"main output of task 'numbers' .* n int64.*\('two',\)"
    ) as caught:
        rig.take(all_of_it=True)
    assert "two" in caught.value.value


def test_values_of_type_information_are_converted() -> None:
    kind = Types.INSTANT()
    schema = arrow_schema(output_schema(kind, "the output"))
    rig = Rig(output=schema, output_type=kind)
    from flinkish.common import Instant

    rig.output.emit(StreamRecord(Instant.of_epoch_milli(1500)))
    [batch] = rig.output.take(all_of_it=True)
    assert batch.column(0).cast(pa.int64()).to_pylist() == [1_500_000]
