"""Settings of Flink that have no meaning on Spark: each is kept, and a program is told."""

import inspect

import pytest

from flinkish.common import ConfigOptions, Configuration, Duration, ExecutionConfig
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.datastream import (
    CheckpointConfig,
    CustomCheckpointStorage,
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    FileSystemCheckpointStorage,
    HashMapStateBackend,
    JobManagerCheckpointStorage,
    MemorySize,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)


def test_a_setting_without_effect_is_kept_with_a_warning() -> None:
    config = ExecutionConfig()
    assert config.get_latency_tracking_interval() == 0
    with pytest.warns(UserWarning, match="no effect on Spark: the times of a query's batches"):
        assert config.set_latency_tracking_interval(interval=500) is config
    assert config.get_latency_tracking_interval() == 500
    assert config.is_closure_cleaner_enabled()
    with pytest.warns(UserWarning, match="cloudpickle"):
        config.disable_closure_cleaner()
    assert not config.is_closure_cleaner_enabled()


def test_objects_do_not_share_what_is_kept() -> None:
    first, second = CheckpointConfig(), CheckpointConfig()
    with pytest.warns(UserWarning, match="no barriers"):
        first.set_alignment_timeout(Duration.of_seconds(3))
    assert first.get_alignment_timeout() == Duration.of_seconds(3)
    assert second.get_alignment_timeout() == Duration.of_millis(0)


def test_a_kept_setting_takes_one_value_by_the_name_that_pyflink_has() -> None:
    setter = ExecutionConfig.set_task_cancellation_timeout
    assert list(inspect.signature(setter).parameters) == ["self", "timeout"]
    with pytest.raises(TypeError):
        ExecutionConfig().set_task_cancellation_timeout(1, 2)


def test_errors_of_checkpoints_cannot_be_ignored() -> None:
    config = CheckpointConfig()
    assert config.set_fail_on_checkpointing_errors(True) is config
    with pytest.raises(UnsupportedOperationError, match="one that fails ends the query"):
        config.set_fail_on_checkpointing_errors(False)


def test_the_path_of_a_checkpoint_storage_is_where_checkpoints_lie() -> None:
    config = CheckpointConfig()
    assert not config.is_externalized_checkpoints_enabled()
    config.set_checkpoint_storage(JobManagerCheckpointStorage())
    assert config.get_checkpoint_storage() is None
    config.set_checkpoint_storage(FileSystemCheckpointStorage("file:///checkpoints"))
    assert config.get_checkpoint_storage() == "file:///checkpoints"
    assert config.is_externalized_checkpoints_enabled()


@pytest.mark.parametrize("cls", [CustomCheckpointStorage, CustomStateBackend])
def test_what_is_written_in_java_is_refused(cls: type) -> None:
    with pytest.raises(UnsupportedOperationError, match="runs on Spark"):
        cls(object())


def test_file_system_storage_checks_its_sizes() -> None:
    storage = FileSystemCheckpointStorage("/checkpoints")
    assert storage.get_min_file_size_threshold() == 20 * 1024
    assert storage.get_write_buffer_size() == 20 * 1024
    with pytest.raises(IllegalArgumentError, match="from -1 to 1048576"):
        FileSystemCheckpointStorage("/checkpoints", 1 << 21)


def test_a_state_backend_is_kept() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    backend = EmbeddedRocksDBStateBackend(True)
    assert backend.is_incremental_checkpoints_enabled()
    assert env.set_state_backend(backend).get_state_backend() is backend
    assert isinstance(env.set_state_backend(HashMapStateBackend()), StreamExecutionEnvironment)
    with pytest.raises(ArgumentTypeError, match="HashMapStateBackend"):
        env.set_state_backend("rocksdb")  # type: ignore[arg-type]


def test_a_slot_sharing_group_has_what_was_set() -> None:
    group = (
        SlotSharingGroup.builder("heavy")
        .set_cpu_cores(2)
        .set_task_heap_memory_mb(64)
        .set_external_resource("gpu", 1)
        .build()
    )
    assert (group.get_name(), group.get_cpu_cores()) == ("heavy", 2.0)
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(64)
    assert group.get_external_resources() == {"gpu": 1.0}
    assert group.get_managed_memory() is None
    with pytest.raises(IllegalArgumentError, match="needs both"):
        SlotSharingGroup.builder("half").set_managed_memory_mb(1).build()


def test_options_of_a_configuration_have_types() -> None:
    option = ConfigOptions.key("retries").int_type().default_value(3)
    assert (option.key, option.default_value) == ("retries", 3)
    assert ConfigOptions.key("name").string_type().no_default_value().default_value is None
    with pytest.raises(ArgumentTypeError, match="must be of type int, not True"):
        ConfigOptions.key("retries").int_type().default_value(True)


def test_lists_in_texts_of_a_configuration() -> None:
    assert Configuration.parse_list_value("a.jar;b.jar") == ["a.jar", "b.jar"]
    assert Configuration.parse_list_value("['a.jar', b.jar]") == ["a.jar", "b.jar"]
    assert Configuration.parse_list_value("") == []
    assert Configuration.from_dict({"a": "1"}).to_dict() == {"a": "1"}
