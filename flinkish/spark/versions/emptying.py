"""Which old files of a partition a batch empties, so that they can be removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flinkish.spark.versions.manifest import DataFile

__all__ = ["files_to_empty"]

_AT_ONCE = 8 * 1024 * 1024  # bytes that a batch copies out of old files
_OLD_FILES = 64  # that a partition may have; if there are more, half of them are emptied

Numbered = Sequence[tuple[int, DataFile]]


def files_to_empty(files: Mapping[int, DataFile], oldest: int) -> list[int]:
    """The numbers of files before version ``oldest`` whose pieces are to be copied.

    After that less than half of the pieces in old files are dead, and there are at most _OLD_FILES
    of these, unless a batch would copy more than _AT_ONCE bytes.  Each piece is copied a few times
    at most: into a file with the pieces of some 30 others, and once more from there.
    """
    old = [
        (number, file)
        for number, file in files.items()
        if int(file.path.partition("/")[0]) < oldest
    ]
    room = _AT_ONCE
    chosen = []
    for number in dict.fromkeys([*_mostly_dead(old), *_smallest(old)]):
        if files[number].live <= room:
            room -= files[number].live
            chosen.append(number)
    return chosen


def _mostly_dead(files: Numbered) -> Iterator[int]:
    """Files to empty until half of all data is live, those with the least live data first."""
    size, live = sum(file.size for _, file in files), sum(file.live for _, file in files)
    for number, file in sorted(files, key=lambda one: one[1].live / max(one[1].size, 1)):
        if live * 2 >= size:
            return
        size, live = size - file.size, live - file.live
        yield number


def _smallest(files: Numbered) -> Iterator[int]:
    """If there are too many files, the half of them with the least live data."""
    if len(files) > _OLD_FILES:
        for number, _ in sorted(files, key=lambda one: one[1].live)[: len(files) // 2]:
            yield number
