"""Operators: what runs user functions, element by element or batch by batch.

Owns: the operators' life cycle, keyed and unkeyed process operators, joins, asynchronous ones
and the event loop they share, runtime contexts, snapshots.
Uses: ``_core``, ``common``, ``metrics``, ``mailbox``, ``time``, ``state``, ``functions``,
``windowing``.
Must not: know Spark, tasks or harnesses, or start a thread other than those of asynchronous calls.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.operators.async_batch import AsyncBatchWaitOperator
    from flinkish.operators.async_settings import AsyncStatistics
    from flinkish.operators.async_wait import AsyncWaitOperator
    from flinkish.operators.base import (
        BatchOutput,
        LifeCycle,
        OperatorEnvironment,
        Output,
        StreamOperator,
        SupportsSoftBackpressure,
    )
    from flinkish.operators.broadcast import (
        CoBroadcastWithKeyedOperator,
        CoBroadcastWithNonKeyedOperator,
    )
    from flinkish.operators.co_process import CoProcessOperator, CoStreamFlatMap, CoStreamMap
    from flinkish.operators.interval_join import IntervalJoinOperator
    from flinkish.operators.keyed import KeyedOperator
    from flinkish.operators.keyed_process import KeyedProcessOperator, StreamGroupedReduceOperator
    from flinkish.operators.process import (
        ProcessOperator,
        StreamFilter,
        StreamFlatMap,
        StreamMap,
    )
    from flinkish.operators.runtime_context import KeyedRuntimeContext, TaskRuntimeContext
    from flinkish.operators.snapshot import OperatorSnapshot
    from flinkish.operators.two_input import KeyedCoProcessOperator, KeyedTwoInputOperator
    from flinkish.operators.vector_operator import ColumnOutput, VectorWindowOperator
    from flinkish.operators.window import WindowOperator, WindowOperatorBuilder
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.operators.async_batch": ("AsyncBatchWaitOperator",),
            "flinkish.operators.async_settings": ("AsyncStatistics",),
            "flinkish.operators.async_wait": ("AsyncWaitOperator",),
            "flinkish.operators.base": (
                "BatchOutput",
                "LifeCycle",
                "OperatorEnvironment",
                "Output",
                "StreamOperator",
                "SupportsSoftBackpressure",
            ),
            "flinkish.operators.broadcast": (
                "CoBroadcastWithKeyedOperator",
                "CoBroadcastWithNonKeyedOperator",
            ),
            "flinkish.operators.co_process": (
                "CoProcessOperator",
                "CoStreamFlatMap",
                "CoStreamMap",
            ),
            "flinkish.operators.interval_join": ("IntervalJoinOperator",),
            "flinkish.operators.keyed": ("KeyedOperator",),
            "flinkish.operators.keyed_process": (
                "KeyedProcessOperator",
                "StreamGroupedReduceOperator",
            ),
            "flinkish.operators.process": (
                "ProcessOperator",
                "StreamFilter",
                "StreamFlatMap",
                "StreamMap",
            ),
            "flinkish.operators.runtime_context": ("KeyedRuntimeContext", "TaskRuntimeContext"),
            "flinkish.operators.snapshot": ("OperatorSnapshot",),
            "flinkish.operators.two_input": ("KeyedCoProcessOperator", "KeyedTwoInputOperator"),
            "flinkish.operators.vector_operator": ("ColumnOutput", "VectorWindowOperator"),
            "flinkish.operators.window": ("WindowOperator", "WindowOperatorBuilder"),
        },
    )

__all__ = [
    "AsyncBatchWaitOperator",
    "AsyncStatistics",
    "AsyncWaitOperator",
    "BatchOutput",
    "CoBroadcastWithKeyedOperator",
    "CoBroadcastWithNonKeyedOperator",
    "CoProcessOperator",
    "CoStreamFlatMap",
    "CoStreamMap",
    "ColumnOutput",
    "IntervalJoinOperator",
    "KeyedCoProcessOperator",
    "KeyedOperator",
    "KeyedProcessOperator",
    "KeyedRuntimeContext",
    "KeyedTwoInputOperator",
    "LifeCycle",
    "OperatorEnvironment",
    "OperatorSnapshot",
    "Output",
    "ProcessOperator",
    "StreamFilter",
    "StreamFlatMap",
    "StreamGroupedReduceOperator",
    "StreamMap",
    "StreamOperator",
    "SupportsSoftBackpressure",
    "TaskRuntimeContext",
    "VectorWindowOperator",
    "WindowOperator",
    "WindowOperatorBuilder",
]
