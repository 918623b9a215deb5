"""Elements dealt to tasks: by a partitioner of the user's, in turn, or each to all."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import Any, SupportsIndex

from flinkish.common.errors import UserFunctionError
from flinkish.functions.base import FlatMapFunction, MapFunction, Partitioner
from flinkish.spark.keyed.placement import slot_of

__all__ = ["SLOT", "Dealt", "InTurn", "ToAll"]

# The column by which Spark brings a row to the task with this number: see `placement`.
SLOT = "__flinkish_slot"


class _Places:
    """Keeps where the elements go that the last function of a chain gives."""

    def __init__(self) -> None:
        self._slots: list[int] = []

    def take(self) -> list[int]:
        """The slots of the elements since the last call."""
        slots, self._slots = self._slots, []
        return slots


class Dealt(_Places, MapFunction):
    """The last function of a chain: lets each element pass, and keeps where it goes."""

    def __init__(self, partitioner: Any, key_selector: Any, partitions: int) -> None:
        super().__init__()
        self._functions = partitioner, key_selector
        self._partition = getattr(partitioner, "partition", partitioner)
        self._key_of = getattr(key_selector, "get_key", key_selector)
        self._partitions = partitions
        self.__name__ = getattr(partitioner, "__name__", type(partitioner).__name__)

    def open(self, runtime_context: Any) -> None:
        """Open the user's functions."""
        for function in self._functions:
            if hasattr(function, "open"):
                function.open(runtime_context)

    def close(self) -> None:
        """Close them."""
        for function in self._functions:
            if hasattr(function, "close"):
                function.close()

    def map(self, value: Any) -> Any:
        """The element; UserFunctionError if it goes to no task that there is."""
        place = self._partition(self._key_of(value), self._partitions)
        if not isinstance(place, SupportsIndex) or not 0 <= index(place) < self._partitions:
            raise UserFunctionError(
                f"the partitioner gave {place!r} for one of {self._partitions} partitions: let it "
                f"return an int from 0 to {self._partitions - 1}",
                function=self.__name__,
                method="partition",
            )
        self._slots.append(slot_of(index(place)))
        return value


class ToAll(_Places, FlatMapFunction):
    """The last function of a chain: a copy of each element for each task."""

    def __init__(self, partitions: int) -> None:
        super().__init__()
        self._all = [slot_of(place) for place in range(partitions)]

    def flat_map(self, value: Any) -> Iterator[Any]:
        """The element, as often as there are tasks."""
        for slot in self._all:
            self._slots.append(slot)  # of the copies that were taken, for `take`
            yield value


class InTurn(Partitioner):
    """One task after the other; each task that deals begins with another one."""

    def open(self, runtime_context: Any) -> None:
        """Begin with the task of this number."""
        self._next = int(runtime_context.get_index_of_this_subtask())

    def partition(self, key: Any, num_partitions: int) -> int:
        """The next one."""
        place = self._next % num_partitions
        self._next += 1
        return place
