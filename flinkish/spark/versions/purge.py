"""The removal of version files that nobody can need any more.

Spark keeps what it needs to run the last ``minBatchesToRetain`` batches again, and no more, so no
task ever asks for an earlier version.  What the manifests of the earliest one that may be asked for
do not name, no later manifest names: pieces are taken over from one version to the next, or gone.
So one task in some batches reads those manifests and removes all earlier files that none of them
names: files of versions, of attempts that failed, and unfinished ones.

A file that cannot be read proves nothing.  So nothing is removed unless every partition has a file
of that version, all its files are intact and in their place, and the same holds for the version
that the batch began with, whose files are always kept.
"""

from __future__ import annotations

import logging

from flinkish._core.values.codec import CorruptFrame, NewerFrame
from flinkish.spark.versions.batch import Batch
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.manifest import MisplacedFile, read_manifest

__all__ = ["EVERY", "purge"]

EVERY = 16  # batches; the partitions take turns

_LOG = logging.getLogger("flinkish.spark.versions")


def purge(directory: VersionDirectory, batch: Batch, partitions: int) -> int:
    """Remove what is not needed if it is this task's turn; how many files went.

    If an error prevents that, it is logged, and the next purge tries again.
    """
    turn, rest = divmod(batch.number, EVERY)
    oldest = batch.number - batch.retained
    if rest or turn % partitions != batch.partition or oldest <= 0:
        return 0
    try:
        kept = _needed(directory, oldest) | _needed(directory, batch.number)
        return _remove(directory, oldest, kept)
    except (CorruptFrame, MisplacedFile, NewerFrame, OSError) as error:
        _LOG.warning("no old state in %s was removed this time: %s", directory.path, error)
        return 0


def _needed(directory: VersionDirectory, version: int) -> set[str]:
    """The files that the manifests of a version refer to; raises if any cannot be read."""
    found: set[str] = set()
    partitions: dict[tuple[str, int], set[int]] = {}
    for name in directory.names(version):
        with directory.open(name.path) as file:
            manifest = read_manifest(file, directory.operator, name)
        found.update(file.path for file in manifest.files.values())
        partitions.setdefault((name.run, name.partitions), set()).add(name.partition)
    if not any(len(held) == of for (_, of), held in partitions.items()):
        raise FileNotFoundError(f"version {version} has not a file of every partition")
    return found


def _remove(directory: VersionDirectory, oldest: int, kept: set[str]) -> int:
    removed = 0
    for version in directory.versions():
        if version >= oldest:
            break
        for path in directory.files(version):
            if path not in kept:
                removed += directory.remove(path)
        directory.remove_folder(version)
    return removed
