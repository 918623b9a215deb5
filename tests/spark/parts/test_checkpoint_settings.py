"""What the settings in a checkpoint refuse, what they let pass, and state that is left behind."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from flinkish import __version__
from flinkish._core.values import codec
from flinkish.common import Time
from flinkish.common.errors import IllegalArgumentError, IncompatibleStateError
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.functions.aggregates import Count, Sum
from flinkish.operators.grouped_reduce import GroupedReduce
from flinkish.operators.join_definition import JoinDefinition
from flinkish.operators.vector_window import WindowSpec
from flinkish.operators.window_definition import WindowDefinition
from flinkish.spark.keyed.checkpoint_settings import (
    KIND_SETTINGS,
    SETTINGS_FORMAT,
    check_settings,
    settings_of,
)
from flinkish.spark.keyed.columns.plan import VectorPlan
from flinkish.spark.keyed.group_state import HEAD
from flinkish.spark.keyed.key_widening import KEY_FUNCTION, described_keys, widened_columns
from flinkish.spark.keyed.packing import SETTINGS_GROUP
from flinkish.spark.keyed.placement import slot_of
from flinkish.spark.keyed.plan import OperatorPlan, StateSettings
from flinkish.spark.keyed.processor import KeyGroupProcessor
from flinkish.state import ValueStateDescriptor
from flinkish.windowing import CountTrigger, EventTimeTrigger, TumblingEventTimeWindows
from tests.spark.fake_spark import FakeMap, FakeSpark
from tests.spark.fake_spark import plan as fake_plan

OUT = pa.schema([("key", pa.string()), ("what", pa.string()), ("at", pa.int64())])
AMOUNTS = (Count(), Sum("amount"))
HOUR = WindowDefinition.of(TumblingEventTimeWindows.of(Time.hours(1)))
DAY = WindowDefinition.of(TumblingEventTimeWindows.of(Time.days(1)))


def keys(*columns: str, widened: tuple[str, ...] = ()) -> list[dict[str, str]]:
    names, types = zip(*(column.split(" ", 1) for column in columns), strict=True)
    return described_keys(names, types, widened)


def plan(function: Any = None, **changes: Any) -> OperatorPlan:
    """A plan of a function keyed by an int, with these changes."""
    return fake_plan(function, OUT, Path("nowhere"), **({"keys": keys("id int")} | changes))


def vector(spec: WindowSpec, *aggregates: Any) -> VectorPlan:
    return VectorPlan(spec, aggregates or AMOUNTS)


def second(**changes: Any) -> dict[str, Any]:
    return {"second": plan(**changes)}


class Counting(KeyedProcessFunction):
    """Counts, and has a timer as long after each row as the row says."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + value.n)
        yield value.key, "row", self.count.value()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), "timer", timestamp


TUMBLING = WindowSpec(size=1000, unit=1000)
JOIN = {"function": JoinDefinition(-5, 5)} | second()

