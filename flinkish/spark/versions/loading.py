"""Which version files a task reads: its partition's state before a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from flinkish._core.values.codec import CorruptFrame, NewerFrame
from flinkish.common.errors import (
    CorruptStateError,
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
)
from flinkish.common.formats import newer_format
from flinkish.spark.versions.batch import Batch
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.manifest import Manifest, MisplacedFile, read_manifest
from flinkish.spark.versions.names import VersionName, choices
from flinkish.spark.versions.state import PartitionState

__all__ = ["load", "read_version"]


def load(
    directory: VersionDirectory,
    batch: Batch,
    partitions: int,
    defined_ms: int,
    operator: str,
    definition: str,
) -> PartitionState:
    """The state before a batch of the partition that this task has, of so many.

    IllegalArgumentError if another operator of the query has this one's name, CorruptStateError
    for damaged files, IncompatibleStateError if there is no such version.
    """
    names: list[VersionName] = []
    found: Sequence[Mapping[int, list[VersionName]]] = [{}]
    if batch.number:
        names = directory.names(batch.number)
        assert batch.parent_tag is not None
        found = choices(names, batch.parent_tag, batch.run)
        if not found:
            absent = _absent_of(names, batch)
            if absent is not None:
                raise _skipped(absent, batch, operator)
            raise _missing(directory, batch, operator)
    _check_alone(names, found[0], batch, operator, definition)
    name = VersionName(
        batch.number + 1,
        batch.tag,
        _epoch_of(directory, batch, names, defined_ms),
        batch.run,
        definition,
        batch.partition,
        partitions,
        batch.attempt,
    )
    failed: _TornVersion | None = None
    for held in found:
        needed = _needed(held, batch, partitions, operator)
        try:
            read = [read_version(directory, held[number], operator)[1] for number in needed]
        except _TornVersion as error:
            failed = failed or error
            continue
        return PartitionState(directory, name, read)
    assert failed is not None
    raise failed


def _needed(
    held: Mapping[int, list[VersionName]], batch: Batch, partitions: int, operator: str
) -> list[int]:
    """The partitions of a version that may hold key groups of this task.

    IllegalStateError if any partition of the version is missing: Spark would go on without it.
    """
    before = next(iter(held.values()))[0].partitions if held else 0
    absent = next((number for number in range(before) if number not in held), None)
    if absent is not None:
        raise _skipped(absent, batch, operator)
    return [number for number in range(before) if _meet(number, before, batch, partitions)]


def _absent_of(names: Sequence[VersionName], batch: Batch) -> int | None:
    """A partition that no run wrote in the previous batch, though others were; None if all were."""
    runs: dict[tuple[str, int], set[int]] = {}
    for name in names:
        if name.tag == batch.parent_tag:
            runs.setdefault((name.run, name.partitions), set()).add(name.partition)
    absent = (number for (_, n), done in runs.items() for number in range(n) if number not in done)
    return min(absent, default=None)


def _skipped(absent: int, batch: Batch, operator: str) -> IllegalStateError:
    before = batch.number - 1
    return IllegalStateError(
        f"partition {absent} of operator {operator!r} wrote no state in batch {before}, though "
        "Spark went on: the query's sink did not read all of the operator's output, such as a "
        "foreachBatch function that calls first() or limit(), or no action. Write with the "
        "stream's foreach_batch, which runs the operator to its end first. To have that batch run "
        f"again, with the same rows, remove commits/{before} and offsets/{batch.number} (and their "
        ".crc files) from the checkpoint, and start the query again"
    )


def _check_alone(
    names: Sequence[VersionName],
    found: Mapping[int, list[VersionName]],
    batch: Batch,
    operator: str,
    definition: str,
) -> None:
    """IllegalArgumentError if two operators wrote files under this name in one run of the query."""
    runs = {batch.run: {definition}} | {
        one.run: {one.definition} for attempts in found.values() for one in attempts[:1]
    }
    for name in names:
        if name.tag == batch.parent_tag and name.definition not in runs.get(
            name.run, {name.definition}
        ):
            raise IllegalArgumentError(
                f"two operators of this query are called {operator!r} and write to one place; give "
                "each a name of its own with uid='...', and start with a new checkpoint"
            )


def _meet(number: int, before: int, batch: Batch, partitions: int) -> bool:
    """Whether a partition of another dealing may hold key groups of this task's."""
    if before == partitions:
        return number == batch.partition
    step = gcd(before, partitions)
    return number % step == batch.partition % step


def read_version(
    directory: VersionDirectory, names: Sequence[VersionName], operator: str
) -> tuple[VersionName, Manifest]:
    """The last attempt whose file is whole, and its manifest.

    CorruptStateError for a file in the place of another: no attempt leaves such a file.
    """
    failed: Exception | None = None
    what = f"the state of operator {operator!r}"
    for name in names:
        try:
            with directory.open(name.path) as file:
                return name, read_manifest(file, operator, name)
        except NewerFrame as error:
            raise newer_format(error, f"{what} in {name.path}") from error
        except MisplacedFile as error:
            raise CorruptStateError(
                f"{what} cannot be read: {error}: a file in {directory.path} was put into the "
                "place of another; put back what was there, or start the query with a new "
                "checkpoint"
            ) from error
        except CorruptFrame as error:
            failed = failed or error
    raise _TornVersion(f"{what} cannot be read: {names[0].path}: {failed}") from failed


class _TornVersion(CorruptStateError):
    """No attempt of a partition in this run left a whole file; another run may have."""


def _missing(directory: VersionDirectory, batch: Batch, operator: str) -> IncompatibleStateError:
    return IncompatibleStateError(
        f"there is no state of operator {operator!r} before batch {batch.number} in "
        f"{directory.path}: it is new in this checkpoint, had another name or another backend, or "
        "its files are gone; give it the name that it had with uid='...', or start the query with "
        "a new checkpoint",
        setting="uid",
        was=None,
        now=operator,
    )


def _epoch_of(
    directory: VersionDirectory, batch: Batch, names: Sequence[VersionName], defined_ms: int
) -> int:
    """The epoch of this run (V4): that which it has taken, or one above all others."""
    own = [name.epoch for name in names if name.run == batch.run]
    if own:
        return max(own)
    others = [*names, *directory.names(batch.number + 1)]
    return max([defined_ms, *(name.epoch + 1 for name in others if name.run != batch.run)])
