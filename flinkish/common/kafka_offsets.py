"""Where reading of Kafka's partitions begins or ends, as in Flink's OffsetsInitializers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from flinkish.common.errors import IllegalStateError

__all__ = ["KafkaPosition", "OffsetReset", "Partition", "TopicOffsets", "as_json", "bounds_of"]

# A topic and the number of one of its partitions.
Partition: TypeAlias = tuple[str, int]
OffsetReset: TypeAlias = Literal["earliest", "latest", "none"]

# Numbers that stand for a position, the same in Flink's KafkaPartitionSplit and in Spark.
_LATEST, _EARLIEST, _COMMITTED = -1, -2, -3


class TopicOffsets(Protocol):
    """The offsets of the partitions that are read, as a broker knows them."""

    group: str | None

    def beginnings(self) -> Mapping[Partition, int]:
        """The first offset that each partition has."""
        ...

    def ends(self) -> Mapping[Partition, int]:
        """The offset after the last record of each partition."""
        ...

    def committed(self) -> Mapping[Partition, int]:
        """The offsets of the consumer group, for partitions that have any."""
        ...

    def since(self, time: int) -> Mapping[Partition, int]:
        """The first offset of this time (ms) or later, for partitions that have such records."""
        ...


@dataclass(frozen=True)
class KafkaPosition:
    """A place in each partition.

    It is the partition's offset in ``offsets``, else the consumer group's if ``committed``, else
    the first record at a ``time`` (ms) or later.  If none of these is known, or the partition does
    not have that offset (any more), ``reset`` decides.
    """

    reset: OffsetReset
    time: int | None = None
    offsets: Mapping[Partition, int] = field(default_factory=dict)
    committed: bool = False

    @property
    def is_asked_of_broker(self) -> bool:
        """Whether Spark's options can express it only if the partitions are known."""
        return self.committed or bool(self.offsets)

    @property
    def needs_group(self) -> bool:
        """Whether the program asked explicitly for the committed offsets of a group."""
        only_committed = self.committed and not self.offsets
        return only_committed or _COMMITTED in self.offsets.values()

    def options(self, which: Literal["starting", "ending"]) -> dict[str, str]:
        """The options of Spark's connector for a position, as far as they can express it."""
        if self.reset == "none" and not self.offsets:
            return {}
        if self.time is None:
            return {f"{which}Offsets": as_json(self.offsets) if self.offsets else self.reset}
        found = {f"{which}Timestamp": str(self.time)}
        if which == "starting":  # without this option Spark fails if there is no such record
            found["startingOffsetsByTimestampStrategy"] = "latest"
        return found

    def resolve(self, topics: TopicOffsets) -> dict[Partition, int]:
        """The offsets in all partitions.

        IllegalStateError for a partition without such an offset whose reset strategy is NONE.
        """
        first, last = topics.beginnings(), topics.ends()
        committed = topics.committed() if self.committed and topics.group else {}
        since = {} if self.time is None else topics.since(self.time)
        found = {}
        for partition in first:
            offset = self.offsets.get(partition, _COMMITTED if self.committed else None)
            if offset == _COMMITTED:
                offset = committed.get(partition)
            if offset is None:
                offset = since.get(partition)
            said = {_EARLIEST: first[partition], _LATEST: last[partition]}
            if offset is not None:
                offset = said.get(offset, offset)
            if offset is None or not first[partition] <= offset <= last[partition]:
                offset = self._reset(partition, offset, first[partition], last[partition], topics)
            found[partition] = offset
        return found

    def _reset(
        self, partition: Partition, offset: int | None, first: int, last: int, topics: TopicOffsets
    ) -> int:
        if self.reset != "none":
            return first if self.reset == "earliest" else last
        name = f"partition {partition[1]} of the topic {partition[0]!r}"
        if offset is None:
            found = f"the consumer group {topics.group!r} has committed no offset in {name}"
        else:
            found = f"{name} does not have the offset {offset}, but those from {first} to {last}"
        raise IllegalStateError(
            f"{found}, and the reset strategy is NONE: give KafkaOffsetResetStrategy.EARLIEST or "
            "LATEST to the KafkaOffsetsInitializer"
        )


def bounds_of(
    start: KafkaPosition, end: KafkaPosition, topics: TopicOffsets
) -> tuple[dict[Partition, int], dict[Partition, int]]:
    """First and last offsets by partition, without those whose end is not after their start.

    IllegalStateError for an end that a partition has not reached.
    """
    last = topics.ends()
    for partition, offset in end.offsets.items():
        if partition in last and offset > last[partition]:
            raise IllegalStateError(
                f"set_bounded ends at the offset {offset} of partition {partition[1]} of the topic "
                f"{partition[0]!r}, which has records up to {last[partition]}: a bounded source "
                "of Spark cannot wait for more; give an offset that is there, or latest()"
            )
    starts, ends = start.resolve(topics), end.resolve(topics)
    # A partition that was created in between has no end here; a later run reads it.
    starts = {partition: offset for partition, offset in starts.items() if partition in ends}
    return starts, {partition: max(ends[partition], offset) for partition, offset in starts.items()}


def as_json(offsets: Mapping[Partition, int]) -> str:
    """Offsets as Spark's connector takes them."""
    by_topic: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        by_topic.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(by_topic)
