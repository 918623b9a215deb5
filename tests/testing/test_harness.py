"""Harnesses: facts F "Harness API", snapshots and rescaling."""

import pickle
from typing import Any

import pytest

from flinkish.common import StreamRecord, Types, Watermark
from flinkish.common.errors import (
    ArgumentTypeError,
    CorruptStateError,
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
)
from flinkish.functions import KeySelector, ProcessFunction
from flinkish.operators import KeyedProcessOperator
from flinkish.testing import (
    KeyedOneInputStreamOperatorTestHarness,
    OneInputStreamOperatorTestHarness,
    ProcessFunctionTestHarnesses,
)
from tests.testing.functions import LATE, Count, Script

Harness = KeyedOneInputStreamOperatorTestHarness[KeyedProcessOperator]


def keyed(function: Any = None, **options: Any) -> Harness:
    return KeyedOneInputStreamOperatorTestHarness(
        KeyedProcessOperator(function or Count()), lambda value: value[0], **options
    )


def opened(function: Any = None, snapshot: bytes | None = None, **options: Any) -> Harness:
    harness = keyed(function, **options)
    if snapshot is not None:
        harness.initialize_state(snapshot)
    harness.open()
    return harness


def test_output_is_one_list_that_grows() -> None:
    harness = opened()
    output = harness.get_output()
    harness.process_element(("a",), 1)
    harness.process_element(StreamRecord(("a",), 2))
    harness.process_element(("b",))
    harness.process_watermark(11)
    assert output == [
        StreamRecord(("a", 1), 1),
        StreamRecord(("a", 2), 2),
        StreamRecord(("b", 1), None),
        StreamRecord(("a", 2, "EVENT_TIME"), 11),
        Watermark(11),
    ]
    assert output is harness.get_output()
    assert harness.extract_output_values() == [("a", 1), ("a", 2), ("b", 1), ("a", 2, "EVENT_TIME")]
    assert [r.timestamp for r in harness.extract_output_stream_records()] == [1, 2, None, 11]
    assert not hasattr(output[-1], "value")


def test_elements_of_all_forms() -> None:
    harness = opened()
    harness.process_elements([StreamRecord(("a",), 1), ("b",), ("a",)], 7)
    harness.process_elements([("c",)])
    assert [r.timestamp for r in harness.extract_output_stream_records()] == [1, 7, 7, None]
    harness.process_watermark(Watermark(0))
    assert harness.get_output()[-1] == Watermark(0)
    with pytest.raises(IllegalArgumentError, match="its own timestamp"):
        harness.process_element(StreamRecord(("a",), 1), 2)


def test_processing_time_starts_at_zero_and_goes_by_hand() -> None:
    harness = opened()
    assert harness.get_processing_time() == 0
    harness.process_element(("a",))
    harness.advance_time("9 milliseconds")
    assert harness.num_processing_time_timers() == 1
    harness.set_processing_time(10)
    assert harness.get_output()[-1] == StreamRecord(("a", 1, "PROCESSING_TIME"), None)
    assert harness.get_processing_time() == 10


def test_what_is_held_is_counted() -> None:
    harness = opened()
    for key in "abca":
        harness.process_element((key,), 5)
    assert harness.num_keyed_state_entries() == 3
    assert harness.num_event_time_timers() == 3
    assert harness.num_processing_time_timers() == 3
    harness.process_watermark(100)
    assert harness.num_event_time_timers() == 0
    assert harness.num_keyed_state_entries() == 3


def test_a_side_output_that_was_never_used_is_none() -> None:
    harness = opened()
    harness.process_watermark(10)
    assert harness.get_side_output(LATE) is None
    harness.process_element(("a",), 10)
    harness.process_element(("a",), 11)
    assert harness.get_side_output(LATE) == [StreamRecord("('a',) is late", 10)]


def test_metrics_by_name() -> None:
    harness = opened()
    harness.process_watermark(10)
    for at in (10, 11, 5):
        harness.process_element(("a",), at)
    assert harness.get_metric("numLateRecords") == 2
    assert harness.get_metric("numRecordsIn") == 3
    with pytest.raises(IllegalArgumentError, match=r"no metric 'numLate'; there are .*numLateRec"):
        harness.get_metric("numLate")


