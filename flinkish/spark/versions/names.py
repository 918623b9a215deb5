"""Names of version files, and which of them count.

Version v is the state before batch v, so the tasks of batch v - 1 write it: a file for each of the
operator's partitions and each attempt.  No file is ever written over.

Invariants:
  V1  A file is complete as soon as it has its name; where there is no rename, if it ends with its
      manifest.
  V2  The tag is the time of the batch in Spark's offset log, so files of a batch that was planned
      anew, with other rows, do not count.
  V3  Of one run of the query the attempt with the highest number counts: Spark starts another
      attempt only after it gave the one before up, and numbers rise within a driver.
  V4  A run that did a batch uses its own files of it.  Only the first batch of a run reads files of
      others: those of the complete run with the highest epoch whose files are whole.  A run takes
      an epoch above all that it finds, and at or above the time at which its operator was defined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["SUFFIX", "VersionName", "choices", "folder_of", "version_of"]

SUFFIX = ".state"

_NAME = re.compile(r"(\d+)-(\d+)-([0-9a-f]+)-([0-9a-f]+)-(\d+)of(\d+)-(\d+)\.state")
_FOLDER = re.compile(r"\d{10}")


@dataclass(frozen=True)
class VersionName:
    """The name of a version file: the state of a partition, by one attempt of one run.

    ``definition`` tells two operators of a run from each other that were given the same name.
    """

    version: int
    tag: int
    epoch: int
    run: str
    definition: str
    partition: int
    partitions: int
    attempt: int

    @property
    def path(self) -> str:
        """Where it lies below the operator's directory."""
        return (
            f"{folder_of(self.version)}/{self.tag}-{self.epoch}-{self.run}-{self.definition}-"
            f"{self.partition}of{self.partitions}-{self.attempt}{SUFFIX}"
        )

    @classmethod
    def parse(cls, version: int, name: str) -> VersionName | None:
        """Read a name of `path`, without its folder; None for a file of another kind."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        tag, epoch, run, definition, *numbers = found.groups()
        return cls(version, int(tag), int(epoch), run, definition, *map(int, numbers))


def folder_of(version: int) -> str:
    """The folder of a version's files."""
    return f"{version:010d}"


def version_of(folder: str) -> int | None:
    """The version of a folder; None for another one."""
    return int(folder) if _FOLDER.fullmatch(folder) else None


def choices(
    names: Iterable[VersionName], tag: int, run: str
) -> list[Mapping[int, list[VersionName]]]:
    """The files that are a version, by partition, the last attempt first: see V2 to V4.

    The first of them counts, if its files are whole.  If this run did the batch, but not for all
    partitions, only those are there.
    """
    runs: dict[tuple[str, str, int], dict[int, list[VersionName]]] = {}
    for name in sorted(names, key=lambda name: -name.attempt):
        if name.tag == tag:
            held = runs.setdefault((name.run, name.definition, name.partitions), {})
            held.setdefault(name.partition, []).append(name)
    for (owner, _, _), held in runs.items():
        if owner == run:
            return [held]
    complete = [held for (_, _, partitions), held in runs.items() if len(held) == partitions]
    return sorted(complete, key=_epoch, reverse=True)


def _epoch(held: Mapping[int, list[VersionName]]) -> int:
    return max(name.epoch for attempts in held.values() for name in attempts)
