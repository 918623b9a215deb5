"""Elements of several streams out of one job, which costs little more than the job of one."""

from collections.abc import Sequence
from typing import Any

from flinkish.datastream import DataStream


def collected_together(streams: Sequence[DataStream]) -> list[list[Any]]:
    """The elements of each stream, in the order in which they came."""
    found: list[list[Any]] = [[] for _ in streams]
    numbered = [_numbered(stream, number) for number, stream in enumerate(streams)]
    for number, element in numbered[0].union(*numbered[1:]).execute_and_collect():
        found[number].append(element)
    return found


def _numbered(stream: DataStream, number: int) -> DataStream:
    return stream.map(lambda element: (number, element))
