"""Each kind of keyed operator in real-time mode, over a real broker."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from examples.realtime.broker import Broker
from tests.spark.long.kafka.real_time import STEP_MS
from tests.spark.long.kafka.real_time_operators import (
    FIRST,
    HALF,
    JOINED,
    NUMBERS,
    PLAIN,
    QUERIES,
    SECOND,
    WINDOW_MS,
    WINDOWS,
)
from tests.spark.long.kafka.running import KEYS, LONGEST_S, numbers, send, settings, started, values
from tests.waiting import until

PROGRAM = Path(__file__).with_name("real_time_operators.py")
EACH = NUMBERS // KEYS


@pytest.fixture(scope="module")
def found(
    kafka: Broker, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Any]]:
    """The results of each query, as soon as all have as many as are awaited.

    That is long before the end of their first batch.
    """
    folder = tmp_path_factory.mktemp("operators")
    kafka.make((FIRST, SECOND, HALF, *QUERIES))
    for topic in (FIRST, SECOND):
        send(kafka, topic, numbers(0, NUMBERS))
    send(kafka, HALF, numbers(0, NUMBERS), partition=1)
    closed = len(windows())
    wanted = {"chained": NUMBERS, "side": NUMBERS // 2, "both": 2 * NUMBERS, "rules": 3 * NUMBERS}
    wanted |= dict.fromkeys(("function", *PLAIN), NUMBERS) | {"all": NUMBERS + NUMBERS // 2}
    wanted |= dict.fromkeys(WINDOWS, closed)
    log = folder / "log"
    with started(PROGRAM, settings(kafka, folder), log, environment) as running:

        def have_come() -> bool:
            time.sleep(1)
            many = {name: len(values(kafka, name)) for name in QUERIES}
            return running.poll() is not None or all(many[name] >= wanted[name] for name in QUERIES)

        until(have_come, "all results", 2 * LONGEST_S)
        said = log.read_text().rpartition("Traceback (most recent call")[2]
        assert running.poll() is None, said[:6000]
    return {name: [json.loads(value) for value in values(kafka, name)] for name in QUERIES}


def windows() -> dict[tuple[str, int], list[int]]:
    """The numbers of each window that is closed: of the last one some partition may have more."""
    held = defaultdict(list)
    for n in range(NUMBERS):
        held[f"k{n % KEYS}", n * STEP_MS // WINDOW_MS * WINDOW_MS].append(n)
    last = (NUMBERS - 1) * STEP_MS // WINDOW_MS * WINDOW_MS
    return {window: ns for window, ns in held.items() if window[1] < last}


@pytest.mark.parametrize("name", PLAIN)
def test_rows_without_keys(found: dict[str, list[Any]], name: str) -> None:
    rows = Counter((row["key"], row["a"]) for row in found[name])
    assert rows == Counter((f"k{n % KEYS}", n) for n in range(NUMBERS))


def test_an_operator_after_another(found: dict[str, list[Any]]) -> None:
    rows = found["chained"]
    assert sorted(row["a"] for row in rows) == list(range(NUMBERS))
    counts = Counter(str(n % 3) for n in range(NUMBERS))
    for key, n in counts.items():
        assert sorted(row["b"] for row in rows if row["key"] == key) == list(range(1, n + 1))


def test_keys_that_a_function_gives(found: dict[str, list[Any]]) -> None:
    counts = {(f"k{n}", count) for n in range(KEYS) for count in range(1, EACH + 1)}
    assert {(f"k{row['a'] % KEYS}", row["b"]) for row in found["function"]} == counts
    assert sorted(row["a"] for row in found["function"]) == list(range(NUMBERS))


def test_a_side_output(found: dict[str, list[Any]]) -> None:
    rows = {(row["key"], row["n"]) for row in found["side"]}
    assert rows == {(f"k{n % KEYS}", n) for n in range(1, NUMBERS, 2)}


def test_all_outputs_of_one_run(found: dict[str, list[Any]]) -> None:
    """Spark's to_json leaves out what is null."""
    assert Counter(tuple(row) for row in found["all"]) == {
        ("main",): NUMBERS,
        ("odd",): NUMBERS // 2,
    }
    rows = {(row["odd"]["key"], row["odd"]["n"]) for row in found["all"] if "odd" in row}
    assert rows == {(f"k{n % KEYS}", n) for n in range(1, NUMBERS, 2)}
    counts = sorted(row["main"]["b"] for row in found["all"] if "main" in row)
    assert counts == sorted(n for n in range(1, EACH + 1) for _ in range(KEYS))


def test_two_inputs(found: dict[str, list[Any]]) -> None:
    rows = found["both"]
    assert Counter(row["key"] for row in rows) == {f"k{n}": 2 * EACH for n in range(KEYS)}
    assert all(row["a"] + row["b"] <= 2 * EACH for row in rows)
    ends = {row["key"] for row in rows if (row["a"], row["b"]) == (EACH, EACH)}
    assert ends == {f"k{n}" for n in range(KEYS)}


def test_rules_reach_every_key(found: dict[str, list[Any]]) -> None:
    rules = Counter(row["a"] for row in found["rules"] if row["key"] == "rule")
    assert rules == dict.fromkeys(range(NUMBERS), 2), "once a subtask"
    rows = {(row["key"], row["a"]) for row in found["rules"] if row["key"] != "rule"}
    assert rows == {(f"k{n % KEYS}", n) for n in range(NUMBERS)}


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("windows", 1),
        ("filtered", 1),
        ("assigned", 1),
        ("united", 2),
        *((one, 2) for one in JOINED),
    ],
)
def test_windows_by_rows(found: dict[str, list[Any]], name: str, times: int) -> None:
    """After a function, with times of a function, and of two sources or operators."""
    rows = {(row["key"], row["a"]): row["b"] for row in found[name]}
    closed = windows()
    assert {window: rows.get(window) for window in closed} == {
        window: len(ns) * times for window, ns in closed.items()
    }


def test_a_partition_without_rows(found: dict[str, list[Any]]) -> None:
    """It holds the watermark back until it is idle."""
    rows = {(row["key"], row["a"]): row["b"] for row in found["idle"]}
    assert rows == {window: len(ns) for window, ns in windows().items()}


def test_windows_by_columns(found: dict[str, list[Any]]) -> None:
    rows = {
        (row["key"], row["window_start"]): (row["count"], row["sum_n"]) for row in found["columns"]
    }
    for (key, start), ns in windows().items():
        text = f"1970-01-01T00:00:0{start // 1000}.{start % 1000:03}Z"
        assert rows[key, text] == (len(ns), sum(ns))
