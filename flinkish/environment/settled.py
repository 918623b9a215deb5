"""The settings of an operator or a sink of a program."""

from __future__ import annotations

from typing import Any, TypeVar

from flinkish.common.errors import IllegalArgumentError
from flinkish.environment.nodes import Node

__all__ = ["Settled"]

Self = TypeVar("Self", bound="Settled")


class Settled:
    """A node of the graph, with the settings that PyFlink's streams and sinks take.

    Those of chains, slots and buffers are kept and change nothing: Spark plans stages itself.
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    def get_name(self) -> str:
        """The operator's name."""
        return self._node.name

    def name(self: Self, name: str) -> Self:
        """Name the operator, for messages and for its state if it has no uid."""
        self._node.name = name
        return self

    def uid(self: Self, uid: str) -> Self:
        """Name the operator's state, so that it is found again after the program has changed."""
        if not uid:
            raise IllegalArgumentError("a uid must have characters")
        self._node.uid = uid
        return self

    def set_uid_hash(self: Self, uid_hash: str) -> Self:
        """The same as `uid`."""
        return self.uid(uid_hash)

    def set_description(self: Self, description: str) -> Self:
        """Keep a description."""
        return self._kept("description", description)

    def set_parallelism(self: Self, parallelism: int) -> Self:
        """How many tasks run the operator.

        Elements of functions without keys, and of sinks, are dealt to so many tasks in turn; the
        functions that follow run in these, too.  Of a source it is kept: Spark reads it in as many
        tasks as it has splits.
        """
        if parallelism < 1:
            raise IllegalArgumentError(f"parallelism must be 1 or more, not {parallelism}")
        self._node.parallelism = parallelism
        self._check_parallelism()
        return self

    def set_max_parallelism(self: Self, max_parallelism: int) -> Self:
        """How many key groups the operator's state is kept in."""
        if not 1 <= max_parallelism <= 32768:
            raise IllegalArgumentError(
                f"max_parallelism must be from 1 to 32768, not {max_parallelism}"
            )
        self._node.max_parallelism = max_parallelism
        self._check_parallelism()
        return self

    def _check_parallelism(self) -> None:
        groups, tasks = self._node.max_parallelism, self._node.parallelism
        if groups is not None and tasks is not None and tasks > groups:
            raise IllegalArgumentError(
                f"{self._node.name} would have {tasks} tasks and {groups} key groups, so some "
                "tasks would have no keys: raise set_max_parallelism, or lower set_parallelism"
            )

    def force_non_parallel(self: Self) -> Self:
        """Run the operator in one task."""
        return self.set_parallelism(1)

    def set_buffer_timeout(self: Self, timeout_millis: int) -> Self:
        """Keep a timeout of buffers, which Spark does not have."""
        return self._kept("buffer_timeout", timeout_millis)

    def start_new_chain(self: Self) -> Self:
        """Keep the wish for a new chain."""
        return self._kept("start_new_chain", True)

    def disable_chaining(self: Self) -> Self:
        """Keep the wish for no chain."""
        return self._kept("disable_chaining", True)

    def slot_sharing_group(self: Self, slot_sharing_group: Any) -> Self:
        """Keep the name of a group of slots, which Spark does not have."""
        return self._kept("slot_sharing_group", slot_sharing_group)

    def _kept(self: Self, setting: str, value: Any) -> Self:
        self._node.settings[setting] = value
        return self
