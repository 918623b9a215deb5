"""PyFlink's module of slot sharing groups."""

from flinkish.environment.slot_sharing_group import MemorySize, SlotSharingGroup

__all__ = ["MemorySize", "SlotSharingGroup"]
