"""The settings of checkpoints."""

from __future__ import annotations

from typing import Any

import pytest

from flinkish.common.errors import IllegalArgumentError
from flinkish.environment.settings import (
    CheckpointConfig,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
)

# What a new configuration answers.
DEFAULTS = {
    "is_checkpointing_enabled": False,
    "get_checkpoint_interval": -1,
    "get_checkpoint_storage": None,
    "get_checkpointing_mode": CheckpointingMode.EXACTLY_ONCE,
    "get_checkpoint_timeout": 600_000,
    "get_min_pause_between_checkpoints": 0,
    "get_max_concurrent_checkpoints": 1,
    "get_tolerable_checkpoint_failure_number": 0,
    "is_unaligned_checkpoints_enabled": False,
    "get_externalized_checkpoint_retention": ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION,
}


def answers(config: CheckpointConfig) -> dict[str, Any]:
    return {method: getattr(config, method)() for method in DEFAULTS}


def test_defaults() -> None:
    assert answers(CheckpointConfig()) == DEFAULTS


@pytest.mark.parametrize(
    ("setter", "value", "changed"),
    [
        (
            "set_checkpoint_interval",
            10,
            {"get_checkpoint_interval": 10, "is_checkpointing_enabled": True},
        ),
        ("set_checkpoint_storage_dir", "/a", {"get_checkpoint_storage": "/a"}),
        ("set_checkpoint_storage", "s3a://b/c", {"get_checkpoint_storage": "s3a://b/c"}),
        (
            "set_checkpointing_mode",
            CheckpointingMode.AT_LEAST_ONCE,
            {"get_checkpointing_mode": CheckpointingMode.AT_LEAST_ONCE},
        ),
        ("set_checkpoint_timeout", 1, {"get_checkpoint_timeout": 1}),
        ("set_min_pause_between_checkpoints", 7, {"get_min_pause_between_checkpoints": 7}),
        ("set_max_concurrent_checkpoints", 3, {"get_max_concurrent_checkpoints": 3}),
        (
            "set_tolerable_checkpoint_failure_number",
            2,
            {"get_tolerable_checkpoint_failure_number": 2},
        ),
        ("enable_unaligned_checkpoints", True, {"is_unaligned_checkpoints_enabled": True}),
        ("enable_unaligned_checkpoints", False, {}),
        (
            "set_externalized_checkpoint_retention",
            ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION,
            {
                "get_externalized_checkpoint_retention": (
                    ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION
                )
            },
        ),
    ],
)
def test_a_setter_changes_its_setting_alone(
    setter: str, value: Any, changed: dict[str, Any]
) -> None:
    config = CheckpointConfig()
    assert getattr(config, setter)(value) is config
    assert answers(config) == DEFAULTS | changed


def test_a_wish_for_unaligned_checkpoints_is_taken_back() -> None:
    config = CheckpointConfig().enable_unaligned_checkpoints()
    assert config.is_unaligned_checkpoints_enabled()
    assert config.disable_unaligned_checkpoints() is config
    assert not config.is_unaligned_checkpoints_enabled()


@pytest.mark.parametrize(
    ("setter", "wrong", "message"),
    [
        ("set_checkpoint_interval", 9, "must be 10 ms or more, not 9"),
        ("set_checkpoint_interval", -1, "must be 10 ms or more, not -1"),
        ("set_checkpoint_storage_dir", "", "is a path or URL, not ''"),
        ("set_checkpoint_storage", None, "is a path or URL, not None"),
        ("set_checkpointing_mode", "EXACTLY_ONCE", "is a CheckpointingMode, not 'EXACTLY_ONCE'"),
        ("set_checkpoint_timeout", 0, "the timeout of checkpoints must be 1 or more, not 0"),
        ("set_min_pause_between_checkpoints", -1, "pause must be 0 or more ms, not -1"),
        ("set_max_concurrent_checkpoints", 0, "number of checkpoints must be 1 or more, not 0"),
        ("set_tolerable_checkpoint_failure_number", -1, "failures must be 0 or more, not -1"),
    ],
)
def test_what_is_refused_changes_nothing(setter: str, wrong: Any, message: str) -> None:
    config = CheckpointConfig()
    with pytest.raises(IllegalArgumentError, match=message):
        getattr(config, setter)(wrong)
    assert answers(config) == DEFAULTS
