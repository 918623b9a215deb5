"""Real-time mode without Spark: what packs, what runs, and what it waits for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from flinkish.common.errors import (
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
    UnsupportedOperationError,
)
from flinkish.spark.channels import NUMBER_BITS, OF_OPERATOR, Channel, Mark
from flinkish.spark.keyed.marks import read_mark
from flinkish.spark.keyed.packing import pack_table
from flinkish.spark.keyed.placement import group_at
from flinkish.spark.keyed.plan import MARK
from flinkish.spark.real_time import run as real_time_run
from flinkish.spark.real_time.arrivals import PAD, without_pads
from flinkish.spark.real_time.outputs import Gathered
from flinkish.spark.real_time.packing import real_time_packer
from flinkish.spark.real_time.upstream import source_tasks
from flinkish.spark.real_time_settings import (
    REAL_TIME_AT_START,
    buffer_timeout_ms,
    check_real_time,
    configure_real_time,
)
from flinkish.spark.versions.batch import Batch
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.loading import load
from tests.spark.parts.live_task import (
    MAIN_OUTPUT,
    RUN,
    Live,
    hello,
    mark,
    operator,
    packed,
    rows,
    sent,
)


def test_rows_are_packed_as_they_come(tmp_path: Path) -> None:
    """A task says hello, then each batch is rows, and marks if time has passed."""
    made = operator(tmp_path, partitions=2)
    batches = [rows(("a", 1, 5)), rows(("a", 2, 5)), rows(("a", 3, 9), ("b", 4, 7))]
    first, *packed = real_time_packer(made, pack_table, 1)(iter(batches))
    assert [row["phase"] for row in first.to_pylist()] == [MARK, MARK]
    assert sorted(group_at(row["slot"]) for row in first.to_pylist()) == [0, 1]
    assert {read_mark(row["payload"]) for row in first.to_pylist()} == {hello(0)}
    marks = []
    for batch in packed:
        found = batch.to_pylist()
        assert found[0]["phase"] != MARK, "rows before the mark of their time"
        marks.append({read_mark(row["payload"]).time for row in found if row["phase"] == MARK})
    assert marks == [{5}, set(), {9}]


def test_a_source_that_may_be_idle_is_active_while_it_has_rows(tmp_path: Path) -> None:
    """WatermarksWithIdleness counts events, whether they move the watermark or not."""
    made = operator(tmp_path, channels=(Channel(0, idle_ms=40),))
    _, *packed = real_time_packer(made, pack_table, 1)(iter([rows(("a", 1, 5))] * 3))
    marks = [row for batch in packed for row in batch.to_pylist() if row["phase"] == MARK]
    assert [read_mark(row["payload"]) for row in marks] == [mark(0, 5)] * 3


PADS = [
    [None, None],
    [b"", None, b"pad"],
    [b"", None],
    [None, b"pad"],
    [b"pad"],
    [b""],
    [None, b"pad", b"", None, None],
    [],
]


@pytest.mark.parametrize("pads", PADS)
def test_pads_are_taken_out_wherever_they_are(pads: list[bytes | None]) -> None:
    numbers = pa.array(range(len(pads)), pa.int64())
    batch = pa.record_batch([numbers, pa.array(pads, pa.binary())], ["n", PAD])
    wanted = [n for n, pad in enumerate(pads) if pad is None]
    found = list(without_pads(None)(iter([batch])))
    assert [n for one in found for n in one.column("n").to_pylist()] == wanted
    assert all(one.schema.names == ["n"] for one in found)
    assert len(found) == bool(wanted), "no batch without rows"
    chained = without_pads(lambda batches: iter([pa.Table.from_batches(list(batches))]))
    if wanted:
        assert next(chained(iter([batch]))).column("n").to_pylist() == wanted


def test_timers_fire_without_input(tmp_path: Path, place: Callable[..., None]) -> None:
    place(0, None)
    task = Live(operator(tmp_path))
    task.send(hello(0), rows(("a", -1, 5)))
    assert task.next() == [("a", "row", 1)]
    assert task.next() == [("a", "timer", 0)], "nothing more has come"
    task.send(rows(("a", 1, 6)))
    assert task.next() == [("a", "row", 2)]
    assert task.end() == []


def test_timers_wait_for_others_if_some_have_fired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the buffer timeout, as results do in the network buffers of Flink."""
    clock = 1000
    monkeypatch.setattr(real_time_run, "_now", lambda: clock)
    made = operator(tmp_path, buffer_timeout_ms=50)
    batch = Batch(str(tmp_path), "run", 0, 10, None, 0, 0, 100)
    state = load(VersionDirectory(str(tmp_path), made.uid), batch, 1, 0, made.uid, "d" * 8)
    task = real_time_run._Task(made, batch, state, Gathered(MAIN_OUTPUT))

    def handle(*given: Any) -> int:
        rows = [sent(packed(made, *given))] if given else []
        return sum(batch.num_rows for batch in task.handle(rows))

    row = rows(("a", -1, 5))
    assert task.wait_ms() is None, "no timer"
    handle(hello(0), row)
    assert task.wait_ms() == 30, "none has fired"
    clock = 1025
    assert task.wait_ms() == 5
    clock = 1030
    assert handle() == 1
    assert task.wait_ms() is None
    handle(row)
    assert task.wait_ms() == 50, "it is due after 30"
    clock = 1070
    assert task.wait_ms() == 10
    clock = 1085
    assert handle() == 1
    handle(row)
    clock = 600
    assert task.wait_ms() == 515, "it is due at 1115, on this clock"
    task.abandon(RuntimeError("the test has ended"))
    state.abandon()


