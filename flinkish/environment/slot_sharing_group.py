"""Slots of Flink's task managers: settings that are kept without effect, as Spark has none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from flinkish.common.errors import IllegalArgumentError

__all__ = ["MemorySize", "SlotSharingGroup"]

_MEBI = 1 << 20


@dataclass(frozen=True, order=True)
class MemorySize:
    """A number of bytes."""

    bytes_size: int

    def __post_init__(self) -> None:
        if self.bytes_size < 0:
            raise IllegalArgumentError(f"a size must be 0 bytes or more, not {self.bytes_size}")

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """So many MiB."""
        return MemorySize(mebi_bytes * _MEBI)

    def get_bytes(self) -> int:
        """The number of bytes."""
        return self.bytes_size

    def get_kibi_bytes(self) -> int:
        """How many whole KiB they are."""
        return self.bytes_size >> 10

    def get_mebi_bytes(self) -> int:
        """How many whole MiB they are."""
        return self.bytes_size >> 20

    def get_gibi_bytes(self) -> int:
        """How many whole GiB they are."""
        return self.bytes_size >> 30

    def get_tebi_bytes(self) -> int:
        """How many whole TiB they are."""
        return self.bytes_size >> 40


@dataclass(frozen=True)
class SlotSharingGroup:
    """Resources of the slots that a group of operators shares; `builder` makes it.

    Spark has executors instead of slots: set ``spark.executor.cores`` and
    ``spark.executor.memory``.
    """

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def builder(name: str) -> Builder:
        """Begin a group of this name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """The name of the group."""
        return self.name

    def get_cpu_cores(self) -> float | None:
        """The cores of a slot, None if they were not set."""
        return self.cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """The heap of a task, None if it was not set."""
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """The memory of a task outside the heap, None if it was not set."""
        return self.task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """The managed memory of a slot, None if it was not set."""
        return self.managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """The amounts of other resources, by name."""
        return dict(self.external_resources)

    class Builder:
        """The resources of a `SlotSharingGroup`."""

        def __init__(self, name: str) -> None:
            self._group = SlotSharingGroup(name)

        def set_cpu_cores(self, cpu_cores: float) -> Builder:
            """Set the cores of a slot; IllegalArgumentError for 0 or fewer."""
            if cpu_cores <= 0:
                raise IllegalArgumentError(f"a slot needs more than 0 cores, not {cpu_cores}")
            return self._set(cpu_cores=float(cpu_cores))

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> Builder:
            """Set the heap of a task."""
            return self._set(task_heap_memory=task_heap_memory)

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> Builder:
            """Set the heap of a task in MiB."""
            return self.set_task_heap_memory(MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> Builder:
            """Set the memory of a task outside the heap."""
            return self._set(task_off_heap_memory=task_off_heap_memory)

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> Builder:
            """Set the memory of a task outside the heap in MiB."""
            return self.set_task_off_heap_memory(MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> Builder:
            """Set the managed memory of a slot."""
            return self._set(managed_memory=managed_memory)

        def set_managed_memory_mb(self, managed_memory_mb: int) -> Builder:
            """Set the managed memory of a slot in MiB."""
            return self.set_managed_memory(MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> Builder:
            """Set the amount of another resource, such as ``gpu``."""
            resources = {**self._group.external_resources, name: float(value)}
            return self._set(external_resources=resources)

        def build(self) -> SlotSharingGroup:
            """The group; IllegalArgumentError for memory without cores and heap, as in Flink."""
            group = self._group
            sized = group.cpu_cores is not None and group.task_heap_memory is not None
            if group != SlotSharingGroup(group.name) and not sized:
                raise IllegalArgumentError(
                    f"the slot sharing group {group.name!r} has resources, so it needs both "
                    "set_cpu_cores and set_task_heap_memory"
                )
            return group

        def _set(self, **changes: object) -> Builder:
            self._group = replace(self._group, **changes)  # type: ignore[arg-type]
            return self


Builder = SlotSharingGroup.Builder