def test_the_steps_come_in_their_order() -> None:
    harness = keyed()
    with pytest.raises(IllegalStateError, match="open, and this one is set up"):
        harness.process_element(("a",), 1)
    harness.open()
    with pytest.raises(IllegalStateError, match="already been initialized"):
        harness.initialize_state(None)
    with pytest.raises(IllegalStateError, match="this one is open"):
        harness.open()
    harness.end_input()
    harness.close()
    harness.close()
    for call in (
        lambda: harness.process_element(("a",), 1),
        lambda: harness.process_watermark(1),
        lambda: harness.snapshot(1, 1),
        lambda: harness.end_input(),
        lambda: harness.num_event_time_timers(),
        lambda: harness.num_processing_time_timers(),
        lambda: harness.num_keyed_state_entries(),
    ):
        with pytest.raises(IllegalStateError, match="closed"):
            call()
    assert harness.get_output() == []


def test_initialize_state_twice() -> None:
    harness = keyed()
    harness.initialize_state()
    with pytest.raises(IllegalStateError, match="already been initialized"):
        harness.initialize_state()
    harness.open()


def test_as_a_context_manager_it_closes() -> None:
    closed: list[str] = []

    class Closing(Count):
        def close(self) -> None:
            closed.append("function")

    with keyed(Closing()) as harness:
        harness.open()
        harness.process_element(("a",), 1)
    assert closed == ["function"]
    with keyed(Closing()):
        pass
    assert closed == ["function"], "what was not opened is not closed"


def test_close_closes_the_function_after_a_failure_too() -> None:
    closed: list[str] = []

    class Closing(Script):
        def close(self) -> None:
            closed.append("function")

    harness = opened(Closing())
    with pytest.raises(OSError, match="disk"), harness:
        harness.process_element(("a", "fail", OSError("disk")))
    assert closed == ["function"]


def test_a_harness_of_a_function_is_opened() -> None:
    class First(KeySelector):
        def get_key(self, value: Any) -> Any:
            return value[0]

    for selector in (First(), lambda value: value[0]):
        harness = ProcessFunctionTestHarnesses.for_keyed_process_function(
            Count(), selector, Types.STRING()
        )
        harness.process_element(("a",), 1)
        assert harness.extract_output_values() == [("a", 1)]
        harness.close()

    class Double(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield value * 2

    with ProcessFunctionTestHarnesses.for_process_function(Double()) as plain:
        plain.process_element(3, 4)
        assert plain.get_output() == [StreamRecord(6, 4)]


def test_what_is_no_operator_or_selector() -> None:
    with pytest.raises(ArgumentTypeError, match="KeyedProcessOperator"):
        OneInputStreamOperatorTestHarness(Count())  # type: ignore[type-var]
    with pytest.raises(ArgumentTypeError, match="key_selector"):
        KeyedOneInputStreamOperatorTestHarness(KeyedProcessOperator(Count()), "a")  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="key type"):
        keyed(key_type="no type")


# --- snapshots


def test_a_snapshot_has_state_and_timers_but_no_watermark() -> None:
    harness = opened()
    for key in "ab":
        harness.process_element((key,), 5)
    harness.process_watermark(7)
    harness.set_processing_time(3)
    snapshot = harness.snapshot(1, 2)
    harness.process_element(("a",), 6)
    assert isinstance(snapshot, bytes)
    restored = opened(snapshot=pickle.loads(pickle.dumps(snapshot)))
    assert restored.num_event_time_timers() == 2
    assert restored.num_processing_time_timers() == 2
    assert restored.num_keyed_state_entries() == 2
    restored.process_element(("a",), 5)
    assert restored.get_side_output(LATE) is None, "the watermark starts anew"
    assert restored.extract_output_values() == [("a", 2)]
    restored.set_processing_time(10)
    assert sorted(restored.extract_output_values()[1:]) == [
        ("a", 2, "PROCESSING_TIME"),
        ("b", 1, "PROCESSING_TIME"),
    ]


def run_all(harnesses: list[Harness]) -> list[Any]:
    found = []
    for harness in harnesses:
        harness.process_watermark(1000)
        harness.set_processing_time(1000)
        found += harness.extract_output_values()
        harness.close()
    return sorted(found)


def rescale(snapshots: list[bytes], old: int, new: int, max_parallelism: int) -> list[Harness]:
    whole = Harness.repackage_state(*snapshots)
    return [
        opened(
            snapshot=Harness.repartition_operator_state(whole, max_parallelism, old, new, index),
            max_parallelism=max_parallelism,
            num_subtasks=new,
            subtask_index=index,
        )
        for index in range(new)
    ]