def test_tasks_of_united_sources(tmp_path: Path, place: Callable[..., None]) -> None:
    """A task knows with its first row of which source it is; until then it holds time back."""
    place(0, None)
    channels = (Channel(0), Channel(10))
    task = Live(operator(tmp_path, channels=channels, channelled=True, processing_time=False))
    of_second = Mark(1500, 1, 2 << NUMBER_BITS | 1)
    task.send(hello(0), hello(1), rows(("a", 1, 5)), of_second)
    assert task.next() == [("a", "row", 1)]
    task.send(mark(0, 2000))
    assert task.next() == [("a", "timer", 1005)]
    assert task.next() == [("mark", 1489)], "the second source trails by 10 ms"
    task.send(hello(1), replace(of_second, time=3000))
    assert task.next() == [("mark", 1999)]
    assert task.end() == []


def test_a_task_says_its_watermark_once_a_batch(tmp_path: Path, place: Callable[..., None]) -> None:
    """An operator after this one waits for it, also if it does not move in this batch."""
    place(0, None)
    before = Live(operator(tmp_path))
    before.send(hello(0), hello(1), mark(0, 5000), mark(1, 5000))
    assert [row["__flinkish_time"] for row in before.batches()][-1] == 4999
    place(1, 10)
    task = Live(operator(tmp_path), tag=20)
    task.send(hello(0), mark(0, 7000))
    task.send(hello(1), hello(1))
    assert task.end() == [("mark", 4999)]


def test_a_task_s_marks_of_one_turn(tmp_path: Path, place: Callable[..., None]) -> None:
    """What another operator says last counts, and what it said before it was idle."""
    place(0, None)
    idle = Mark(None, 1, 1 << NUMBER_BITS)
    task = Live(operator(tmp_path, channels=(OF_OPERATOR,)), tasks=1)
    task.send(hello(0), mark(0, 5000))
    assert task.next() == [("mark", 5000)]
    task.send(mark(0, 6000), idle)
    assert task.next() == [("mark", None)]
    task.send(idle, mark(0, 6000))
    assert task.next() == [("mark", 6000)]
    assert task.end() == []


