"""Programs in the shape of PyFlink's examples of single streams, in both modes."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from flinkish.common import (
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    Duration,
    Row,
    Types,
    WatermarkStrategy,
)
from flinkish.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from tests.spark.programs.example_functions import (
    NAMED,
    SALE,
    Alarm,
    Balance,
    Basket,
    Clocks,
    Running,
    SaleTime,
    gathered,
)

TEXT = ["the sea the sand", "the ship"]
SALES = [
    (1_000, "north", 5),
    (4_000, "south", 1),
    (3_000, "north", 7),
    (2_000, "south", 2),
    (9_000, "north", 3),
]
PEOPLE = [
    (1, '{"name": "Ada", "phone": 10, "city": "Oslo"}'),
    (2, '{"name": "Bo", "phone": 20, "city": "Rome"}'),
    (3, '{"name": "Cy", "phone": 30, "city": "Oslo"}'),
]
PERSON = Types.ROW_NAMED(["id", "info"], [Types.INT(), Types.STRING()])
LATE_BY_2S = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_seconds(2)
).with_timestamp_assigner(SaleTime())


def streams(env: StreamExecutionEnvironment) -> bool:
    return env._mode is RuntimeExecutionMode.STREAMING


def sales(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(SALES, SALE).assign_timestamps_and_watermarks(LATE_BY_2S)


class Split(FlatMapFunction):
    def flat_map(self, value: str) -> list[str]:
        return value.split()


class One(MapFunction):
    def map(self, value: str) -> tuple[str, int]:
        return value, 1


class Added(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


class Word(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value[0]


class Long(FilterFunction):
    def filter(self, value: Any) -> bool:
        return len(value[0]) > 3


@pytest.mark.parametrize("typed", [True, False])
def test_word_count_by_classes(env: StreamExecutionEnvironment, typed: bool) -> None:
    """A rolling function gives a value an element; in batch mode one a key, its last."""
    words = env.from_collection(TEXT, Types.STRING() if typed else None).flat_map(
        Split(), Types.STRING() if typed else None
    )
    ones = words.map(One(), NAMED if typed else None)
    counts = ones.key_by(Word(), Types.STRING() if typed else None).reduce(Added())
    each = [("sand", 1), ("sea", 1), ("ship", 1), ("the", 1), ("the", 2), ("the", 3)]
    last = [("sand", 1), ("sea", 1), ("ship", 1), ("the", 3)]
    assert gathered(counts) == (each if streams(env) else last)
    assert gathered(counts.filter(Long())) == [("sand", 1), ("ship", 1)]


def test_a_reduce_after_a_reduce(env: StreamExecutionEnvironment) -> None:
    """In streaming mode the second one counts the intermediate values of the first one."""
    counts = env.from_collection([("a", 1), ("a", 1), ("b", 1)], NAMED).key_by(Word()).sum(1)
    total = counts.key_by(lambda pair: 0, Types.INT()).reduce(lambda a, b: ("all", a[1] + b[1]))
    found = list(total.execute_and_collect())
    assert found[-1][1] == (4 if streams(env) else 3)  # 1 + 2 + 1, or 2 + 1
    assert len(found) == (3 if streams(env) else 1)


def test_the_values_of_a_key_come_in_order(streaming: StreamExecutionEnvironment) -> None:
    given = [(f"k{number % 7}", 1) for number in range(70)]
    made: dict[str, list[int]] = defaultdict(list)
    for key, count in (
        streaming.from_collection(given, NAMED).key_by(Word()).sum(1).execute_and_collect()
    ):
        made[key].append(count)
    assert dict(made) == {f"k{key}": list(range(1, 11)) for key in range(7)}


def test_rolling_functions_of_a_field(env: StreamExecutionEnvironment) -> None:
    """``max`` keeps the other fields of the first element; ``max_by`` takes the whole element."""
    given = [("a", "x", 2), ("a", "y", 5), ("a", "z", 3)]
    kind = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])
    keyed = env.from_collection(given, kind).key_by(Word())
    expected = {
        "sum": [("a", "x", 2), ("a", "x", 7), ("a", "x", 10)],
        "max": [("a", "x", 2), ("a", "x", 5), ("a", "x", 5)],
        "max_by": [("a", "x", 2), ("a", "y", 5), ("a", "y", 5)],
        "min_by": [("a", "x", 2)] * 3,
    }
    for method, each in expected.items():
        found = list(getattr(keyed, method)(2).execute_and_collect())
        assert found == (each if streams(env) else each[-1:]), method


def with_phone(row: Any) -> tuple[int, str]:
    data = json.loads(row.info)
    data["phone"] += 1
    return row.id, json.dumps(data)


def shown(
    stream: DataStream, env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    """What print shows, without the numbers of tasks."""
    stream.print()
    env.execute()
    return sorted(line.partition("> ")[2] for line in capsys.readouterr().out.splitlines())


def test_basic_operations(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each show runs the part of the program that is new, over a source that all of them read."""
    people = env.from_collection(PEOPLE, PERSON)
    pair = Types.TUPLE([Types.INT(), Types.STRING()])
    changed = people.map(with_phone, pair)
    assert shown(changed, env, capsys)[0] == '(1,{"name": "Ada", "phone": 11, "city": "Oslo"})'
    chosen = people.filter(lambda row: row.id == 2).map(with_phone, pair)
    assert shown(chosen, env, capsys) == ['(2,{"name": "Bo", "phone": 21, "city": "Rome"})']
    words = people.flat_map(lambda row: list(json.loads(row.info)), Types.STRING())
    assert shown(words, env, capsys) == sorted(["name", "phone", "city"] * 3)

    def of_city(row: Any) -> tuple[str, int]:
        data = json.loads(row.info)
        return data["city"], data["phone"]

    sums = people.map(of_city, NAMED).key_by(Word()).sum(1)
    each = ["(Oslo,10)", "(Oslo,40)", "(Rome,20)"]
    assert shown(sums, env, capsys) == (each if streams(env) else each[1:])


