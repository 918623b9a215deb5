"""How long state lives: PyFlink's ``StateTtlConfig``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from flinkish.common.durations import Duration, DurationLike, Time, to_millis
from flinkish.common.errors import ArgumentTypeError

__all__ = ["StateTtlConfig"]


def _member(value: object, kind: type[Enum], what: str) -> None:
    if not isinstance(value, kind):
        raise ArgumentTypeError(
            f"{what} must be a {kind.__qualname__}, one of "
            f"{', '.join(member.name for member in kind)}, not {value!r}"
        )


@dataclass(frozen=True)
class StateTtlConfig:
    """A state's time to live: how long, what puts the expiry off, and who sees expired values.

    Made by ``StateTtlConfig.new_builder(Time.hours(1))``, methods of the builder, ``build()``.
    Lists expire element by element and maps entry by entry, by processing time, as in Flink.

    What has expired goes away

    * when it is read: a value, a map entry, or of a list every element that has expired;
    * when it is overwritten: by ``update``, by ``put`` under the same map key, or with all else
      by ``clear``.  Adding to a list leaves its expired elements until the list is read;
    * in the background, of all keys, read or not: on Spark when the log of a key group is
      compacted, in one process at snapshots and when keys have doubled in number.
      ``disable_cleanup_in_background`` turns this off.

    The clean-ups that tune one of Flink's backends (``cleanup_incrementally``,
    ``cleanup_in_rocksdb_compact_filter``) and ``cleanup_full_snapshot`` are accepted and
    recorded, and change nothing here.
    """

    class UpdateType(Enum):
        """Which accesses put the expiry off; ``Disabled`` turns it off altogether."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether a value that has expired but is still there may be read."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """The clock of the expiry; Flink knows one."""

        ProcessingTime = 0

    class CleanupStrategies:
        """The clean-ups that were asked for."""

        class Strategies(Enum):
            """Their kinds."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy:
            """The settings of one kind; equal if they are of one class with equal settings."""

            def __eq__(self, other: object) -> bool:
                return type(self) is type(other) and vars(self) == vars(other)

            def __hash__(self) -> int:
                return hash((type(self), *vars(self).values()))

        class EmptyCleanupStrategy(CleanupStrategy):
            """A kind without settings."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """For Flink's heap backend: look at some keys whenever state is touched."""

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                self._cleanup_size = cleanup_size
                self._every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Keys to look at each time."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """Whether records that touch no state count too."""
                return self._every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """For Flink's RocksDB backend: drop what has expired on compaction."""

            def __init__(
                self,
                query_time_after_num_entries: int,
                periodic_compaction_time: Duration | None = None,
            ) -> None:
                self._entries = query_time_after_num_entries
                self._period = periodic_compaction_time or Duration.of_days(30)

            def get_query_time_after_num_entries(self) -> int:
                """After how many entries the clock is asked again."""
                return self._entries

            def get_periodic_compaction_time(self) -> Duration:
                """The age after which a file is compacted in any case."""
                return self._period

        EMPTY_STRATEGY = EmptyCleanupStrategy()

        def __init__(
            self, strategies: Mapping[Strategies, CleanupStrategy], is_cleanup_in_background: bool
        ) -> None:
            self._strategies = dict(strategies)
            self._in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Whether expired state goes away without being read."""
            return self._in_background

        def in_full_snapshot(self) -> bool:
            """Whether ``cleanup_full_snapshot`` was asked for."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(self) -> CleanupStrategy | None:
            """The strategy asked for, else Flink's default if cleaning in the background."""
            default = self.IncrementalCleanupStrategy(5, False) if self._in_background else None
            return self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP, default)

        def get_rocksdb_compact_filter_cleanup_strategy(self) -> CleanupStrategy | None:
            """The strategy asked for, else Flink's default if cleaning in the background."""
            default = self.RocksdbCompactFilterCleanupStrategy(1_000)
            return self._strategies.get(
                self.Strategies.ROCKSDB_COMPACTION_FILTER, default if self._in_background else None
            )

        def __eq__(self, other: object) -> bool:
            return type(self) is type(other) and vars(self) == vars(other)

        def __hash__(self) -> int:
            return hash((frozenset(self._strategies.items()), self._in_background))

    class Builder:
        """Builds a :class:`StateTtlConfig`; every method but ``build`` returns the builder."""

        def __init__(self, ttl: DurationLike) -> None:
            self._ttl = ttl
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._state_visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._characteristic = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._in_background = True
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies,
                StateTtlConfig.CleanupStrategies.CleanupStrategy,
            ] = {}

        def set_ttl(self, ttl: DurationLike) -> StateTtlConfig.Builder:
            """How long a value lives, at least 1 ms."""
            self._ttl = ttl
            return self

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """Which accesses put the expiry off."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Every write puts the expiry off; the default."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Every read and every write puts the expiry off."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(
            self, state_visibility: StateTtlConfig.StateVisibility
        ) -> StateTtlConfig.Builder:
            """Whether expired values that are still there may be read."""
            self._state_visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """Expired values may be read as long as they are there."""
            return self.set_state_visibility(
                StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            )

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """Expired values are never read; the default."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """The clock of the expiry."""
            self._characteristic = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """Expire by processing time; there is no other clock."""
            return self.set_ttl_time_characteristic(
                StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            )

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Recorded, without effect: the clean-up in the background has been there before."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.FULL_STATE_SCAN_SNAPSHOT] = kinds.EMPTY_STRATEGY
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool
        ) -> StateTtlConfig.Builder:
            """Tunes Flink's heap backend; recorded, without effect here."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.INCREMENTAL_CLEANUP] = (
                kinds.IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
            )
            return self

        def cleanup_in_rocksdb_compact_filter(
            self,
            query_time_after_num_entries: int,
            periodic_compaction_time: Duration | None = None,
        ) -> StateTtlConfig.Builder:
            """Tunes Flink's RocksDB backend; recorded, without effect here."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.ROCKSDB_COMPACTION_FILTER] = (
                kinds.RocksdbCompactFilterCleanupStrategy(
                    query_time_after_num_entries, periodic_compaction_time
                )
            )
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Drop expired values only when they are read or overwritten."""
            self._in_background = False
            return self

        def build(self) -> StateTtlConfig:
            """The configuration.  IllegalArgumentError for a ttl of less than 1 ms."""
            return StateTtlConfig(
                self._update_type,
                self._state_visibility,
                self._characteristic,
                Time(to_millis(self._ttl, "ttl", minimum=1)),
                StateTtlConfig.CleanupStrategies(self._strategies, self._in_background),
            )

    update_type: UpdateType
    state_visibility: StateVisibility
    ttl_time_characteristic: TtlTimeCharacteristic
    ttl: Time
    cleanup_strategies: CleanupStrategies

    def __post_init__(self) -> None:
        _member(self.update_type, StateTtlConfig.UpdateType, "update_type")
        _member(self.state_visibility, StateTtlConfig.StateVisibility, "state_visibility")
        _member(
            self.ttl_time_characteristic,
            StateTtlConfig.TtlTimeCharacteristic,
            "ttl_time_characteristic",
        )
        object.__setattr__(self, "ttl", Time(to_millis(self.ttl, "ttl", minimum=1)))

    @staticmethod
    def new_builder(ttl: DurationLike) -> StateTtlConfig.Builder:
        """A builder for state that lives ``ttl``, at least 1 ms, after its last write."""
        return StateTtlConfig.Builder(ttl)

    @property
    def ttl_ms(self) -> int:
        """The time to live in milliseconds."""
        return self.ttl.to_milliseconds()

    def get_ttl(self) -> Time:
        """The time to live."""
        return self.ttl

    def get_update_type(self) -> UpdateType:
        """Which accesses put the expiry off."""
        return self.update_type

    def get_state_visibility(self) -> StateVisibility:
        """Whether expired values may be read."""
        return self.state_visibility

    def get_ttl_time_characteristic(self) -> TtlTimeCharacteristic:
        """The clock of the expiry."""
        return self.ttl_time_characteristic

    def get_cleanup_strategies(self) -> CleanupStrategies:
        """The clean-ups that were asked for."""
        return self.cleanup_strategies

    def is_enabled(self) -> bool:
        """Whether state expires at all."""
        return self.update_type is not StateTtlConfig.UpdateType.Disabled
