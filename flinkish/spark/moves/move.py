"""The move of a job's state from Spark's store to version files, or back.

A move reads the old checkpoint and makes a new one: the same query, after the same batch, at the
same offsets.  The program says which operators there are, and in which way they keep state now.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    IllegalStateError,
    UnsupportedOperationError,
)
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.internals import PlanNode, analyzed_plan, running_query
from flinkish.spark.keyed.checkpoint_settings import check_settings, merged_settings
from flinkish.spark.keyed.group_state import HEAD, read_head
from flinkish.spark.keyed.packing import SETTINGS_GROUP
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.moves.into_files import Target, settings_in_store, state_in_store, write_files
from flinkish.spark.moves.into_store import Origin, check_store, fill_store, spark_watermark
from flinkish.spark.moves.logs import NO_OFFSET, Entry, Place
from flinkish.spark.session import check_session, context_of
from flinkish.spark.streams.data_stream import DataStream
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.loading import read_version
from flinkish.spark.versions.names import VersionName, choices
from flinkish.spark.versions.state import PartitionState

__all__ = ["move_state"]

_OPERATOR = "transformWithStateInPySparkExec"


def move_state(stream: DataStream, from_checkpoint: str, to_checkpoint: str) -> None:
    """Make a checkpoint with which a query on ``stream`` goes on where another left off.

    The operators before ``stream`` have the other ``StateSettings(backend=...)`` than the program
    that wrote ``from_checkpoint``, and are the same otherwise.  ``to_checkpoint`` must not exist;
    it gets the state, the query's id, its last batch and offsets.  The old one is left as it is.

    Stop the query before.  Of a query with Spark's store let the last run come to its end with
    ``trigger(availableNow=True)``, over some rows, so that timers have fired up to the watermark.

    IncompatibleStateError, as the first batch would raise, if the program differs where it must
    not; IllegalArgumentError for a checkpoint that is not as described; UnsupportedOperationError
    for what one of the two ways does not have.  Then ``to_checkpoint`` is not there.
    """
    plans = _plans_of(stream)
    old, new = Place(from_checkpoint), Place(to_checkpoint)
    spark: SparkSession = stream._rows.spark
    _check_stopped(spark, old)
    into_files = all(plan.is_versioned for plan in plans)
    (old if into_files else new).check_store_can_be_read()
    batch = old.last_batch()
    new.begin(old)
    try:
        frame = stream._rows.mapped.frame
        if into_files:
            _into_files(spark, frame, plans, old, new, batch)
        else:
            _into_store(spark, plans, old, new, batch)
        new.finish(old)
    except BaseException:
        new.remove()
        raise


# --- the program


def _plans_of(stream: DataStream) -> list[OperatorPlan]:
    """The plans of a program's operators, in the order of the numbers that Spark gives them."""
    if not isinstance(stream, DataStream):
        raise ArgumentTypeError(
            f"move_state takes the stream that the query is started on, not {stream!r}"
        )
    rows = stream._rows
    if context_of(rows.spark) is None:
        raise UnsupportedOperationError(
            "a client of Spark Connect does not see what Spark plans: move the state in a session "
            "of the cluster itself"
        )
    plans = dict(rows.plans)
    if not plans or not rows.streaming or any(plan.real_time for plan in plans.values()):
        raise IllegalArgumentError(
            "move_state takes a stream with keyed operators over a streaming DataFrame, as it is "
            "written in micro-batches"
        )
    found: dict[str, OperatorPlan] = {}
    for node in _nodes(analyzed_plan(rows.mapped.frame)):
        for uid, plan in plans.items():
            packs = f", pack {uid}".partition("(")[0]
            if f", {node.function}".endswith(packs):
                found.setdefault(uid, plan)
    if len(found) != len(plans):
        raise IllegalStateError(
            f"operators {sorted(plans.keys() - found.keys())} are not in the plan that Spark made "
            "of this stream"
        )
    return list(found.values())


def _nodes(node: PlanNode) -> Iterable[PlanNode]:
    """A node and all below it, as Spark numbers operators: each before its children."""
    yield node
    for child in node.children:
        yield from _nodes(child)


def _check_stopped(spark: SparkSession, old: Place) -> None:
    for query in spark.streams.active:
        found = running_query(spark, str(query.id))
        if found is not None and Place(found[0]).path == old.path:
            raise IllegalArgumentError(
                f"a query runs with the checkpoint {old.location!r}: stop it before its state is "
                "moved"
            )


# --- from Spark's store


