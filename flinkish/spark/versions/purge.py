"""The removal of version files that nobody can need any more.

Spark keeps what it needs to run the last ``minBatchesToRetain`` batches again, and no more, so no
task ever asks for an earlier version.  What the manifests of the earliest one that may be asked for
do not name, no later manifest names: pieces are taken over from one version to the next, or gone.
So one task in some batches reads those manifests and removes all earlier files that none of them
names: files of versions, of attempts that failed, and unfinished ones.
"""

from __future__ import annotations

import logging

from flinkish._core.values.codec import CorruptFrame, NewerFrame
from flinkish.spark.versions.batch import Batch
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.manifest import read_manifest

__all__ = ["EVERY", "purge"]

EVERY = 16  # batches; the partitions take turns

_LOG = logging.getLogger("flinkish.spark.versions")


def purge(directory: VersionDirectory, batch: Batch, partitions: int) -> int:
    """Remove what is not needed if it is this task's turn; how many files went.

    A file system that refuses is logged, and asked again the next time.
    """
    turn, rest = divmod(batch.number, EVERY)
    oldest = batch.number - batch.retained
    if rest or turn % partitions != batch.partition or oldest <= 0:
        return 0
    try:
        return _purge(directory, oldest)
    except OSError as error:
        _LOG.warning("old state in %s could not be removed: %s", directory.path, error)
        return 0


def _purge(directory: VersionDirectory, oldest: int) -> int:
    kept: set[str] = set()
    for name in directory.names(oldest):
        try:
            with directory.open(name.path) as file:
                kept.update(path for path, _ in read_manifest(file).files)
        except CorruptFrame:
            continue  # of an attempt that did not finish: it counts for nobody
        except NewerFrame:
            return 0
    if not kept and not directory.names(oldest):
        return 0
    removed = 0
    for version in directory.versions():
        if version >= oldest:
            break
        for path in directory.files(version):
            if path not in kept:
                removed += directory.remove(path)
        directory.remove_folder(version)
    return removed
