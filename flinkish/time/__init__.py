"""Time: whose timers fire when, and which subtask owns which keys.

Owns: key-group arithmetic.
Uses: ``_core`` for hashes, ``common`` for errors and types.
Must not: know operators, user functions or Spark.
"""

from flinkish.time.key_groups import (
    KeyGroupRange,
    assign_to_key_group,
    assign_to_key_groups,
    compute_key_group_range_for_operator_index,
    compute_operator_index_for_key_group,
    default_max_parallelism,
)

__all__ = [
    "KeyGroupRange",
    "assign_to_key_group",
    "assign_to_key_groups",
    "compute_key_group_range_for_operator_index",
    "compute_operator_index_for_key_group",
    "default_max_parallelism",
]