def _into_files(
    spark: SparkSession,
    frame: DataFrame,
    plans: list[OperatorPlan],
    old: Place,
    new: Place,
    batch: int,
) -> None:
    sizes = _operators_in_store(spark, plans, old)
    planned, committed = old.entry("offsets", batch), old.entry("commits", batch)
    reached = committed.said["nextBatchWatermarkMs"]
    if planned.said["batchWatermarkMs"] != reached:
        raise IllegalArgumentError(
            f"the last batch of {old.location!r}, {batch}, saw the watermark "
            f"{planned.said['batchWatermarkMs']}, and moved it to {reached}: timers in between "
            "have not fired yet. Once there are new rows, start the program that wrote it with "
            "trigger(availableNow=True) and let it come to its end: its last batch, without rows, "
            "fires them. Move the state then"
        )
    added = sum(plan.processing_time for plan in plans)
    ticks = _ticks(frame, added, len(planned.offsets))
    for number, plan in enumerate(plans):
        state = state_in_store(spark, old.location, number)
        settings = settings_in_store(state)
        if settings is not None:
            check_settings(plan, _Known(settings))
        moves = plan.has_watermark and reached > 0
        target = Target(
            new.location,
            plan.uid,
            batch + 1,
            planned.said["batchTimestampMs"],
            sizes[number],
            reached - 1 if moves else MIN_TIMESTAMP,
            settings,
        )
        write_files(state, target)
    entries = {f"commits/{batch}": committed.saying(stateUniqueIds={})}
    for one in _planned(old, batch):
        entry = old.entry("offsets", one)
        offsets = list(entry.offsets)
        for tick in ticks:
            offsets.insert(tick, NO_OFFSET)
        entries[f"offsets/{one}"] = Entry(entry.version, entry.said, tuple(offsets))
    new.copy_logs(old, entries, _moved(len(planned.offsets) + added, ticks))


def _operators_in_store(
    spark: SparkSession, plans: list[OperatorPlan], old: Place
) -> dict[int, int]:
    """The partitions of each operator in Spark's store, if these are the program's."""
    if not old.files("state"):
        raise IllegalArgumentError(
            f"{old.location!r} has no state in Spark's store, and the program's operators have "
            "StateSettings(backend='versioned'): there is nothing to move. To move state the "
            "other way, define the program with backend='store'"
        )
    rows = spark.read.format("state-metadata").load(old.location).collect()
    strangers = {row.operatorName for row in rows} - {_OPERATOR}
    if strangers or len(rows) != len(plans):
        named = ", ".join(repr(plan.uid) for plan in plans)
        raise IllegalArgumentError(
            f"Spark's store in {old.location!r} has the operators "
            f"{', '.join(sorted(row.operatorName for row in rows))}, and the program has {named}: "
            "state can be moved if all of a query's state is that of flinkish's keyed operators"
        )
    for row in rows:
        served = json.loads(row.operatorProperties)["timeMode"] == "ProcessingTime"
        if served != plans[row.operatorId].processing_time:
            raise IllegalArgumentError(
                f"operator {plans[row.operatorId].uid!r} was started with processing_time_timers="
                f"{served}, and this program has {not served}"
            )
    return {row.operatorId: row.numPartitions for row in rows}


class _Known:
    """The map of SETTINGS_GROUP, to be compared with a program and not written."""

    def __init__(self, head: bytes) -> None:
        self._head = head

    def containsKey(self, key: tuple[int]) -> bool:
        return key == HEAD

    def getValue(self, key: tuple[int]) -> tuple[bytes, bool]:
        return self._head, False

    def updateValue(self, key: tuple[int], value: Any) -> None:
        pass


def _planned(old: Place, batch: int) -> list[int]:
    """The batches whose offsets a query needs: the last one, that before, one that is to run."""
    return [one for one in old.batches("offsets") if batch - 1 <= one <= batch + 1]


# --- the sources that tell processing time


def _ticks(frame: DataFrame, added: int, sources: int) -> list[int]:
    """Where among all sources of a versioned program those are that it has for time alone."""
    if not added:
        return []
    leaves = [
        node.function
        for node in _nodes(analyzed_plan(frame))
        if node.name in ("StreamingRelation", "StreamingRelationV2")
    ]
    found = [at for at, source in enumerate(leaves) if source == "rate"]
    if len(found) != added or len(leaves) != sources + added:
        raise UnsupportedOperationError(
            f"the program has {len(leaves)} sources, {len(found)} of them 'rate', where the "
            f"checkpoint has {sources} and {added} are added for processing-time timers: with "
            "'rate' sources of its own it cannot be moved"
        )
    return found


