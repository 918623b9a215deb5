"""State of keys: what it is called, how long it lives, how functions reach it.

Owns: state descriptors, time to live, the interfaces of states.
Uses: ``common``, ``time``.
Must not: know the functions that use the state, or Spark that keeps it.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.state.api import (
        AggregatingState,
        AppendingState,
        BroadcastState,
        ListState,
        MapState,
        MergingState,
        ReadOnlyBroadcastState,
        ReducingState,
        State,
        ValueState,
    )
    from flinkish.state.descriptors import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        StateDescriptor,
        ValueStateDescriptor,
    )
    from flinkish.state.ttl import StateTtlConfig
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.state.api": (
                "AggregatingState",
                "AppendingState",
                "BroadcastState",
                "ListState",
                "MapState",
                "MergingState",
                "ReadOnlyBroadcastState",
                "ReducingState",
                "State",
                "ValueState",
            ),
            "flinkish.state.descriptors": (
                "AggregatingStateDescriptor",
                "ListStateDescriptor",
                "MapStateDescriptor",
                "ReducingStateDescriptor",
                "StateDescriptor",
                "ValueStateDescriptor",
            ),
            "flinkish.state.ttl": ("StateTtlConfig",),
        },
    )

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]