@pytest.mark.parametrize("upstream", [1, 2])
def test_tasks_that_do_not_say_how_many_they_are(
    tmp_path: Path, place: Callable[..., None], upstream: int
) -> None:
    """On Spark Connect the driver has counted those of another operator."""
    place(0, None)
    task = Live(operator(tmp_path, upstream=upstream), tasks=None)
    task.send(hello(0), mark(0, 5000))
    assert task.end() == ([("mark", 4999)] if upstream == 1 else [])


def test_the_watermark_waits_for_every_task_before(
    tmp_path: Path, place: Callable[..., None]
) -> None:
    """T3."""
    place(0, None)
    task = Live(operator(tmp_path))
    task.send(hello(0), rows(("a", 1, 5)), mark(0, 5000))
    assert task.next() == [("a", "row", 1)]
    task.send(hello(1), rows(("a", 1, 7)), mark(1, 1006))
    assert task.next() == [("a", "row", 2)]
    assert task.next() == [("a", "timer", 1005)]
    assert task.next() == [("mark", 1005)], "the least of both, less 1"
    task.send(mark(1, 1005), mark(1, 9000))
    assert task.next() == [("a", "timer", 1007)]
    assert task.next() == [("mark", 4999)]
    assert task.end() == []


def test_idle_tasks_do_not_hold_the_watermark_back(
    tmp_path: Path, place: Callable[..., None]
) -> None:
    place(0, None)
    task = Live(operator(tmp_path, channels=(Channel(0, idle_ms=40),)))
    task.send(hello(1))
    task.send(hello(0), rows(("a", 1, 5)), mark(0, 2000))
    assert task.next() == [("a", "row", 1)]
    found = task.next()
    while ("a", "timer", 1005) not in found:
        found = task.next()
    task.end()


def test_state_and_timers_go_on_in_the_next_batch(
    tmp_path: Path, place: Callable[..., None]
) -> None:
    place(0, None)
    first = Live(operator(tmp_path), tag=10)
    first.send(hello(0), hello(1), rows(("a", 1, 5), ("b", 1, 6)), mark(0, 8), mark(1, 8))
    assert sorted(first.end()) == [("a", "row", 1), ("b", "row", 1), ("mark", 7)]
    place(1, 10)
    second = Live(operator(tmp_path), tag=20)
    second.send(hello(0), hello(1), rows(("a", 1, 10)))
    assert second.next() == [("a", "row", 2)]
    second.send(mark(0, 1006), mark(1, 1009))
    assert second.end() == [("mark", 7), ("a", "timer", 1005), ("mark", 1005)]
    place(2, 20, run="bb")
    third = Live(operator(tmp_path), tag=30)
    third.send(hello(0), hello(1), mark(0, 3000), mark(1, 3000))
    fired = [row for row in third.end() if row[0] != "mark"]
    assert sorted(fired) == [("a", "timer", 1010), ("b", "timer", 1006)]


def test_files_of_an_attempt_that_is_not_in_the_log_do_not_count(
    tmp_path: Path, place: Callable[..., None]
) -> None:
    """T1: Spark's log has another time than the attempt that wrote them."""
    place(0, None)
    lost = Live(operator(tmp_path), tag=10)
    lost.send(hello(0), rows(("a", 1, 5)))
    lost.end()
    place(0, None, run="bb")
    good = Live(operator(tmp_path), tag=11)
    good.send(hello(0), rows(("a", 1, 5)))
    good.end()
    place(1, 11, run="cc")
    after = Live(operator(tmp_path), tag=20)
    after.send(hello(0), rows(("a", 1, 6)))
    assert after.next() == [("a", "row", 2)]
    after.end()
    place(1, 12, run="dd")
    nothing = Live(operator(tmp_path), tag=30)
    nothing.send(hello(0))
    with pytest.raises(IncompatibleStateError):
        nothing.end()


