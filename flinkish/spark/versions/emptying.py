"""Which old files of a partition a batch empties, so that they can go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from flinkish.spark.versions.manifest import DataFile

__all__ = ["files_to_empty"]

_AT_ONCE = 8 * 1024 * 1024  # bytes that a batch takes along
_OLD_FILES = 64  # that a partition may have; then half of them are emptied at once

Numbered = Sequence[tuple[int, DataFile]]


def files_to_empty(files: Mapping[int, DataFile], oldest: int) -> list[int]:
    """The numbers of files before version ``oldest`` whose pieces are to be written anew.

    Of the pieces in such files less than half are dead then, and there are _OLD_FILES of them at
    most, but for what is more than _AT_ONCE bytes at a time.  Each piece is written anew a few
    times at most: into files of some 30 others, and once more into one of those.
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
    """Files to be emptied so that half of what is in all is live, those with the least first."""
    size, live = sum(file.size for _, file in files), sum(file.live for _, file in files)
    for number, file in sorted(files, key=lambda one: one[1].live / max(one[1].size, 1)):
        if live * 2 >= size:
            return
        size, live = size - file.size, live - file.live
        yield number


def _smallest(files: Numbered) -> Iterator[int]:
    """Half of the files, those in which the least is live, if there are too many."""
    if len(files) > _OLD_FILES:
        for number, _ in sorted(files, key=lambda one: one[1].live)[: len(files) // 2]:
            yield number
