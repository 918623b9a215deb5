"""Whatever Spark takes as the time zone of a session: read as Spark reads it, or refused."""

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import flinkish.spark as fs
from flinkish.common.errors import IllegalArgumentError
from flinkish.functions import KeyedProcessFunction, ProcessFunction
from flinkish.spark import DataStream, time_zones
from flinkish.spark.time_zones import time_zone_of
from tests.spark.support import GROUPS, Source, iso, run, timed

SETTING = "spark.sql.session.timeZone"
OFFSETS = [
    *("Z", "UTC", "GMT", "UT", "GMT0", "GMT-0", "UTC+0", "+00:00", "-00:00"),
    *("+8", "-8", "+08", "+8:0", "+8:30", "+08:00", "-08:30", "+0830", "+083015", "+08:30:15"),
    *("GMT+8", "GMT+08", "GMT+08:00", "GMT+0800", "GMT+8:30", "UTC+1", "UTC+01:00", "UTC-0130"),
    *("UT+1", "UT-01:30", "UTC+01:30:15", "+18:00", "-18:00", "GMT+18"),
]
SESSIONS = [
    *("+08:00", "GMT+8", "UTC+01:00", "+8", "-08:30:15", "Z", "PST", "CST", "EST", "IST"),
    *("Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo"),
]
# Local times: plain ones, one that Berlin and one that New York skips, some that they repeat.
LOCAL = [
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2026, 1, 15, 12),
    datetime(2026, 7, 15, 12),
    *(datetime(2026, 3, 29, hour, 30) for hour in range(4)),
    *(datetime(2026, 3, 8, hour, 30) for hour in range(4)),
    *(datetime(2026, 10, 25, hour, 30) for hour in range(4)),
    *(datetime(2026, 11, 1, hour, 30) for hour in range(4)),
    *(datetime(2026, 10, 4, hour, 15) for hour in range(1, 4)),
    *(datetime(2026, 4, 5, hour, 45) for hour in range(1, 4)),
]


@pytest.fixture
def zoned(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get(SETTING)
    yield spark
    spark.conf.set(SETTING, before or "UTC")


def offset(zone: tzinfo, second: int) -> int:
    at = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=second)
    found = at.astimezone(zone).utcoffset()
    assert found is not None
    return int(found.total_seconds())


def test_zones_are_those_of_java(spark: SparkSession) -> None:
    """Of all regions that both know, the short names, and the forms of offsets."""
    java: Any = spark._jvm.java.time  # type: ignore[union-attr]
    short = dict(java.ZoneId.SHORT_IDS)
    names = {str(name) for name in java.ZoneId.getAvailableZoneIds()}
    shared = names & available_timezones()
    assert len(shared) > 500
    seconds = [int(datetime(2026, m, 15, tzinfo=timezone.utc).timestamp()) for m in (1, 7)]
    instants = [java.Instant.ofEpochSecond(second) for second in seconds]
    # The Java of one machine and its Python may have time zones of two years.
    apart = []
    for name in [*sorted(shared), *sorted(short), *OFFSETS]:
        there: Any = java.ZoneId.of("+08:00" if name == "+8:0" else padded(name), short)
        rules = there.getRules()
        expected = [rules.getOffset(instant).getTotalSeconds() for instant in instants]
        if [offset(time_zone_of(name), second) for second in seconds] != expected:
            apart.append(name)
    assert not set(apart) & {*short, *OFFSETS, "Europe/Berlin", "America/New_York", "UTC"}
    assert len(apart) < 10


def padded(name: str) -> str:
    """An offset as Spark hands it to Java: hours before minutes have two digits."""
    for sign in "+-":
        before, _, after = name.partition(sign)
        if after[1:2] == ":":
            return f"{before}{sign}0{after}"
    return name


@pytest.mark.parametrize("name", OFFSETS)
def test_offsets_are_what_spark_takes_them_for(zoned: SparkSession, name: str) -> None:
    zoned.conf.set(SETTING, name)
    shown = zoned.sql("SELECT date_format(timestamp_seconds(0), 'yyyy-MM-dd HH:mm:ss')").head()
    local = datetime(1970, 1, 1) + timedelta(seconds=offset(time_zone_of(name), 0))
    assert shown is not None
    assert shown[0] == f"{local:%Y-%m-%d %H:%M:%S}"


def echo(row: Any) -> list[Any]:
    """A time of the row's without zone, and the row's own instant."""
    return [(row.n, row.local, row.at)]


