"""Functions written for PyFlink run as they would there, through the harness."""

import ast
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Row, StreamRecord
from flinkish.operators import WindowOperator, WindowOperatorBuilder
from flinkish.testing import (
    KeyedOneInputStreamOperatorTestHarness,
    ProcessFunctionTestHarnesses,
)
from tests.pyflink_cases import collecting, counting, timing, windowing

# PyFlink's modules that programs import names from.
MODULES = {
    "flinkish.common",
    "flinkish.common.time",
    "flinkish.common.typeinfo",
    "flinkish.common.watermark_strategy",
    "flinkish.datastream",
    "flinkish.datastream.functions",
    "flinkish.datastream.output_tag",
    "flinkish.datastream.state",
    "flinkish.datastream.time_domain",
    "flinkish.datastream.timerservice",
    "flinkish.datastream.window",
}


def harness_of(function: Any) -> Any:
    return ProcessFunctionTestHarnesses.for_keyed_process_function(function, lambda v: v[0])


@pytest.mark.parametrize("module", [collecting, counting, timing, windowing])
def test_the_cases_import_what_a_pyflink_program_does(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported - {"collections.abc"} <= MODULES
    assert not any(isinstance(node, ast.Import) for node in ast.walk(tree))


def test_count_with_timeout() -> None:
    harness = harness_of(counting.CountWithTimeout())
    for key, at in (("a", 0), ("b", 5_000), ("a", 30_000)):
        harness.process_element((key,), at)
    harness.process_watermark(60_000)
    assert harness.extract_output_values() == [], "a came again since"
    harness.process_watermark(65_000)
    harness.process_watermark(90_000)
    assert harness.extract_output_stream_records() == [
        StreamRecord(("b", 1), 65_000),
        StreamRecord(("a", 2), 90_000),
    ]


def test_sum_on_timer() -> None:
    harness = harness_of(counting.SumOnTimer())
    harness.process_element(("a", 1), 1_000)
    harness.process_element(("b", 10), 1_000)
    harness.process_element(("a", 2), 1_500)
    harness.process_watermark(3_000)
    harness.process_element(("a", 3), 1_700)
    harness.process_watermark(4_000)
    assert harness.extract_output_values() == [("a", 3), ("b", 10), ("a", 6), ("a", 6)]


def test_sum_that_is_forgotten() -> None:
    harness = harness_of(counting.SumThatIsForgotten())
    for now, amount in ((0, 1), (900, 2), (1_800, 4), (2_800, 8)):
        harness.set_processing_time(now)
        harness.process_element(("k", amount))
    assert harness.extract_output_values() == [Row("k", 1), Row("k", 3), Row("k", 7), Row("k", 8)]


def test_deduplicate() -> None:
    hour = 3_600_000
    harness = harness_of(counting.Deduplicate())
    harness.process_elements([StreamRecord((key,), at) for at, key in enumerate("abab")])
    assert harness.extract_output_values() == [("a",), ("b",)]
    harness.process_watermark(hour)
    harness.process_elements([StreamRecord((key,), hour + at) for at, key in enumerate("ab")])
    assert harness.extract_output_values() == [("a",), ("b",), ("a",)]
    assert harness.num_keyed_state_entries() == 2


def test_processing_time_reminder() -> None:
    harness = harness_of(timing.ProcessingTimeReminder())
    harness.set_processing_time(500)
    harness.process_element(("Ann",))
    harness.set_processing_time(1_499)
    harness.process_element(("Bob",))
    harness.set_processing_time(2_499)
    assert harness.extract_output_values() == [
        "Ann at 500",
        "Bob at 1499",
        "Ann was here at 500",
        "Bob was here at 1499",
    ]


def test_dead_man_switch() -> None:
    harness = harness_of(timing.DeadManSwitch())
    for device, place, at in (
        ("d1", "hall", 0), ("d2", "roof", 1_000), ("d1", "cellar", 9_000), ("d2", "attic", 2_000),
    ):  # fmt: skip
        harness.process_element((device, place), at)
    assert harness.num_event_time_timers() == 2
    harness.process_watermark(12_000)
    assert harness.extract_output_values() == [("d2", "attic", 2_000)]
    snapshot = harness.snapshot()
    assert harness.num_keyed_state_entries() == 2
    harness.process_watermark(30_000)
    assert harness.extract_output_values()[1:] == [("d1", "cellar", 9_000)]
    assert harness.num_keyed_state_entries() == 0
    assert len(snapshot) > len(harness.snapshot())


def test_coalesced_to_seconds() -> None:
    harness = harness_of(timing.CoalescedToSeconds())
    for now in range(0, 2_000, 100):
        harness.set_processing_time(now)
        harness.process_element(("a",))
    harness.process_element(("b",))
    assert harness.num_processing_time_timers() == 3
    harness.set_processing_time(10_000)
    assert harness.extract_output_values() == [("a", 5_000), ("a", 6_000), ("b", 6_000)]


def test_coalesced_to_watermark() -> None:
    harness = harness_of(timing.CoalescedToWatermark())
    harness.process_watermark(100)
    harness.process_elements([("a",), ("a",), ("b",), ("a",)], 50)
    assert harness.num_event_time_timers() == 2
    harness.process_watermark(100)
    assert harness.extract_output_values() == []
    harness.process_watermark(250)
    assert harness.extract_output_values() == [("a", 101, 250), ("b", 101, 250)]


def test_top_items() -> None:
    harness = harness_of(collecting.TopItems(2))
    for window, item, count in (
        (100, "pear", 3), (100, "fig", 7), (200, "kiwi", 1), (100, "plum", 5), (100, "lime", 5),
    ):  # fmt: skip
        harness.process_element((window, item, count), window - 1)
    harness.process_watermark(101)
    assert harness.extract_output_values() == [(100, ["fig", "lime"])]
    harness.process_watermark(1_000)
    assert harness.extract_output_values()[1:] == [(200, ["kiwi"])]
    assert harness.num_keyed_state_entries() == 0


def test_words_of_user() -> None:
    harness = harness_of(collecting.WordsOfUser())
    for word in ("?", "hi", "you", "hi", "?", "-you", "-never", "?", "-hi", "?"):
        harness.process_element(("Ann", word))
        if word != "?":
            harness.process_element(("Bob", word))
    assert harness.extract_output_values() == [
        "nothing",
        (["hi", "you"], 3, {"hi": 2, "you": 1}),
        (["hi"], 2, {"hi": 2}),
        "nothing",
    ]


def test_reduced_and_aggregated() -> None:
    harness = harness_of(collecting.ReducedAndAggregated())
    for key, text in (("a", "one"), ("a", "three"), ("b", "x"), ("a", "seven"), ("a", "")):
        harness.process_element((key, text))
    assert harness.extract_output_values() == [
        ("one", 3, 3.0),
        ("three", 8, 4.0),
        ("x", 1, 1.0),
        ("three", 13, 13 / 3),
        (None, None, None),
    ]


def test_late_to_side_output() -> None:
    harness = harness_of(collecting.LateToSideOutput())
    harness.process_element(("a", 1), 5)
    harness.process_watermark(10)
    harness.process_element(("a", 2), 10)
    harness.process_element(("a", 3), 11)
    assert harness.extract_output_values() == [("a", 1), ("a", 3)]
    assert harness.get_side_output(collecting.late_tag) == [StreamRecord(("a", 2), 10)]
    assert harness.get_metric("numLateRecords") == 1


def test_buffered() -> None:
    harness = harness_of(collecting.Buffered())
    for text, at in (("c", 30), ("a", 10), ("b", 20), ("b2", 20), ("d", 40)):
        harness.process_element(("k", text), at)
    harness.process_watermark(35)
    assert harness.extract_output_values() == ["a", "b", "b2", "c"]
    assert harness.num_keyed_state_entries() == 1


def windows_of(operator: WindowOperator, *elements: Any) -> Any:
    """A harness that has seen elements whose second field is a number, at that time."""
    harness = KeyedOneInputStreamOperatorTestHarness(operator, lambda value: value[0])
    harness.open()
    for element in elements:
        harness.process_element(element[:2], element[-1])
    return harness


def test_count_window_elements() -> None:
    operator = WindowOperatorBuilder(windowing.MINUTES).process(windowing.CountWindowElements())
    harness = windows_of(operator, ("a", 1), ("a", 2), ("a", 59_999), ("b", 60_000))
    harness.process_watermark(200_000)
    assert harness.extract_output_values() == [
        ("a", 0, 60_000, 3, 1),
        ("b", 60_000, 120_000, 1, 1),
    ]
    assert harness.get_side_output(windowing.LARGE) == [StreamRecord("a", 59_999)]
    assert harness.num_keyed_state_entries() == 0


def test_sliding_sums() -> None:
    operator = WindowOperatorBuilder(windowing.LAST_HOUR).apply(windowing.SumOfWindow())
    harness = windows_of(operator, ("a", 1, 0), ("a", 2, 301_000))
    harness.process_watermark(1 << 50)
    sums = [total for _, _, total in harness.extract_output_values()]
    assert sums == [1, *[3] * 11, 2]


def test_aggregate_and_reduce() -> None:
    builder = WindowOperatorBuilder(windowing.MINUTES)
    for operator, expected in (
        (builder.aggregate(windowing.Average()), [2.0]),
        (builder.reduce(windowing.Larger()), [("a", 3)]),
        (builder.reduce(windowing.Larger(), windowing.SumOfWindow()), [("a", 59_999, 3)]),
    ):
        harness = windows_of(operator, ("a", 1), ("a", 2), ("a", 3))
        harness.process_watermark(60_000)
        assert harness.extract_output_values() == expected


def test_dynamic_sessions() -> None:
    operator = WindowOperatorBuilder(windowing.SESSIONS).apply(windowing.SumOfWindow())
    harness = windows_of(operator, ("a", 10, 0), ("a", 5, 8), ("a", 1, 20))
    harness.process_watermark(100)
    assert harness.extract_output_values() == [("a", 12, 15), ("a", 20, 1)]


def test_own_assigner_and_trigger() -> None:
    operator = WindowOperatorBuilder(windowing.Halves()).apply(windowing.SumOfWindow())
    harness = windows_of(operator, *[("a", number) for number in (2, 4, 6, 8, 3)])
    assert harness.extract_output_values() == [("a", 999, 12)], "at the third"
    harness.process_watermark(5_000)
    assert harness.extract_output_values()[1:] == [("a", 99, 3), ("a", 999, 20)]
    assert harness.num_event_time_timers() == harness.num_keyed_state_entries() == 0
