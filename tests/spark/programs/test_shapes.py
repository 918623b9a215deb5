"""Shapes of programs that PyFlink's own tests have: each once, in both modes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flinkish.common import Row, Types, WatermarkStrategy
from flinkish.common.errors import ArgumentTypeError
from flinkish.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    SinkFunction,
    StreamExecutionEnvironment,
)
from flinkish.table import StreamTableEnvironment
from tests.spark.programs.functions import PAIR, first

NAMED = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])


class Item:
    """An object whose attributes are fields of a row."""

    def __init__(self, pair: Any) -> None:
        self.n = pair[1]
        self.name = pair[0]
        self.other = object


class Sides(CoProcessFunction):
    """Says from which side an element comes."""

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield "one", value[1]

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield "two", value[1]


class BothSides(CoFlatMapFunction):
    """The same by generators."""

    def flat_map1(self, value: Any) -> Iterator[Any]:
        yield "one", value[1]

    def flat_map2(self, value: Any) -> Iterator[Any]:
        yield "two", value[1]


class Lines(SinkFunction):
    """Writes elements to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def invoke(self, value: Any, context: Any) -> None:
        with self.path.open("a") as file:
            file.write(f"{value}\n")


class Blocked(CoFlatMapFunction):
    """Drops the elements that the other stream names; both see the fields of one object."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def flat_map1(self, value: Any) -> Iterator[Any]:
        if value[0] not in self.names:
            yield value

    def flat_map2(self, value: Any) -> None:
        self.names.add(value)


class Swapped(CoMapFunction):
    """The same with the streams the other way round."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def map1(self, value: Any) -> None:
        self.names.add(value)

    def map2(self, value: Any) -> Any:
        return None if value[0] in self.names else ("swapped", value[1])


def test_shapes(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3)], PAIR)
    timeless = pairs.assign_timestamps_and_watermarks(WatermarkStrategy.no_watermarks())
    rows = timeless.map(Item, NAMED).map(lambda row: (row.name, row.n), PAIR)
    keyed = timeless.key_by(first, Types.STRING())
    sides = keyed.connect(keyed).process(Sides(), PAIR)
    both = keyed.connect(keyed).flat_map(BothSides(), PAIR)
    control = env.from_collection(["b"], Types.STRING()).broadcast()
    blocked = keyed.connect(control).flat_map(Blocked(), PAIR)
    swapped = control.connect(timeless).map(Swapped(), PAIR)
    listed = timeless.key_by(lambda pair: [pair[0], [1]]).map(lambda pair: ("list", pair[1]), PAIR)
    streams = {"rows": rows, "sides": sides, "both": both, "blocked": blocked}
    for name, stream in {**streams, "swapped": swapped, "listed": listed}.items():
        stream.add_sink(Lines(tmp_path / name))
    with keyed.execute_and_collect() as results:
        found = sorted(results, key=repr)
    assert found == [Row(f0=pair[0], f1=pair) for pair in [("a", 1), ("a", 3), ("b", 2)]]
    by_side = [(side, n) for side in ("one", "two") for n in (1, 2, 3)]
    for name, pairs_of in {
        "rows": [("a", 1), ("a", 3), ("b", 2)],
        "sides": by_side,
        "both": by_side,
        "blocked": [("a", 1), ("a", 3)],
        "swapped": [("swapped", 1), ("swapped", 3)],
        "listed": [("list", 1), ("list", 2), ("list", 3)],
    }.items():
        lines = (tmp_path / name).read_text().splitlines()
        assert sorted(lines) == list(map(str, pairs_of)), name


def test_a_function_with_state_needs_keys_on_both(streaming: StreamExecutionEnvironment) -> None:
    class Stateful(KeyedCoProcessFunction):
        def process_element1(self, value: Any, ctx: Any) -> None: ...

        def process_element2(self, value: Any, ctx: Any) -> None: ...

    pairs = streaming.from_collection([("a", 1)], PAIR)
    with pytest.raises(ArgumentTypeError, match=r"Stateful has state and timers of keys"):
        pairs.key_by(first).connect(pairs.broadcast()).process(Stateful(), PAIR)


def test_decimals_are_generated(streaming: StreamExecutionEnvironment) -> None:
    tables = StreamTableEnvironment.create(streaming)
    tables.execute_sql(
        "CREATE TABLE g (a DECIMAL(38, 10), b DECIMAL(4, 2), c DECIMAL(6, 1)) WITH ("
        "'connector' = 'datagen', 'number-of-rows' = '50', 'fields.c.min' = '7', "
        "'fields.c.max' = '8.5')"
    )
    rows: list[Row] = list(tables.execute_sql("SELECT * FROM g").collect())
    assert len({row[0] for row in rows}) == 50
    for _, b, c in rows:
        assert -100 < b < 100
        assert 7 <= c <= 8.5
        assert (b.as_tuple().exponent, c.as_tuple().exponent) == (-2, -1)
