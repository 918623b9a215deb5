"""Tasks: operators that run on a mailbox, and the checkpoints they make.

Owns: the loop of a task, legacy sources, channels between tasks, jobs of several, checkpoints and
where they are kept.
Uses: ``_core``, ``common``, ``metrics``, ``mailbox``, ``time``, ``functions``, ``operators``.
Must not: know Spark.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.task.channel import ElementChannel
    from flinkish.task.checkpoint_storage import (
        CheckpointStorage,
        DamagedCheckpointWarning,
        FileSystemCheckpointStorage,
        StoredCheckpoint,
    )
    from flinkish.task.checkpoint_types import (
        AlignmentType,
        CheckpointConfig,
        CheckpointFailureReason,
        CheckpointMetaData,
        CheckpointOptions,
        CompletedCheckpoint,
        CoordinatorStatistics,
    )
    from flinkish.task.coordinator import CheckpointCoordinator
    from flinkish.task.element_io import (
        InputProcessor,
        InputStatus,
        StopMode,
        StreamTaskInput,
        StreamTaskOutput,
    )
    from flinkish.task.job import Job
    from flinkish.task.job_states import JobStatistics, JobStatus
    from flinkish.task.multi_channel_input import CheckpointedInput, MultiChannelInput
    from flinkish.task.one_input_task import OneInputStreamTask
    from flinkish.task.responders import CheckpointResponder
    from flinkish.task.source_task import SourceStreamTask
    from flinkish.task.states import TaskState, TaskStatistics
    from flinkish.task.stream_task import StreamTask
    from flinkish.task.watermark_processor import MailboxWatermarkProcessor
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.task.channel": ("ElementChannel",),
            "flinkish.task.checkpoint_storage": (
                "CheckpointStorage",
                "DamagedCheckpointWarning",
                "FileSystemCheckpointStorage",
                "StoredCheckpoint",
            ),
            "flinkish.task.checkpoint_types": (
                "AlignmentType",
                "CheckpointConfig",
                "CheckpointFailureReason",
                "CheckpointMetaData",
                "CheckpointOptions",
                "CompletedCheckpoint",
                "CoordinatorStatistics",
            ),
            "flinkish.task.coordinator": ("CheckpointCoordinator",),
            "flinkish.task.element_io": (
                "InputProcessor",
                "InputStatus",
                "StopMode",
                "StreamTaskInput",
                "StreamTaskOutput",
            ),
            "flinkish.task.job": ("Job",),
            "flinkish.task.job_states": ("JobStatistics", "JobStatus"),
            "flinkish.task.multi_channel_input": ("CheckpointedInput", "MultiChannelInput"),
            "flinkish.task.one_input_task": ("OneInputStreamTask",),
            "flinkish.task.responders": ("CheckpointResponder",),
            "flinkish.task.source_task": ("SourceStreamTask",),
            "flinkish.task.states": ("TaskState", "TaskStatistics"),
            "flinkish.task.stream_task": ("StreamTask",),
            "flinkish.task.watermark_processor": ("MailboxWatermarkProcessor",),
        },
    )

__all__ = [
    "AlignmentType",
    "CheckpointConfig",
    "CheckpointCoordinator",
    "CheckpointFailureReason",
    "CheckpointMetaData",
    "CheckpointOptions",
    "CheckpointResponder",
    "CheckpointStorage",
    "CheckpointedInput",
    "CompletedCheckpoint",
    "CoordinatorStatistics",
    "DamagedCheckpointWarning",
    "ElementChannel",
    "FileSystemCheckpointStorage",
    "InputProcessor",
    "InputStatus",
    "Job",
    "JobStatistics",
    "JobStatus",
    "MailboxWatermarkProcessor",
    "MultiChannelInput",
    "OneInputStreamTask",
    "SourceStreamTask",
    "StopMode",
    "StoredCheckpoint",
    "StreamTask",
    "StreamTaskInput",
    "StreamTaskOutput",
    "TaskState",
    "TaskStatistics",
]
