"""Streams whose elements have a declared type, and chains of functions without keys."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from flinkish.common import OutputTag, Row, Time, Types, WatermarkStrategy
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    TimestampError,
    UnsupportedOperationError,
)
from flinkish.datastream import AsyncDataStream, ProcessFunction
from flinkish.spark import DataStream
from flinkish.windowing import TumblingEventTimeWindows
from tests.spark.element_functions import (
    ODD,
    Both,
    Fresh,
    Last,
    Numbered,
    Sides,
    Split,
    Spread,
    Times,
)

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
LINES = ["a b a", "b", "", "c a"]


def collected(stream: DataStream) -> list[Any]:
    return sorted(tuple(row) for row in stream.to_df().collect())


@pytest.fixture
def lines(spark: SparkSession) -> DataStream:
    return DataStream(spark.createDataFrame([(line,) for line in LINES], "line string"))


@pytest.fixture
def numbers(spark: SparkSession) -> DataStream:
    return DataStream(spark.range(6).withColumnRenamed("id", "n"))


def test_the_word_count_of_pyflink(lines: DataStream) -> None:
    words = lines.flat_map(lambda row: row.line.split()).map(lambda word: (word, 1), PAIR)
    counts = words.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    assert collected(counts) == [("a", 3), ("b", 2), ("c", 1)]
    assert counts.get_type() == PAIR
    by_name = words.key_by("f0").sum(1)
    assert collected(by_name) == [("a", 3), ("b", 2), ("c", 1)]


def test_functions_that_follow_each_other_run_in_one_worker(numbers: DataStream) -> None:
    chain = numbers.map(lambda row: row.n + 1, Types.INT()).filter(lambda n: n % 2)
    chain = chain.map(str).map(lambda text: (text, 0), PAIR)
    plan = chain.to_df()._jdf.queryExecution().executedPlan().toString()
    assert plan.count("MapInArrow") == 1
    assert "map, filter, map, map" in plan
    assert collected(chain) == [("1", 0), ("3", 0), ("5", 0)]
    # A stream may be used twice.
    doubled = numbers.map(lambda row: row.n * 2, Types.LONG())
    assert collected(doubled.map(lambda n: n + 1, Types.LONG()))[-1] == (11,)
    assert collected(doubled.filter(lambda n: n > 7)) == [(8,), (10,)]


@pytest.mark.parametrize(
    ("make", "kind", "shown"),
    [
        (lambda row: (str(row.n), row.n), PAIR, "tuple"),
        (lambda row: row.n, Types.LONG(), "int"),
        (lambda row: Row(n=row.n), Types.ROW_NAMED(["n"], [Types.LONG()]), "Row"),
        (lambda row: {"n": row.n}, None, "dict"),
        (lambda row: [row.n], Types.LIST(Types.LONG()), "list"),
    ],
    ids=["tuple", "int", "row", "pickled", "list"],
)
def test_operators_see_elements_of_the_declared_type(
    numbers: DataStream, make: Any, kind: Any, shown: str
) -> None:
    typed = numbers.map(make, kind)
    keyed = typed.key_by(lambda value: len(repr(value)) * 0, Types.INT())
    seen = keyed.process(Last(), schema="what string, kind string, before string").to_df().collect()
    assert {row.kind for row in seen} == {shown}
    assert Counter(row.before for row in seen) == {"NoneType": 1, shown: 5}
    again = keyed.process(Last()).map(lambda found: found[0], Types.STRING())
    assert len(collected(again)) == 6
    assert {row.what for row in seen} == {one for (one,) in collected(again)}


def test_a_data_frame_as_elements_of_a_type(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 1), ("b", 2)], "name string, n bigint")
    typed = DataStream(frame, PAIR)
    assert collected(typed.map(lambda pair: pair[0] * pair[1], Types.STRING())) == [("a",), ("bb",)]
    assert typed.get_type() == PAIR
    rows = DataStream(frame)
    assert rows.get_type() == Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
    with pytest.raises(IllegalArgumentError, match="need the columns string, bigint, and the Da"):
        DataStream(frame.select("name"), PAIR)
    with pytest.raises(ArgumentTypeError, match="type_info must be a TypeInformation"):
        DataStream(frame, int)  # type: ignore[arg-type]


def test_elements_without_a_type_have_no_columns(numbers: DataStream) -> None:
    untyped = numbers.map(lambda row: row.n)
    assert untyped.get_type() == Types.PICKLED_BYTE_ARRAY()
    with pytest.raises(UnsupportedOperationError, match="no type was declared"):
        untyped.to_df()
    keyed = untyped.key_by(lambda n: n % 2)
    with pytest.raises(UnsupportedOperationError, match="no type was declared"):
        keyed.process(Last()).foreach_batch(lambda batch, main: None)


def test_process_and_its_side_output(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(n,) for n in range(5)], "n bigint")
    strategy: Any = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        _Assigned()
    )
    stream = DataStream(frame).assign_timestamps_and_watermarks(strategy)
    split = stream.process(Split(), Types.TUPLE([Types.LONG(), Types.LONG()]))
    assert collected(split) == [(0, 0), (2, 2000), (4, 4000)]
    odd = split.get_side_output(ODD)
    assert collected(odd.map(lambda n: -n, Types.LONG())) == [(-3,), (-1,)]
    # Time goes on with the elements.
    windows = odd.key_by(lambda n: 0).window(TumblingEventTimeWindows.of(2000))
    assert collected(windows.process(Spread(), schema="k int, all array<bigint>, at bigint")) == [
        (0, [1], 0),
        (0, [3], 2000),
    ]
    # An assigner is told the time so far; without one it stays.
    later: Any = WatermarkStrategy.no_watermarks().with_timestamp_assigner(_Later())
    monotonous = WatermarkStrategy.for_monotonous_timestamps()
    for again, more in ((later, 5), (monotonous, 0)):
        moved = split.assign_timestamps_and_watermarks(again)
        timed = moved.process(_Timed(), Types.TUPLE([Types.LONG(), Types.LONG()]))
        assert collected(timed) == [(time, time + more) for time in (0, 2000, 4000)]
    with pytest.raises(UnsupportedOperationError, match="this stream has none"):
        stream.map(lambda row: row).get_side_output(ODD)
    with pytest.raises(ArgumentTypeError, match="named by its OutputTag"):
        split.get_side_output("odd")  # type: ignore[arg-type]


class _Later:
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return record_timestamp + 5


class _Timed(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value[1], ctx.timestamp()


class _Assigned:
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        n = value.n if isinstance(value, Row) else value[1]
        return int(n) * 1000


def test_functions_of_keyed_streams_have_state(lines: DataStream) -> None:
    words = lines.flat_map(lambda row: row.line.split(), Types.STRING())
    keyed = words.key_by(lambda word: word)
    assert collected(keyed.map(Numbered(), PAIR)) == [
        *[("a", 1), ("a", 2), ("a", 3)],
        *[("b", 1), ("b", 2), ("c", 1)],
    ]
    assert collected(keyed.filter(Fresh())) == [("a",), ("b",), ("c",)]
    assert collected(keyed.flat_map(lambda word: [word] * 2, Types.STRING()))[:6] == [("a",)] * 6
    assert keyed.map(Numbered(), PAIR).explain().startswith("Numbered-1: ")
    assert keyed.map(lambda word: word).explain().startswith("map-1: ")


@pytest.mark.parametrize(
    ("method", "position", "expected"),
    [
        ("sum", 1, [("a", 6), ("b", 7)]),
        ("min", "f1", [("a", 1), ("b", 2)]),
        ("max", 1, [("a", 3), ("b", 5)]),
        ("min_by", 1, [("a", 1), ("b", 2)]),
        ("max_by", 1, [("a", 3), ("b", 5)]),
    ],
)
def test_reduced_fields(spark: SparkSession, method: str, position: Any, expected: Any) -> None:
    given = [("a", 2), ("a", 1), ("a", 3), ("b", 5), ("b", 2)]
    frame = spark.createDataFrame(given, "f0 string, f1 bigint")
    rows = DataStream(frame).key_by("f0")
    assert collected(getattr(rows, method)(position)) == expected
    if isinstance(position, int):
        tuples = DataStream(frame, PAIR).key_by(lambda pair: pair[0])
        assert collected(getattr(tuples, method)(position)) == expected
    single = DataStream(frame.select("f1"), Types.LONG()).key_by(lambda n: True)
    found = {"sum": 13, "min": 1, "max": 5, "min_by": 1, "max_by": 5}[method]
    assert collected(getattr(single, method)()) == [(found,)]
    with pytest.raises(ArgumentTypeError, match="position or the name"):
        getattr(single, method)(1.5)


@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "keyed"])
def test_connected_streams(lines: DataStream, numbers: DataStream, keyed: bool) -> None:
    words = lines.flat_map(lambda row: [(w, 2) for w in row.line.split()], PAIR)
    values = numbers.map(lambda row: row.n - 2, Types.LONG())
    both = words.connect(values)
    if keyed:
        both = both.key_by(lambda pair: len(pair[0]), lambda n: n * n)
    assert Counter(collected(both.map(Sides(), PAIR))) == Counter(
        [("one", 2)] * 6 + [("other", n) for n in range(4)]
    )
    assert Counter(collected(both.flat_map(Times(), PAIR))) == Counter(
        [("one", 0)] * 6 + [("one", 1)] * 6 + [("other", n) for n in range(-2, 4)]
    )
    if not keyed:
        made = both.process(Both(), PAIR)
        assert collected(made) == [("one", 2)] * 6
        sides = collected(made.get_side_output(ODD))
        assert sides == sorted([(2,)] * 6 + [(n,) for n in range(-2, 4)])
    wanted = "takes a CoMapFunction" if keyed else "need a function with map1 and map2"
    with pytest.raises(ArgumentTypeError, match=wanted):
        both.map(lambda value: value)


NONE = WatermarkStrategy.no_watermarks()


def test_union(spark: SparkSession, numbers: DataStream) -> None:
    more = numbers.map(lambda row: Row(n=row.n + 10), Types.ROW_NAMED(["n"], [Types.LONG()]))
    same = DataStream(spark.range(2).withColumnRenamed("id", "n"))
    assert len(collected(numbers.union(same, same))) == 10
    with pytest.raises(ArgumentTypeError, match="streams of one type"):
        numbers.union(more)
    ints = numbers.map(lambda row: row.n, Types.LONG())
    shifted = ints.map(lambda n: n + 6, Types.LONG())
    assert collected(ints.union(shifted)) == [(n,) for n in range(12)]
    with pytest.raises(IllegalArgumentError, match="Rows of the same fields"):
        numbers.union(DataStream(spark.range(2)))
    strategy: Any = WatermarkStrategy.no_watermarks().with_timestamp_assigner(_Assigned())  # type: ignore[arg-type]
    assert len(collected(numbers.union(numbers.assign_timestamps_and_watermarks(strategy)))) == 12
    rate = DataStream(spark.readStream.format("rate").load().selectExpr("value n", "timestamp"))
    with pytest.raises(TimestampError, match="some have none"):
        rate.union(rate.assign_timestamps_and_watermarks(NONE, column="timestamp"))
    known = DataStream._of(replace(rate._rows, event_time="timestamp", source_times=True))
    assert known.union(known)._rows.event_time is not None
    assert rate.union(known)._rows.event_time is None, "some rows have none, so none has"
    rate = DataStream(rate.to_df().select("n"))
    with pytest.raises(UnsupportedOperationError, match="streaming DataFrame"):
        numbers.union(rate)


def test_calls_of_services_see_elements(lines: DataStream) -> None:
    async def length(pair: Any) -> list[Any]:
        return [len(pair[0]), pair[1]]

    words = lines.flat_map(lambda row: [(w * 2, 1) for w in row.line.split()], PAIR)
    waited = AsyncDataStream.ordered_wait(
        words, _Calls(length), Time.seconds(60), output_type=Types.LONG()
    )
    assert collected(waited.map(lambda n: n, Types.LONG())) == [(1,)] * 6 + [(2,)] * 6
    untyped = AsyncDataStream.ordered_wait(words, _Calls(length), Time.seconds(60))
    assert collected(untyped.map(lambda n: n * 5, Types.INT())) == [(5,)] * 6 + [(10,)] * 6


class _Calls:
    def __init__(self, call: Any) -> None:
        self.call = call

    def open(self, runtime_context: Any) -> None: ...

    def close(self) -> None: ...

    async def async_invoke(self, value: Any) -> Any:
        return await self.call(value)

    def timeout(self, value: Any) -> Any:
        return []


def test_side_outputs_are_of_their_tags_type(numbers: DataFrame | DataStream) -> None:
    assert isinstance(numbers, DataStream)
    tag = OutputTag("pairs", PAIR)
    made = numbers.key_by("n").process(_ToSide(tag), schema="n bigint")
    side = made.get_side_output(tag)
    assert side.get_type() == PAIR
    assert collected(side.map(lambda pair: pair[1], Types.LONG())) == [(n,) for n in range(6)]


class _ToSide(Last):
    def __init__(self, tag: OutputTag) -> None:
        self.tag = tag

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield self.tag, (str(value.n), value.n)