REFUSED = {
    "wider": ({}, {"keys": keys("id bigint")}, "keys", r"key_by\(..., widened_from='int'\)"),
    "text": (
        {},
        {"keys": keys("id string")},
        "keys",
        r"\(id int\), .* has \(id string\)",
    ),
    "another column": ({}, {"keys": keys("other int")}, "keys", "withColumnRenamed"),
    "two columns": ({}, {"keys": keys("id int", "b int")}, "keys", r"\(id int, b int\)"),
    "other order": (
        {"keys": keys("a int", "b int")},
        {"keys": keys("b int", "a int")},
        "keys",
        r"was written with keys=\(a int, b int\)",
    ),
    "one of two wider": (
        {"keys": keys("a string", "b int")},
        {"keys": keys("a string", "b bigint")},
        "keys",
        r"widened_from=\{'b': 'int'\}",
    ),
    "a function": ({}, {"keys": KEY_FUNCTION}, "keys", "a function of the row"),
    "no longer widened": (
        {"keys": keys("id bigint", widened=("id",))},
        {"keys": keys("id bigint")},
        "keys",
        r"=\(id bigint widened from int\), .* has \(id bigint\); .*widened_from='int'",
    ),
    "narrow again": (
        {"keys": keys("id bigint", widened=("id",))},
        {"keys": keys("id int")},
        "keys",
        "key by the same columns",
    ),
    "never an int": (
        {"keys": keys("id bigint")},
        {"keys": keys("id bigint", widened=("id",))},
        "keys",
        "key by the same columns",
    ),
    "scale": (
        {"keys": keys("id decimal(10,2)")},
        {"keys": keys("id decimal(10,3)")},
        "keys",
        "cast",
    ),
    "second input": (
        second(),
        second(keys=keys("id bigint")),
        "keys of the second input",
        "widened_from='int'",
    ),
    "uid": (
        {"uid": "count", "named": True},
        {"uid": "alert", "named": True},
        "uid",
        "uid=count, this program has alert; .* place in the query, .* that of 'count'",
    ),
    "uid gone": ({"uid": "count", "named": True}, {"uid": "C-1"}, "uid", "uid='count'"),
    "operator": ({}, {"function": GroupedReduce(max)}, "operator", "=process, .* has reduce"),
    "path": (
        {"function": vector(TUMBLING)},
        {"function": HOUR},
        "operator",
        "=windows, by columns, .* has windows, row by row",
    ),
    "join": (JOIN, second(), "operator", "=interval join"),
    "bounds": (
        JOIN,
        {"function": JoinDefinition(-5, 6)} | second(),
        "bounds",
        r"\[-5, 5\], this program has \[-5, 6\]",
    ),
    "windows": (
        {"function": HOUR},
        {"function": DAY},
        "windows",
        r"TumblingEventTimeWindows\(3600000",
    ),
    "panes": (
        {"function": vector(TUMBLING)},
        {"function": vector(WindowSpec(size=1000, unit=500))},
        "windows",
        "size 1000 ms, unit 1000 ms, this program has size 1000 ms, unit 500 ms",
    ),
    "aggregates": (
        {"function": vector(TUMBLING)},
        {"function": vector(TUMBLING, Sum("amount"), Count())},
        "aggregates",
        "in their order",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_lose_or_misread_state_is_refused(name: str) -> None:
    before, after, setting, needed = REFUSED[name]
    log = FakeMap({})
    assert check_settings(plan(**before), log)
    kept = log.getValue(HEAD)
    with pytest.raises(IncompatibleStateError, match=needed) as caught:
        check_settings(plan(**after), log)
    error = caught.value
    assert error.setting == setting
    assert (error.was, error.now) == (
        settings_of(plan(**before))[setting],
        settings_of(plan(**after))[setting],
    )
    assert "StateSettings(generation=" in str(error), "the way out"
    assert log.getValue(HEAD) == kept
    assert not check_settings(plan(**before), log), "the old program goes on"


HARMLESS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing": ({}, {}),
    "other columns": ({}, {"schema": pa.schema([("id", pa.int32()), ("new", pa.string())])}),
    "another function": ({}, {"function": Counting()}),
    "small integers": ({"keys": keys("id tinyint")}, {"keys": keys("id int")}),
    "integers of one hash": ({"keys": keys("id int")}, {"keys": keys("id smallint")}),
    "widened": ({}, {"keys": keys("id bigint", widened=("id",))}),
    "digits": ({"keys": keys("id decimal(9,2)")}, {"keys": keys("id decimal(20,2)")}),
    "a uid for one without": ({"uid": "C-1"}, {"uid": "count", "named": True}),
    "another derived name": ({"uid": "C-1"}, {"uid": "D-1"}),
    "lateness": ({"function": HOUR}, {"function": HOUR.with_lateness(Time.minutes(5))}),
    "trigger": ({"function": HOUR}, {"function": HOUR.with_trigger(CountTrigger.of(3))}),
    "the same trigger": ({"function": HOUR}, {"function": HOUR.with_trigger(EventTimeTrigger())}),
    "names of results": (
        {"function": vector(TUMBLING)},
        {"function": vector(TUMBLING, Count().alias("n"), Sum("amount"))},
    ),
    "groups now said": ({"groups_by_default": 2}, {}),
    "compaction": ({}, {"compact_pieces": 3}),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_harmless_goes_on(name: str) -> None:
    before, after = HARMLESS[name]
    log = FakeMap({})
    check_settings(plan(**before), log)
    check_settings(plan(**after), log)
    assert not check_settings(plan(**after), log), "written once"
    if name == "widened":
        with pytest.raises(IncompatibleStateError, match="keys"):
            check_settings(plan(**before), log)


def sealed(version: int, fields: dict[str, Any]) -> tuple[bytes, bool]:
    return codec.seal(KIND_SETTINGS, version, 0, json.dumps(fields).encode()), False


def test_settings_of_the_first_format_are_completed() -> None:
    log = FakeMap({})
    log.updateValue(HEAD, sealed(1, {"max_parallelism": 4}))
    with pytest.raises(IncompatibleStateError, match="max_parallelism"):
        check_settings(plan(max_parallelism=8), log)
    assert check_settings(plan(), log)
    body = codec.unseal(log.getValue(HEAD)[0], KIND_SETTINGS, 0, version=SETTINGS_FORMAT)
    found = json.loads(bytes(body))
    assert found == settings_of(plan()) | {"flinkish": __version__}
    with pytest.raises(IncompatibleStateError, match="keys"):
        check_settings(plan(keys=keys("id string")), log)


def test_newer_settings_are_refused_by_name() -> None:
    log = FakeMap({})
    log.updateValue(HEAD, sealed(9, {"flinkish": "9.1", "max_parallelism": 4}))
    needed = (
        rf"'operator' was written by flinkish 9.1 in the format 9; this is flinkish {__version__}"
    )
    with pytest.raises(IncompatibleStateError, match=needed):
        check_settings(plan(), log)


def test_another_number_of_shuffle_partitions_is_named() -> None:
    log = FakeMap({})
    check_settings(plan(max_parallelism=16, groups_by_default=8), log)
    needed = (
        "max_parallelism=16, this program has 128; .* neither was set; both follow from "
        "spark.sql.shuffle.partitions, which was 8 and is 40: set max_parallelism=16"
    )
    with pytest.raises(IncompatibleStateError, match=needed):
        check_settings(plan(max_parallelism=128, groups_by_default=40), log)
    assert check_settings(plan(max_parallelism=16), log), "it is set now"
    with pytest.raises(IncompatibleStateError, match="set max_parallelism=16 where"):
        check_settings(plan(max_parallelism=128, groups_by_default=40), log)
    log.updateValue(HEAD, sealed(1, {"max_parallelism": 16}))
    needed = "follows from spark.sql.shuffle.partitions=40, which was another then, or"
    with pytest.raises(IncompatibleStateError, match=needed):
        check_settings(plan(max_parallelism=128, groups_by_default=40), log)


@pytest.mark.parametrize(
    ("columns", "types", "given", "needed"),
    [
        (["id"], ["string"], "int", "'id' was 'int', and it is string"),
        (["id"], ["bigint"], "float", "'id' was 'float'"),
        (["id"], ["bigint"], {"other": "int"}, "'other', which is no key column; those are id"),
        (["a", "b"], ["bigint", "bigint"], "int", "which of the columns a, b"),
        ([], [], "int", "a key function needs none"),
    ],
)
def test_what_cannot_be_widened(
    columns: list[str], types: list[str], given: Any, needed: str
) -> None:
    with pytest.raises(IllegalArgumentError, match=needed):
        widened_columns(columns, types, given)


# --- generations


def counting(tables: Path, generation: str, **changes: Any) -> OperatorPlan:
    state = StateSettings(table_dir=str(tables), generation=generation)
    return replace(fake_plan(Counting(), OUT, tables, **changes), state=state)


def test_a_generation_starts_without_state_and_timers_once(tmp_path: Path) -> None:
    spark = FakeSpark()
    names = [f"k{n}" for n in range(12)]
    spark.batch(counting(tmp_path, ""), [(key, 5000, 1000) for key in names], 0)
    groups = len(spark.state)
    assert groups == 4

    afresh = counting(tmp_path, "2")
    assert spark.batch(afresh, [("k0", 90_000, 2000)], 1000) == [("k0", "row", 1)]
    assert spark.counters["groups_dropped"] == 1
    assert spark.batch(afresh, [], 7000) == [], "timers of dropped state do not fire"
    assert spark.counters["groups_dropped"] == groups - 1
    assert spark.counters["timers_fired"] == 0

    again = counting(tmp_path / "other tables", "2")
    found = spark.batch(again, [(key, 90_000, 8000) for key in names], 7000)
    assert {(key, n) for key, _, n in found} == {(key, 2 if key == "k0" else 1) for key in names}
    assert spark.counters["groups_dropped"] == 0
    assert len(spark.batch(again, [], 200_000)) == 13


def test_a_generation_may_have_other_keys_and_fewer_groups(tmp_path: Path) -> None:
    spark = FakeSpark()
    rows = [(f"k{n}", 5000, 1000) for n in range(40)]
    spark.batch(counting(tmp_path, "", max_parallelism=32), rows, 0)
    assert max(spark.state) >= 4
    fewer = counting(tmp_path, "2", max_parallelism=2)
    assert spark.batch(fewer, rows[:1], 1000) == [("k0", "row", 1)]
    assert spark.batch(fewer, [], 9000) == [("k0", "timer", 6000)]
    assert [group for group in spark.state if group >= 2 and spark.state[group]["log"]] == []


def test_a_batch_that_fails_drops_nothing(tmp_path: Path) -> None:
    spark = FakeSpark()
    spark.batch(counting(tmp_path, ""), [("k0", 5000, 1000)], 0)
    spark.batch(counting(tmp_path, "2"), [("k0", 5000, 2000)], 0, commit=False)
    assert spark.batch(counting(tmp_path, ""), [("k0", 5000, 2000)], 0) == [("k0", "row", 2)]


def test_a_generation_lets_everything_be_another() -> None:
    log = FakeMap({})
    check_settings(plan(uid="count", named=True), log)
    changes: dict[str, Any] = {"max_parallelism": 64, "keys": keys("a string")}
    other = plan(uid="alert", named=True, **changes)
    second = replace(other, state=StateSettings(generation="2"))
    assert check_settings(second, log)
    assert not check_settings(second, log)
    third = replace(other, state=StateSettings(generation="3"))
    assert check_settings(third, log)
    for left in (other, second):
        with pytest.raises(IncompatibleStateError, match=r"keep state=.*generation='3'") as caught:
            check_settings(left, log)
        assert caught.value.setting == "generation"


# --- batches without rows


def call(spark: FakeSpark, operator: OperatorPlan, watermark: int, *, rows: bool) -> None:
    """What Spark calls for the group of the settings in a batch."""
    processor = KeyGroupProcessor(operator)
    processor.init(spark)  # type: ignore[arg-type]
    spark.current = spark.state.setdefault(SETTINGS_GROUP, {"timers": set(), "log": {}})
    key = (slot_of(SETTINGS_GROUP),)
    if rows:
        assert list(processor.handleInputRows(key, iter([]), spark.times(watermark))) == []
    for at in sorted(spark.current["timers"]):
        if at <= watermark:
            assert list(processor.handleExpiredTimer(key, spark.times(watermark), None)) == []
            spark.current["timers"].discard(at)


def test_a_batch_without_rows_is_checked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # for the tables of the function that is opened
    spark = FakeSpark()
    call(spark, plan(Counting()), 0, rows=True)
    for watermark in (10, 20, 21, 500):
        call(spark, plan(Counting()), watermark, rows=False)
        assert spark.current["timers"] == {watermark + 1}, "one timer, due when the clock moves"
    call(spark, plan(Counting()), 500, rows=True)
    assert spark.current["timers"] == {501}
    with pytest.raises(IncompatibleStateError, match="keys"):
        call(spark, plan(Counting(), keys=keys("id string")), 501, rows=False)
