"""State out of version files into Spark's store.

Spark writes its store itself: a query of one batch, over a row for each key group, whose processor
declares the state that a `KeyGroupProcessor` declares and fills it from the version files.  The
store of that query then takes the number that it has to have in the new checkpoint.  That number is
in names of files alone, which Spark does not promise; so what Spark reads there is compared with
the version files (`check_store`).  Run on 4.3.0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from flinkish.common.errors import IllegalStateError
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.keyed.clock import clock_head
from flinkish.spark.keyed.group_state import HEAD, PIECE_SCHEMA, SEQUENCE_SCHEMA
from flinkish.spark.keyed.packing import SETTINGS_GROUP, Batches
from flinkish.spark.keyed.placement import CLOCK_SLOTS, clock_slot, group_at, slot_of
from flinkish.spark.map_in_arrow import map_in_arrow
from flinkish.spark.moves.into_files import state_in_store
from flinkish.spark.moves.logs import Entry, Place
from flinkish.spark.session import configure
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.loading import read_version
from flinkish.spark.versions.names import VersionName
from flinkish.spark.versions.state import PartitionState

__all__ = ["Filling", "Origin", "check_store", "fill_store", "spark_watermark"]

_ROOM = "moving"
# Nothing is due at the watermark of the query that fills a store, and no row of it is late.
_TIME_MS = 1000


@dataclass(frozen=True)
class Origin:
    """The version files that state is taken from, one for each partition, and what else goes in.

    ``batch`` is the last one that they have seen, ``watermark`` (ms, Flink's) what it came to, None
    of an operator without.  ``timers`` are the Spark timers of key groups, None for those of one
    without any; ``settings`` is the head of SETTINGS_GROUP.
    """

    checkpoint: str
    uid: str
    files: tuple[VersionName, ...]
    batch: int
    watermark: int | None
    processing_time: bool
    timers: Mapping[int, int | None]
    settings: bytes

    def partition_of(self, key_group: int) -> PartitionState:
        """The state of the partition that has a key group."""
        name = self.files[key_group % len(self.files)]
        directory = VersionDirectory(self.checkpoint, self.uid)
        _, manifest = read_version(directory, [name], self.uid)
        return PartitionState(directory, name, [manifest])

    def rows(self, partitions: int) -> Iterator[dict[str, Any]]:
        """A row for each key in the store: its slot, and its Spark timer.

        The settings' timer is due whenever Spark's clock moves, as a `KeyGroupProcessor` has it.
        """
        timer = None if self.watermark is None else spark_watermark(self.watermark) + 1
        timer = 1 if self.processing_time else timer
        yield {"slot": slot_of(SETTINGS_GROUP), "timer": timer}
        for partition in range(partitions):
            if (slot := clock_slot(partition, partitions)) is not None:
                yield {"slot": slot, "timer": None}
        for key_group, timer in self.timers.items():
            yield {"slot": slot_of(key_group), "timer": timer}


def spark_watermark(watermark: int) -> int:
    """The watermark (ms) that Spark shows for Flink's, as a `KeyGroupProcessor` reads it."""
    return 0 if watermark == MIN_TIMESTAMP else watermark + 1


class _Filler(StatefulProcessor):
    """Declares the state of a `KeyGroupProcessor`, and fills it."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare Spark's state."""
        self._handle = handle
        self._log = handle.getMapState("log", SEQUENCE_SCHEMA, PIECE_SCHEMA)
        self._partitions: dict[int, PartitionState] = {}

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Fill in a key, and set its timer."""
        (row,) = rows
        for sequence, piece, more in self._values(key[0]):
            self._log.updateValue((sequence,), (piece, more))
        if row.timer is not None:
            # One that has passed would be called, and be gone, in this batch.
            now = timerValues.getCurrentProcessingTimeInMs() if self._origin.processing_time else 0
            self._handle.registerTimer(max(row.timer, now + 1))
        return iter(())

    def _values(self, slot: int) -> Iterator[tuple[int, bytes, bool]]:
        if slot in CLOCK_SLOTS:
            seen = self._origin.watermark
            if seen is not None:
                yield HEAD[0], clock_head(self._origin.batch, seen), False
        elif slot == slot_of(SETTINGS_GROUP):
            yield HEAD[0], self._origin.settings, False
        else:
            key_group = group_at(slot)
            state = _opened(self._origin, self._partitions, key_group)
            for sequence in _sequences(state):
                value = state.getValue((sequence,))
                assert value is not None
                yield sequence, *value

    def close(self) -> None:
        """The task is at its end."""
        for state in self._partitions.values():
            state.abandon()


def _opened(origin: Origin, opened: dict[int, PartitionState], key_group: int) -> PartitionState:
    """The state of a partition, of which some are opened, with this key group as the current."""
    number = key_group % len(origin.files)
    if number not in opened:
        opened[number] = origin.partition_of(key_group)
    return opened[number].use(key_group)


@dataclass(frozen=True)
class Filling:
    """The ids of files, and the settings, that a query wrote into Spark's logs."""

    ids: list[list[str]]
    settings: dict[str, Any]


def fill_store(spark: SparkSession, origin: Origin, place: Place, operator: int) -> Filling:
    """Make the state of an operator, by its number, in Spark's store as of the batch after."""
    room = f"{_ROOM}/{operator}"
    own = configure(spark.newSession())
    partitions = spark.conf.get("spark.sql.shuffle.partitions") or "1"
    own.conf.set("spark.sql.shuffle.partitions", partitions)
    own.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    # A snapshot is a version by itself; changes would name the ones before them.
    own.conf.set("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "false")
    rows = (json.dumps(row) for row in origin.rows(int(partitions)))
    place.write(f"{room}/in/rows.json", "\n".join(rows))
    frame: DataFrame = own.readStream.schema("slot int, timer bigint").json(
        f"{place.location}/{room}/in"
    )
    frame = frame.withColumn("at", F.timestamp_millis(F.lit(_TIME_MS)))
    query = (
        frame.withWatermark("at", "0 seconds")
        .groupBy("slot")
        .transformWithState(
            _Filler(origin),
            outputStructType="slot int",
            outputMode="Append",
            timeMode="ProcessingTime" if origin.processing_time else "EventTime",
        )
        .writeStream.format("noop")
        .option("checkpointLocation", f"{place.location}/{room}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    made = Place(f"{place.location}/{room}/checkpoint")
    if made.last_batch() != 0:
        raise IllegalStateError(
            f"Spark took {made.last_batch() + 1} batches to fill the store of operator "
            f"{origin.uid!r}, and one was to be"
        )
    _take(place, f"{room}/checkpoint", operator, origin.batch + 1)
    filling = Filling(
        made.entry("commits", 0).said["stateUniqueIds"]["0"], made.entry("offsets", 0).said["conf"]
    )
    place.remove(_ROOM)
    return filling


def _take(place: Place, made: str, operator: int, version: int) -> None:
    """Give the store of a query that had one batch its place, and the number of a version."""
    for path in place.files(f"{made}/state/0"):
        rest = path.removeprefix(f"{made}/state/0/")
        folder, _, name = rest.rpartition("/")
        if "/_metadata/" in path and name.isdecimal():
            text = place.read(path).replace(f"/{made}/state/0/", f"/state/{operator}/")
            entry = Entry.read(text, path)
            about = entry.said["operatorInfo"] | {"operatorId": operator}
            place.write(f"state/{operator}/{rest}", entry.saying(operatorInfo=about).text)
        elif folder.isdecimal():
            first, _, others = name.partition("_")
            if first == "1" and not others.endswith((".changelog", ".changelog.crc")):
                place.move(path, f"state/{operator}/{folder}/{version}_{others}")
        else:
            place.move(path, f"state/{operator}/{rest}")


def check_store(spark: SparkSession, origin: Origin, place: Place, operator: int) -> None:
    """Compare what Spark reads in a store with the version files; IllegalStateError."""
    state = state_in_store(spark, place.location, operator)
    found = map_in_arrow(state, _comparison(origin), "same bigint, others bigint").collect()
    same, others = (sum(row[at] for row in found) for at in (0, 1))
    wanted = _count(origin)
    timers = (
        spark.read.format("statestore")
        .option("path", place.location)
        .option("operatorId", operator)
        .option("readRegisteredTimers", True)
        .load()
        .select("key.slot", "expiration_timestamp_ms")
        .collect()
    )
    registered = {group_at(slot): time for slot, time in timers}
    late = [
        key_group
        for key_group, timer in origin.timers.items()
        if timer is not None
        and (
            registered.get(key_group, -1) < timer
            if origin.processing_time
            else registered.get(key_group) != timer
        )
    ]
    if same != wanted or others or late:
        raise IllegalStateError(
            f"Spark's store of operator {origin.uid!r} has {same} of {wanted} values of its "
            f"version files, {others} others, and {len(late)} timers are missing: this release of "
            "Spark keeps its state in another form than flinkish knows; the job can go on from its "
            "old checkpoint with StateSettings(backend='versioned')"
        )


def _count(origin: Origin) -> int:
    """How many heads and pieces there are."""
    states = [origin.partition_of(number) for number in range(len(origin.files))]
    try:
        return sum(
            len(_sequences(state.use(key_group)))
            for state in states
            for key_group in state.key_groups
            if key_group >= 0
        )
    finally:
        for state in states:
            state.abandon()


def _sequences(state: PartitionState) -> list[int]:
    """The numbers of the current key group's pieces, and the head's if it has one."""
    return [*state.sequences, *([HEAD[0]] if state.containsKey(HEAD) else [])]


def _comparison(origin: Origin) -> Callable[[Batches], Batches]:
    def compare(batches: Batches) -> Batches:
        opened: dict[int, PartitionState] = {}
        same = others = 0
        for batch in batches:
            for row in batch.to_pylist():
                slot, key = row["slot"], (row["sequence"],)
                if slot in CLOCK_SLOTS or slot == slot_of(SETTINGS_GROUP):
                    continue
                state = _opened(origin, opened, group_at(slot))
                held = state.getValue(key) if state.containsKey(key) else None
                equal = held == (row["piece"], row["more"])
                same, others = same + equal, others + (not equal)
        yield pa.record_batch({"same": [same], "others": [others]})

    return compare