@pytest.mark.parametrize("max_parallelism", [3, 10, 128])
def test_rescaling_delivers_each_timer_exactly_once(max_parallelism: int) -> None:
    """1 -> 2 -> 3 -> 1 subtasks (B.17): every state and timer is at the owner of its key."""
    keys = [f"key {number}" for number in range(50)]
    harnesses = [opened(max_parallelism=max_parallelism)]
    harnesses[0].process_elements([(key,) for key in keys], 5)
    for old, new in ((1, 2), (2, 3), (3, 1)):
        snapshots = [harness.snapshot(1, 1) for harness in harnesses]
        for harness in harnesses:
            harness.close()
        harnesses = rescale(snapshots, old, new, max_parallelism)
        assert sum(harness.num_keyed_state_entries() for harness in harnesses) == len(keys)
        assert sum(harness.num_event_time_timers() for harness in harnesses) == len(keys)
    harnesses = rescale([harnesses[0].snapshot(1, 1)], 1, 3, max_parallelism)
    expected = [(key, 1, domain) for key in keys for domain in ("EVENT_TIME", "PROCESSING_TIME")]
    assert run_all(harnesses) == sorted(expected)


def test_a_key_of_another_subtask_is_refused() -> None:
    """B.16, and the same for elements."""
    whole = opened()
    whole.process_elements([(number,) for number in range(50)], 5)
    snapshot = whole.snapshot(1, 1)
    subtask = keyed(num_subtasks=2, subtask_index=1)
    with pytest.raises(IllegalArgumentError, match="repartition_operator_state"):
        subtask.initialize_state(snapshot)
    subtask = opened(num_subtasks=2, subtask_index=1)
    with pytest.raises(IllegalArgumentError, match=r"key group \d+, .*subtask 1 of 2"):
        subtask.process_elements([(number,) for number in range(50)], 5)


def test_another_max_parallelism_is_refused() -> None:
    harness = opened(max_parallelism=128)
    snapshot = harness.snapshot(1, 1)
    with pytest.raises(IncompatibleStateError, match=r"max_parallelism 128 .* 64") as caught:
        opened(snapshot=snapshot, max_parallelism=64)
    assert (caught.value.was, caught.value.now) == (128, 64)
    with pytest.raises(IncompatibleStateError):
        Harness.repartition_operator_state(snapshot, 64, 1, 1, 0)
    with pytest.raises(IncompatibleStateError):
        Harness.repackage_state(snapshot, opened(max_parallelism=64).snapshot(1, 1))


def test_another_key_type_is_refused() -> None:
    harness = opened(key_type=Types.LONG())
    harness.process_element((5,), 1)
    with pytest.raises(IncompatibleStateError, match="key_type"):
        opened(snapshot=harness.snapshot(1, 1), key_type=Types.INT())


def test_a_key_group_in_two_snapshots_is_refused() -> None:
    harness = opened()
    harness.process_element(("a",), 1)
    snapshot = harness.snapshot(1, 1)
    with pytest.raises(IllegalArgumentError, match="key group 81 is in two"):
        Harness.repackage_state(snapshot, snapshot)
    with pytest.raises(IllegalArgumentError, match="no snapshot"):
        Harness.repackage_state()


def test_a_damaged_snapshot_is_refused_wherever_the_damage_is() -> None:
    """Every single byte counts; the error names version, key group and checksum."""
    harness = opened()
    harness.process_element(("a",), 1)
    snapshot = harness.snapshot(1, 1)
    for at in range(len(snapshot)):
        damaged = bytearray(snapshot)
        damaged[at] ^= 0x10
        with pytest.raises(CorruptStateError):
            opened(snapshot=bytes(damaged))
    for size in range(len(snapshot)):
        with pytest.raises(CorruptStateError):
            opened(snapshot=snapshot[:size])
    with pytest.raises(CorruptStateError, match="cut or added to"):
        opened(snapshot=snapshot + b"x")
    damaged = bytearray(snapshot)
    damaged[-1] ^= 1
    with pytest.raises(CorruptStateError, match="body checksum") as caught:
        opened(snapshot=bytes(damaged))
    assert caught.value.version == 1
    assert caught.value.key_group == 81
    assert caught.value.checksum is not None


def test_a_foreign_snapshot_is_refused() -> None:
    with pytest.raises(CorruptStateError, match="magic"):
        opened(snapshot=b"something that was never a snapshot of anything at all")
    with pytest.raises(ArgumentTypeError, match="of type bytes, not dict"):
        Harness.repackage_state({"a": 1})  # type: ignore[arg-type]
