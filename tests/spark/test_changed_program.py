"""Programs that changed between two runs from one checkpoint, on Spark."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from flinkish.common import Types
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError, IllegalStateError
from flinkish.functions import KeyedCoProcessFunction, KeyedProcessFunction
from flinkish.spark import ProcessedStream, StateSettings
from flinkish.state import ValueStateDescriptor
from flinkish.time import assign_to_key_group
from tests.spark.kept_checkpoint import IDS, OUT, SCHEMA, Filtered, Kept, process, rows
from tests.spark.support import GROUPS, Source, by_key, raises, run, timed

MANY = 64  # key groups, of which some have no state
FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"


class Passed(KeyedProcessFunction):
    """Numbers the rows of each key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value.id, self.count.value(), ctx.timestamp()


class Failing(Kept):
    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        raise ValueError("no timer yet")


class Both(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield (value.id,)

    process_element2 = process_element1


def filled(spark: SparkSession, tmp_path: Path, **others: Any) -> Source:
    """A source whose first two files a query with `Kept` has gone through."""
    source = Source(spark, tmp_path / "in", SCHEMA)
    source.add(rows(1, 1))
    source.add(rows(2, 2))
    run(process(source, tmp_path / "tables", **others), tmp_path / "checkpoint")
    return source


def test_a_batch_without_rows_is_compared(spark: SparkSession, tmp_path: Path) -> None:
    source = filled(spark, tmp_path)
    source.add(rows(3, 3))
    texts = Filtered(spark, tmp_path / "in", SCHEMA.replace("id int", "id string"))
    with raises(StreamingQueryException, match=r"IncompatibleStateError.*\(id string\)"):
        run(process(texts, tmp_path / "tables"), tmp_path / "checkpoint")
    found = run(process(source, tmp_path / "tables"), tmp_path / "checkpoint").rows()
    assert {row[:2] for row in found} == {(one, 3) for one in IDS}


class Texts(KeyedProcessFunction):
    """Has the count of `Kept` as a text."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.STRING()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update("one")
        yield value.id, 1, "", ""


def test_a_state_of_another_type_is_refused_before_it_is_mixed(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Also if only a key group comes that has no state yet."""
    touched = {assign_to_key_group(one, MANY) for one in IDS}
    new = next(one for one in range(100) if assign_to_key_group(one, MANY) not in touched)
    source = filled(spark, tmp_path, max_parallelism=MANY)
    source.add(rows(3, 3, (new,)))
    refused = r"StateMigrationError.*'count' was declared as value of Long"
    changed = process(source, tmp_path / "tables", function=Texts(), max_parallelism=MANY)
    with raises(StreamingQueryException, match=refused):
        run(changed, tmp_path / "checkpoint")
    again = process(source, tmp_path / "tables", max_parallelism=MANY)
    found = run(again, tmp_path / "checkpoint").rows()
    assert {row[:2] for row in found} == {(new, 1)}


def test_timers_of_a_batch_without_data_do_not_fire_for_other_keys(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    source.add(rows(1, 1))
    source.add(rows(2, 30, (77,)))
    checkpoint = tmp_path / "checkpoint"
    # The batch in which only the watermark moves is planned, and fails.
    with raises(StreamingQueryException, match="no timer yet"):
        run(process(source, tmp_path / "tables", function=Failing()), checkpoint)
    texts = Source(spark, tmp_path / "in", SCHEMA.replace("id int", "id string"))
    with raises(StreamingQueryException, match=r"IncompatibleStateError.*\(id string\)"):
        run(process(texts, tmp_path / "tables"), checkpoint)
    # With the keys as they were the same batch fires them.
    found = run(process(source, tmp_path / "tables"), checkpoint)
    assert by_key(found.rows()).keys() == set(IDS)
    assert (found.statistics["rows"], found.statistics["timers_fired"]) == (0, len(IDS))


def two(source: Source, first: str, second: str) -> ProcessedStream:
    columns = "id int, n bigint, at bigint"
    passed = (
        timed(source.stream())
        .key_by("id")
        .process(Passed(), schema=columns, uid=first, max_parallelism=GROUPS)
    )
    return passed.key_by("id").process(Passed(), schema=columns, uid=second, max_parallelism=GROUPS)


def test_operators_that_changed_places_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    source.add(rows(1, 1))
    run(two(source, "count", "alert"), tmp_path / "checkpoint")
    source.add(rows(2, 2))
    with raises(StreamingQueryException, match=r"uid=.*this program has"):
        run(two(source, "alert", "count"), tmp_path / "checkpoint")
    found = run(two(source, "count", "alert"), tmp_path / "checkpoint")
    assert {row[:2] for row in found.rows()} == {(one, 2) for one in IDS}


def test_an_operator_starts_without_its_state_once(spark: SparkSession, tmp_path: Path) -> None:
    source = filled(spark, tmp_path)
    state = StateSettings(table_dir=str(tmp_path / "tables"), generation="2")
    source.add(rows(3, 5, IDS[:2]))
    source.add(rows(4, 13, IDS[:1]))  # behind the timers of the state that was left
    afresh = run(process(source, None, state=state), tmp_path / "checkpoint")
    found = by_key(afresh.rows())
    assert [row[1] for row in found[IDS[0]]] == [1, 2]
    assert [row[1] for row in found[IDS[1]]] == [1]
    assert found.keys() == set(IDS[:2])
    assert afresh.statistics["timers_fired"] == 0
    assert 1 <= afresh.statistics["groups_dropped"] <= GROUPS

    source.add(rows(5, 30, IDS[:2]))
    again = run(process(source, None, state=state), tmp_path / "checkpoint")
    fired = [row for row in again.rows() if row[3].startswith("timer")]
    assert sorted((row[0], row[3]) for row in fired) == sorted(
        [(IDS[0], "timer 15000"), (IDS[0], "timer 23000"), (IDS[1], "timer 15000")]
    )
    assert again.statistics["groups_dropped"] == 0

    source.add(rows(6, 31))
    with raises(StreamingQueryException, match=r"keep state=.*generation='2'"):
        run(process(source, tmp_path / "tables"), tmp_path / "checkpoint")


def test_two_operators_of_one_name_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    def passed(name: str, **others: Any) -> ProcessedStream:
        source = Source(spark, tmp_path / name, SCHEMA)
        source.add(rows(1, 1))
        keyed = timed(source.stream()).key_by("id")
        return keyed.process(Passed(), schema="id int, n bigint, at bigint", **others)

    for names in ({}, {"uid": "count"}):
        one, other = (passed(name, **names).key_by("id") for name in ("a", "b"))
        with pytest.raises(IllegalArgumentError, match=r"two operators .* with uid='\.\.\.'"):
            one.connect(other).process(Both(), schema="id int")
    one, other = (passed(name, uid=name).key_by("id") for name in ("a", "b"))
    found = run(one.connect(other).process(Both(), schema="id int"), tmp_path / "checkpoint")
    assert sorted(found.rows()) == sorted((one,) for one in IDS * 2)


def test_a_session_with_the_first_format_of_state_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = Source(spark, tmp_path / "in", SCHEMA)
    spark.conf.set(FORMAT, "1")
    try:
        with pytest.raises(IllegalStateError, match=f"{FORMAT} is 1"):
            process(source, None)
    finally:
        spark.conf.set(FORMAT, "2")
    process(source, None)


def test_widened_keys_meet_none_that_are_not(spark: SparkSession, tmp_path: Path) -> None:
    wide = Source(spark, tmp_path / "in", SCHEMA.replace("id int", "id bigint"))
    stream = timed(wide.stream())
    widened = stream.key_by("id", widened_from="int")
    with pytest.raises(ArgumentTypeError, match="bigint widened from int, those of the second big"):
        widened.connect(stream.key_by("id")).process(Both(), schema="id bigint")
    widened.connect(stream.key_by("id", widened_from="int")).process(Both(), schema="id bigint")
    with pytest.raises(IllegalArgumentError, match="'id' was 'float', and it is bigint"):
        stream.key_by("id", widened_from="float").process(Kept(), schema=OUT)
