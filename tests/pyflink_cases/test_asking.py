"""Asynchronous functions written for PyFlink run as they would there."""

import ast
from pathlib import Path
from typing import Any

from flinkish.common import Row
from flinkish.operators import AsyncWaitOperator
from flinkish.testing import OneInputStreamOperatorTestHarness
from tests.pyflink_cases import asking

MODULES = {
    "flinkish.common",
    "flinkish.datastream.async_retry_predicates",
    "flinkish.datastream.functions",
}


def harness_of(function: Any, **settings: Any) -> Any:
    return OneInputStreamOperatorTestHarness(
        AsyncWaitOperator(function, **{"timeout": 10_000, **settings})
    )


def test_the_case_imports_what_a_pyflink_program_does() -> None:
    tree = ast.parse(Path(asking.__file__).read_text())
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported == MODULES


def test_a_lookup_in_order_and_out_of_it() -> None:
    rows = [Row(key, f"name of {key}") for key in range(25)]
    for mode in ("ordered", "unordered"):
        with harness_of(asking.AsyncLookup(), capacity=10, mode=mode) as harness:
            harness.open()
            harness.process_elements([Row(key) for key in range(25)])
            harness.process_watermark(7)
            harness.end_input()
            values = harness.extract_output_values()
        assert sorted(values, key=lambda row: row[0]) == rows
        assert mode == "unordered" or values == rows


def test_one_that_is_late() -> None:
    with harness_of(asking.LateLookup()) as harness:
        harness.open()
        harness.process_elements([Row(1), Row(2)])
        harness.set_processing_time(10_000)
        harness.end_input()
        assert harness.extract_output_values() == [Row(1, "unknown"), Row(2, "unknown")]


def test_one_that_is_tried_again() -> None:
    with harness_of(asking.EmptyAtFirst(), retry=asking.RETRIES) as harness:
        harness.open()
        harness.process_elements([1, 2, 3])
        while len(harness.get_output()) < 3:
            harness.operator.environment.mailbox_executor.yield_()
            harness.advance_time(200)
        assert harness.extract_output_values() == [1, 2, 3]