def test_elements_of_no_type_are_printed_by_python(
    env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyFlink turns an object of no declared type to text on the Python side, with ``str``."""
    untyped = env.from_collection(PEOPLE[:1], PERSON).map(lambda row: (row.id, "x", None, True))
    assert shown(untyped, env, capsys) == ["(1, 'x', None, True)"]


def test_process_json_data(env: StreamExecutionEnvironment) -> None:
    people = env.from_collection([Row(*person) for person in PEOPLE], PERSON)

    def nested(row: Any) -> Any:
        data = json.loads(row.info)
        return Row(id=row.id, who=Row(name=data["name"], city=data["city"]), phones=[data["phone"]])

    who = Types.ROW_NAMED(["name", "city"], [Types.STRING(), Types.STRING()])
    kind = Types.ROW_NAMED(["id", "who", "phones"], [Types.INT(), who, Types.LIST(Types.LONG())])
    rows = people.map(nested, kind)
    found = gathered(rows.map(lambda row: (row.who.name, row["phones"][0], row[1][1])))
    assert found == [("Ada", 10, "Oslo"), ("Bo", 20, "Rome"), ("Cy", 30, "Oslo")]
    assert gathered(rows.filter(lambda row: row.who.city == "Rome")) == [
        Row(id=2, who=Row(name="Bo", city="Rome"), phones=[20])
    ]
    objects = people.map(lambda row: json.loads(row.info))
    cities = objects.key_by(lambda data: data["city"], Types.STRING())
    both = cities.reduce(lambda a, b: {**a, "phone": a["phone"] + b["phone"]})
    phones = [data["phone"] for data in gathered(both)]
    assert sorted(phones) == ([10, 20, 40] if streams(env) else [20, 40])


def test_state_access(env: StreamExecutionEnvironment) -> None:
    """State of a MapFunction and of a KeyedProcessFunction is that of the element's key."""
    given = [("a", 1), ("b", 10), ("a", 2), ("b", 20), ("a", 3)]
    keyed = env.from_collection(given, NAMED).key_by(lambda pair: pair[0], Types.STRING())
    assert gathered(keyed.map(Running(), NAMED)) == [
        *[("a", 1), ("a", 3), ("a", 6)],
        *[("b", 10), ("b", 30)],
    ]


def test_state_that_is_cleared(env: StreamExecutionEnvironment) -> None:
    bought = [("u", "tea"), ("v", "oil"), ("u", "tea"), ("u", "pay"), ("v", "pay"), ("u", "pay")]
    paid = env.from_collection(bought).key_by(lambda pair: pair[0]).process(Basket())
    # After "pay" nothing is left.
    assert gathered(paid) == [
        ("u", ["tea", "tea"], {"tea": 2}),
        ("u", [], {}),
        ("v", ["oil"], {"oil": 1}),
    ]


def test_event_time_timer(env: StreamExecutionEnvironment) -> None:
    """A timer a time; the first one of a key that fires finds its sum, the others nothing.

    Sources of a few elements end before their watermark was ever told, so timers fire at the end,
    earliest first.  In batch mode the elements of a key are in the order of their event times.
    """
    made = sales(env).key_by(lambda sale: sale[1], Types.STRING()).process(Balance(), NAMED)
    found = list(made.execute_and_collect())
    for shop in ("north", "south"):
        of_shop = [pair for pair in found if pair[0].startswith(shop)]
        mine = [sale for sale in SALES if sale[1] == shop]
        if not streams(env):
            mine.sort()
        expected, total = [], 0
        for _, _, price in mine:
            total += price
            expected.append((shop, total))
        for number, (at, _, _) in enumerate(sorted(mine)):
            expected.append((f"{shop} at {at + 2_000}", 0 if number else total))
        assert of_shop == expected


def test_watermarks_of_elements_and_timers(env: StreamExecutionEnvironment) -> None:
    """B.1, B.8, B.11: a timer twice is one, a deleted one none.

    A timer's timer fires in streaming mode; at the end of a key in batch mode it is ignored.
    """
    given = env.from_collection([(1, "a", 1), (2, "a", 1)], SALE)
    made = given.assign_timestamps_and_watermarks(LATE_BY_2S).key_by(lambda sale: sale[1])
    later = [("timer 7 of EVENT_TIME", MAX_TIMESTAMP)] if streams(env) else []
    assert list(made.process(Clocks(), NAMED).execute_and_collect()) == [
        ("element", MIN_TIMESTAMP),
        ("element", MIN_TIMESTAMP),
        ("timer 5 of EVENT_TIME", MAX_TIMESTAMP),
        *later,
    ]


def test_timers_of_the_clock_at_the_end(env: StreamExecutionEnvironment) -> None:
    """B.28: batch mode fires all timers of a key; in streaming mode they end with the sources."""
    made = env.from_collection([("a", 1), ("b", 1)], NAMED).key_by(Word()).process(Alarm())
    expected = [("a", "PROCESSING_TIME"), ("b", "PROCESSING_TIME")]
    assert gathered(made) == ([] if streams(env) else expected)
