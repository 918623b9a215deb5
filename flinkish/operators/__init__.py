"""Operators: what runs user functions, element by element or batch by batch.

Owns: the operators' life cycle, keyed and unkeyed process operators, joins, asynchronous ones
and the event loop they share, runtime contexts, snapshots.
Uses: ``_core``, ``common``, ``metrics``, ``mailbox``, ``time``, ``state``, ``functions``,
``windowing``.
Must not: know Spark, tasks or harnesses, or start a thread other than those of asynchronous calls.
"""

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
from flinkish.operators.grouped_reduce import StreamGroupedReduceOperator
from flinkish.operators.interval_join import IntervalJoinOperator
from flinkish.operators.keyed import KeyedOperator
from flinkish.operators.keyed_process import KeyedProcessOperator
from flinkish.operators.process import ProcessOperator
from flinkish.operators.runtime_context import KeyedRuntimeContext, TaskRuntimeContext
from flinkish.operators.snapshot import OperatorSnapshot
from flinkish.operators.two_input import KeyedCoProcessOperator, KeyedTwoInputOperator
from flinkish.operators.vector_operator import ColumnOutput, VectorWindowOperator
from flinkish.operators.window import WindowOperator, WindowOperatorBuilder

__all__ = [
    "AsyncBatchWaitOperator",
    "AsyncStatistics",
    "AsyncWaitOperator",
    "BatchOutput",
    "CoBroadcastWithKeyedOperator",
    "CoBroadcastWithNonKeyedOperator",
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
    "StreamGroupedReduceOperator",
    "StreamOperator",
    "SupportsSoftBackpressure",
    "TaskRuntimeContext",
    "VectorWindowOperator",
    "WindowOperator",
    "WindowOperatorBuilder",
]
