import pickle
from datetime import timedelta

import pytest

from flinkish.common import Duration, Time
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.state import StateTtlConfig

Update = StateTtlConfig.UpdateType
Visibility = StateTtlConfig.StateVisibility
Clock = StateTtlConfig.TtlTimeCharacteristic
Cleanup = StateTtlConfig.CleanupStrategies


def test_defaults_are_flinks() -> None:
    config = StateTtlConfig.new_builder(Time.seconds(1)).build()
    assert config.get_ttl() == Time.seconds(1)
    assert config.ttl_ms == 1_000
    assert config.get_update_type() is Update.OnCreateAndWrite
    assert config.get_state_visibility() is Visibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is Clock.ProcessingTime
    assert config.is_enabled()
    assert config.get_cleanup_strategies().is_cleanup_in_background()


@pytest.mark.parametrize(
    "ttl", [Time.seconds(1), Duration.of_seconds(1), timedelta(seconds=1), 1_000, "1 second"]
)
def test_all_forms_of_a_duration_make_the_same_config(ttl: object) -> None:
    config = StateTtlConfig.new_builder(ttl).build()  # type: ignore[arg-type]
    assert config == StateTtlConfig.new_builder(Time.seconds(1)).build()
    assert hash(config) == hash(StateTtlConfig.new_builder(1_000).build())
    assert config.get_ttl().to_milliseconds() == 1_000


def test_every_method_of_the_builder() -> None:
    config = (
        StateTtlConfig.new_builder(1)
        .set_ttl(Time.minutes(1))
        .update_ttl_on_read_and_write()
        .return_expired_if_not_cleaned_up()
        .use_processing_time()
        .cleanup_full_snapshot()
        .cleanup_incrementally(10, True)
        .cleanup_in_rocksdb_compact_filter(500, Duration.of_hours(1))
        .disable_cleanup_in_background()
        .build()
    )
    assert config.ttl_ms == 60_000
    assert config.get_update_type() is Update.OnReadAndWrite
    assert config.get_state_visibility() is Visibility.ReturnExpiredIfNotCleanedUp
    cleanup = config.get_cleanup_strategies()
    assert not cleanup.is_cleanup_in_background()
    assert cleanup.in_full_snapshot()
    heap = cleanup.get_incremental_cleanup_strategy()
    assert isinstance(heap, Cleanup.IncrementalCleanupStrategy)
    assert heap.get_cleanup_size() == 10
    assert heap.run_cleanup_for_every_record() is True
    rocks = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert isinstance(rocks, Cleanup.RocksdbCompactFilterCleanupStrategy)
    assert rocks.get_query_time_after_num_entries() == 500
    assert rocks.get_periodic_compaction_time() == Duration.of_hours(1)
    assert pickle.loads(pickle.dumps(config)) == config
    assert hash(pickle.loads(pickle.dumps(config))) == hash(config)


def test_later_words_count() -> None:
    builder = StateTtlConfig.new_builder(1).update_ttl_on_read_and_write()
    assert builder.update_ttl_on_create_and_write().build() == StateTtlConfig.new_builder(1).build()
    builder.return_expired_if_not_cleaned_up().never_return_expired()
    assert builder.build().get_state_visibility() is Visibility.NeverReturnExpired


def test_cleanup_defaults_follow_the_background() -> None:
    cleanup = StateTtlConfig.new_builder(1).build().get_cleanup_strategies()
    heap = cleanup.get_incremental_cleanup_strategy()
    assert heap == Cleanup.IncrementalCleanupStrategy(5, False)
    rocks = cleanup.get_rocksdb_compact_filter_cleanup_strategy()
    assert rocks == Cleanup.RocksdbCompactFilterCleanupStrategy(1_000, Duration.of_days(30))
    assert not cleanup.in_full_snapshot()
    off = StateTtlConfig.new_builder(1).disable_cleanup_in_background().build()
    assert off.get_cleanup_strategies().get_incremental_cleanup_strategy() is None
    assert off.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy() is None
    assert off != StateTtlConfig.new_builder(1).build()


def test_a_builder_goes_on_without_touching_what_it_built() -> None:
    builder = StateTtlConfig.new_builder(1)
    first = builder.build()
    builder.cleanup_full_snapshot().set_ttl(2)
    assert first == StateTtlConfig.new_builder(1).build()


def test_disabled() -> None:
    assert not StateTtlConfig.new_builder(1).set_update_type(Update.Disabled).build().is_enabled()


def test_wrong_arguments() -> None:
    for ttl in (0, -5, Time.seconds(0)):
        with pytest.raises(IllegalArgumentError, match="ttl must be at least 1 ms"):
            StateTtlConfig.new_builder(ttl).build()
    with pytest.raises(ArgumentTypeError, match=r"must be a StateTtlConfig\.UpdateType"):
        StateTtlConfig.new_builder(1).set_update_type("OnReadAndWrite").build()  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="one of ReturnExpiredIfNotCleanedUp, NeverReturn"):
        StateTtlConfig.new_builder(1).set_state_visibility(1).build()  # type: ignore[arg-type]