class Echo(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value.n, value.local, value.at


class EchoKeyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value.n, value.local, value.at


OUT = "n bigint, read timestamp, at timestamp"


@pytest.mark.parametrize("name", SESSIONS)
def test_operators_read_times_as_spark_does(zoned: SparkSession, name: str) -> None:
    zoned.conf.set(SETTING, name)
    texts = [(n, f"{local:%Y-%m-%d %H:%M:%S.%f}") for n, local in enumerate(LOCAL)]
    frame = zoned.createDataFrame(texts, "n bigint, text string").select(
        "n",
        F.to_timestamp_ntz("text").alias("local"),
        F.to_timestamp("text").alias("at"),
    )
    stream = DataStream(frame).key_by("n")
    outputs = {
        "async_map": fs.async_map(frame, echo, OUT),
        "run_task": fs.run_task(frame, Echo(), OUT),
        "process": stream.process(EchoKeyed(), schema=OUT).to_df(),
    }
    given = frame.select("n", F.col("at").alias("read"), "at")
    united = seen(given, "frame")
    for operator, output in outputs.items():
        united = united.union(seen(output, operator))
    found: dict[str, list[Any]] = {"frame": []}
    for operator, *values in sorted(tuple(row) for row in united.collect()):
        found.setdefault(operator, []).append(values)
    assert len(found["frame"]) == len(LOCAL)
    for operator in outputs:
        assert found[operator] == found["frame"], operator


class Alarm(KeyedProcessFunction):
    """Gives times of all kinds: local ones, instants, milliseconds; some by a timer."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1_000)
        yield value.n, value.local, value.ts

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), datetime(1970, 1, 1, 18), timestamp


@pytest.mark.parametrize(("name", "hours"), [("GMT+8", 8), ("PST", -8)])
def test_a_stream_with_timers(zoned: SparkSession, tmp_path: Path, name: str, hours: int) -> None:
    zoned.conf.set(SETTING, name)
    source = Source(zoned, tmp_path / "in", "n bigint, local timestamp_ntz, ts timestamp")
    for n, at in [(1, 10_000), (2, 20_000), (3, 5_000)]:
        source.add([{"n": n, "local": "1970-01-01T12:00:00", "ts": iso(at)}])
    stream = timed(source.stream()).key_by("n").process(Alarm(), schema=OUT, max_parallelism=GROUPS)
    outcome = run(stream, tmp_path / "checkpoint")
    noon, evening = (3_600_000 * (hour - hours) for hour in (12, 18))
    assert [
        (n, round(1_000 * read.timestamp()), round(1_000 * at.timestamp()))
        for n, read, at in outcome.rows()
    ] == [
        (1, noon, 10_000),
        (2, noon, 20_000),
        (1, evening, 11_000),
        (3, noon, 5_000),
    ]
    assert outcome.statistics["late_rows"] == 1


def seen(frame: DataFrame, name: str) -> DataFrame:
    """Both times as instants, and one as Spark shows it."""
    form = F.date_format("at", "yyyy-MM-dd HH:mm:ss.SSSSSS")
    return frame.select(F.lit(name), "n", F.unix_micros("read"), F.unix_micros("at"), form)


def test_a_query_without_times_runs_in_any_zone(zoned: SparkSession) -> None:
    zoned.conf.set(SETTING, "GMT+8")
    frame = zoned.range(3)
    assert fs.async_map(frame, lambda row: [row.id], "n bigint").count() == 3


def test_a_zone_that_python_has_not_is_refused_at_definition(
    zoned: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(time_zones._SHORT, "PST", "SystemV/PST8PDT")  # which only Java has
    zoned.conf.set(SETTING, "PST")
    with pytest.raises(IllegalArgumentError, match=r"'PST'.*Europe/Berlin"):
        fs.async_map(zoned.range(3), echo, OUT)
    with pytest.raises(IllegalArgumentError, match="Python knows no such time zone"):
        fs.run_task(zoned.range(3), Echo(), OUT)
    with pytest.raises(IllegalArgumentError, match="Python knows no such time zone"):
        DataStream(zoned.range(3)).key_by("id").process(EchoKeyed(), schema=OUT)


@pytest.mark.parametrize(
    "name", ["", "Nowhere/City", "Europe", "+25", "+18:00:01", "+08:60", "../UTC", "utc+1"]
)
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(IllegalArgumentError, match="Python knows no such time zone"):
        time_zone_of(name)