def _moved(count: int, ticks: list[int]) -> list[int]:
    """The numbers of the sources that were there before, once others are among them."""
    return [at for at in range(count) if at not in ticks]


# --- into Spark's store


def _into_store(
    spark: SparkSession, plans: list[OperatorPlan], old: Place, new: Place, batch: int
) -> None:
    check_session(spark)
    if old.files("state"):
        raise IllegalArgumentError(
            f"{old.location!r} has state in Spark's store, and the program's operators keep theirs "
            "there: there is nothing to move. To move it to version files, define the program with "
            "StateSettings(backend='versioned')"
        )
    planned = old.entry("offsets", batch)
    found = {
        plan.uid: _origin(plan, old, batch, planned.said["batchTimestampMs"]) for plan in plans
    }
    marks = {origin.watermark for origin in found.values() if origin.watermark is not None}
    if len(marks) > 1:
        raise UnsupportedOperationError(
            f"the operators have come to different watermarks ({sorted(marks)}), and Spark's store "
            "has one for all of a query: this state cannot be moved"
        )
    reached = spark_watermark(marks.pop()) if marks else 0
    ids, settings = {}, {}
    for number, origin in enumerate(found.values()):
        filling = fill_store(spark, origin, new, number)
        ids[str(number)], settings = filling.ids, filling.settings
    added = sum(plan.processing_time for plan in plans)
    ticks = _counting(planned.offsets, added)
    entries = {
        f"commits/{batch}": Entry("v2", {"nextBatchWatermarkMs": reached, "stateUniqueIds": ids})
    }
    for one in _planned(old, batch):
        entry = old.entry("offsets", one).saying(batchWatermarkMs=reached, conf=settings)
        offsets = tuple(line for at, line in enumerate(entry.offsets) if at not in ticks)
        entries[f"offsets/{one}"] = Entry(entry.version, entry.said, offsets)
    staying: Mapping[int, int] = {
        at: number for number, at in enumerate(_moved(len(planned.offsets), ticks))
    }
    new.copy_logs(old, entries, [staying.get(at) for at in range(len(planned.offsets))])
    for number, origin in enumerate(found.values()):
        check_store(spark, origin, new, number)


def _origin(plan: OperatorPlan, old: Place, batch: int, tag: int) -> Origin:
    """The version files of an operator after a batch, if they are of this program."""
    directory = VersionDirectory(old.location, plan.uid)
    found = next(iter(choices(directory.names(batch + 1), tag, "")), {})
    if not found:
        raise IllegalArgumentError(
            f"{old.location!r} has no state of operator {plan.uid!r} after batch {batch} in "
            f"{directory.path}: it had another name, or its state was never versioned by batch"
        )
    names: list[VersionName] = []
    heads: list[bytes] = []
    timers: dict[int, int | None] = {}
    watermarks = set()
    for number in sorted(found):
        name, manifest = read_version(directory, found[number], plan.uid)
        state = PartitionState(directory, name, [manifest])
        names.append(name)
        watermarks.add(state.progress.watermark)
        for key_group in state.key_groups:
            if key_group >= 0:
                head = read_head(plan, state.use(key_group), key_group)
                timers[key_group] = None if head is None else head.timer
            elif key_group == SETTINGS_GROUP and (kept := state.use(key_group).getValue(HEAD)):
                heads.append(kept[0])
        state.abandon()
    settings = merged_settings(plan, heads)
    check_settings(plan, _Known(settings))
    if len(watermarks) > 1:
        raise IllegalStateError(f"partitions of operator {plan.uid!r} differ in their watermark")
    return Origin(
        old.location,
        plan.uid,
        tuple(names),
        batch,
        watermarks.pop() if plan.has_watermark else None,
        plan.processing_time,
        timers,
        settings,
    )


def _counting(offsets: tuple[str, ...], added: int) -> list[int]:
    """Which sources of a versioned program were there for time alone: 'rate' counts seconds."""
    if not added:
        return []
    found = [at for at, offset in enumerate(offsets) if offset.isdecimal() or offset == NO_OFFSET]
    if len(found) != added:
        raise UnsupportedOperationError(
            f"of the {len(offsets)} sources in the checkpoint {len(found)} count seconds, and "
            f"{added} were added for processing-time timers: with 'rate' sources of its own a "
            "program cannot be moved"
        )
    return found