def test_input_that_was_cut_short_writes_nothing(
    tmp_path: Path, place: Callable[..., None]
) -> None:
    """T2."""
    place(0, None, whole=False)
    task = Live(operator(tmp_path))
    task.send(hello(0), rows(("a", 1, 5)))
    assert task.next() == [("a", "row", 1)]
    with pytest.raises(IllegalStateError, match="given this attempt"):
        task.end()
    assert not list((tmp_path / "flinkish").rglob("*.state"))
    with pytest.raises(IllegalStateError, match="given this attempt"):
        Live(operator(tmp_path)).end()


def checkpoint(root: Path, number: int) -> Batch:
    return Batch(str(root), RUN, number, 1, None, 0, 0, 100)


def test_tasks_before_are_the_partitions_of_topics(tmp_path: Path) -> None:
    for source, topics in enumerate([{"a": {"0": 5, "1": 7}}, {"b": {"0": 1}}]):
        folder = tmp_path / "sources" / str(source)
        folder.mkdir(parents=True)
        (folder / "0").write_text("\0v1\n" + json.dumps(topics))
    assert source_tasks(checkpoint(tmp_path, 0)) == 3
    (tmp_path / "offsets").mkdir()
    log = tmp_path / "offsets" / "3"
    log.write_text('v1\n{"batchTimestampMs":1}\n{"a":{"0":5,"1":7,"2":0}}\n{"b":{"0":4}}')
    assert source_tasks(checkpoint(tmp_path, 4)) == 4
    for other in ('{"logOffset":3}', "7", "-"):
        log.write_text('v1\n{"batchTimestampMs":1}\n' + other)
        with pytest.raises(UnsupportedOperationError, match="Kafka alone"):
            source_tasks(checkpoint(tmp_path, 4))


def session(version: str, **set_up: str) -> Any:
    found = dict(set_up)
    conf = SimpleNamespace(get=found.get, set=found.__setitem__, found=found)
    return SimpleNamespace(version=version, conf=conf)


def test_sessions_that_lack_something_are_refused() -> None:
    with pytest.raises(UnsupportedOperationError, match=r"needs Spark 4\.3, and this is 4\.1\.4"):
        configure_real_time(session("4.1.4", **REAL_TIME_AT_START), 5)
    name = next(iter(REAL_TIME_AT_START))
    with pytest.raises(IllegalStateError, match=rf'builder\.config\("{name}", "true"\)'):
        configure_real_time(session("4.3.0", **(REAL_TIME_AT_START | {name: "false"})), 5)
    wait = "spark.shuffle.streaming.networkBufferMaxWaitTimeMs"
    with pytest.raises(IllegalStateError, match=wait):
        configure_real_time(session("4.3.0", **(REAL_TIME_AT_START | {wait: "100"})), 5)
    configure_real_time(session("4.3.0", **(REAL_TIME_AT_START | {wait: "1"})), 5)
    good = session("4.3.0", **REAL_TIME_AT_START)
    with pytest.raises(IllegalArgumentError, match="buffer_timeout must be 0 or more, not -1"):
        configure_real_time(good, -1)
    configure_real_time(good, "20 milliseconds")
    assert buffer_timeout_ms(good) == 20
    limit = "spark.sql.execution.arrow.maxRecordsPerBatch"
    assert good.conf.found[limit] == "1", "a client of Spark Connect, without a context"
    classic = session("4.3.0", **REAL_TIME_AT_START)
    classic.sparkContext = object()
    configure_real_time(classic, 5)
    assert limit not in classic.conf.found


def test_settings_with_which_rows_would_wait_are_refused() -> None:
    spark = session("4.3.0", **REAL_TIME_AT_START)
    check_real_time(spark)  # not for real-time mode
    configure_real_time(spark, 5)
    check_real_time(spark)
    most = "spark.sql.execution.arrow.maxBytesPerBatch"
    for name, other in ((most, "256m"), ("spark.sql.execution.pandas.udf.buffer.size", "1048576")):
        before = spark.conf.get(name, None)
        spark.conf.set(name, other)
        with pytest.raises(IllegalStateError, match=f"{name} is '{other}' instead of '{before}'"):
            check_real_time(spark)
        spark.conf.set(name, before)
    check_real_time(spark)
