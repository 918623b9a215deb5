"""Key groups: the units in which keys, their state and their timers are spread over subtasks.

A key belongs to one of ``max_parallelism`` key groups for good, and each subtask owns a range
of them that depends on the parallelism; so a job may restart with another parallelism, but
never with another maximum.  Flink's class is KeyGroupRangeAssignment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from flinkish._core.keys import key_groups as _floor
from flinkish._core.keys.key_groups import MissingKeyError
from flinkish.common.errors import (
    ArgumentTypeError,
    FlinkishError,
    IllegalArgumentError,
    NullKeyError,
)
from flinkish.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DecimalTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "DEFAULT_LOWER_BOUND_MAX_PARALLELISM",
    "UPPER_BOUND_MAX_PARALLELISM",
    "KeyGroupRange",
    "KeyType",
    "assign_to_key_group",
    "assign_to_key_groups",
    "compute_key_group_range_for_operator_index",
    "compute_operator_index_for_key_group",
    "default_max_parallelism",
    "floor_key_type",
]

DEFAULT_LOWER_BOUND_MAX_PARALLELISM = 128
UPPER_BOUND_MAX_PARALLELISM = 1 << 15

KeyType: TypeAlias = TypeInformation | str | Sequence[Any] | None
"""The Java type of a key: ``Types.LONG()``, a name such as ``"long"``, ``"int"``
or Spark's ``"bigint"``, a tuple or list of these for a tuple key, or None.  ``"int|long"`` is an
int where 32 bits hold the value, else a long: keys that were ints before they were longs."""

FloorKeyType: TypeAlias = "str | list[FloorKeyType] | None"


@dataclass(frozen=True, slots=True)
class KeyGroupRange:
    """The key groups from ``start_key_group`` to ``end_key_group``, both included.

    Iterable, in ascending order; ``len`` is the number of key groups.  Only the empty range,
    which :meth:`of` returns for a start after the end, may end before it starts.

    Raises:
        IllegalArgumentError: a negative start, or an end before it.
    """

    start_key_group: int
    end_key_group: int

    def __post_init__(self) -> None:
        start, end = self.start_key_group, self.end_key_group
        if start < 0 or (end < start and (start, end) != (0, -1)):
            raise IllegalArgumentError(
                f"the key groups {start} to {end} are no range: the start must not be negative "
                "or after the end (KeyGroupRange.of gives an empty range for that)"
            )

    @classmethod
    def of(cls, start_key_group: int, end_key_group: int) -> KeyGroupRange:
        """The range from start to end, or the empty range if the end is before the start."""
        if end_key_group < start_key_group:
            return cls(0, -1)
        return cls(start_key_group, end_key_group)

    def intersection(self, other: KeyGroupRange) -> KeyGroupRange:
        """The key groups that are in both ranges."""
        return KeyGroupRange.of(
            max(self.start_key_group, other.start_key_group),
            min(self.end_key_group, other.end_key_group),
        )

    def __contains__(self, key_group: object) -> bool:
        return key_group in range(self.start_key_group, self.end_key_group + 1)

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start_key_group, self.end_key_group + 1))

    def __len__(self) -> int:
        return self.end_key_group - self.start_key_group + 1

    def __str__(self) -> str:
        return f"[{self.start_key_group}, {self.end_key_group}]" if self else "[]"


def floor_key_type(key_type: KeyType) -> FloorKeyType:
    """The key type as ``flinkish._core.keys.key_groups`` takes it; pickled objects are untyped."""
    if key_type is None or isinstance(key_type, str):
        return key_type
    if isinstance(key_type, (RowTypeInfo, TupleTypeInfo)):
        return [floor_key_type(field) for field in key_type.get_field_types()]
    if isinstance(key_type, PickledBytesTypeInfo):
        return None
    if isinstance(key_type, DecimalTypeInfo) or key_type == BasicTypeInfo(BasicType.BIG_DEC):
        return "decimal"
    if isinstance(key_type, BasicTypeInfo) and key_type.basic_type is BasicType.BIG_INT:
        raise IllegalArgumentError(
            "BIG_INT cannot be the type of a key; use LONG, or make the key a string"
        )
    if isinstance(key_type, TypeInformation):
        return key_type.to_ddl()
    if isinstance(key_type, (tuple, list)):
        return [floor_key_type(field) for field in key_type]
    raise ArgumentTypeError(
        f"the key type is of type {type(key_type).__name__}: {key_type!r:.200}; needed are "
        "Types.…(), a name such as 'long', or a tuple of these"
    )


def _raised(error: TypeError | ValueError, value: Any) -> FlinkishError:
    """The error of the floor, as one of ours."""
    if isinstance(error, MissingKeyError):
        column = None if error.column is None else str(error.column)
        return NullKeyError(str(error), value=value, column=column)
    if isinstance(error, TypeError):
        return ArgumentTypeError(str(error))
    return IllegalArgumentError(str(error))


def assign_to_key_group(key: Any, max_parallelism: int, key_type: KeyType = None) -> int:
    """The key group of a key: murmur of its Java hash code, modulo ``max_parallelism``.

    As in Flink's KeyGroupRangeAssignment.  An untyped int is hashed as Integer if 32 bits hold it,
    else as Long, which differs for negative numbers: give the type where Flink (or a Spark column)
    has one.

    Raises:
        NullKeyError: the key, or a field of a tuple key, is None.
        ArgumentTypeError: the key's type has no Java hash, or contradicts ``key_type``.
        IllegalArgumentError: a number that does not fit, an unknown key type, or a
            ``max_parallelism`` that is not from 1 to 32768.
    """
    try:
        return _floor.assign_to_key_group(key, max_parallelism, floor_key_type(key_type))
    except (TypeError, ValueError) as error:
        raise _raised(error, key) from None


def assign_to_key_groups(
    columns: Any,
    max_parallelism: int,
    key_types: KeyType = None,
    *,
    nulls: Literal["error", "mark"] = "error",
    names: Sequence[str] | None = None,
) -> npt.NDArray[np.int32]:
    """The key group of every row of a column, as int32 of shape (rows,).

    ``columns`` is an Arrow array or chunked array, a one-dimensional NumPy array, or a list of
    such columns (or a pyarrow RecordBatch or Table), whose rows are then tuple keys.  The type
    of a column decides, as a key type does for one key; ``key_types``, one for each column, may
    make int of long and long of int.  ``names`` are the columns' names in errors.  A row whose
    key is null is an error, or with ``nulls="mark"`` has the key group -1.

    Raises:
        NullKeyError: names the column, the first row and the number of nulls.
        ArgumentTypeError: a column whose type has no Java hash.
        IllegalArgumentError: as for one key, and columns of different lengths.
    """
    try:
        types = floor_key_type(key_types)
        return _floor.assign_to_key_groups(
            columns,
            max_parallelism,
            types,  # type: ignore[arg-type]  # the floor refuses what is nested
            nulls=nulls,
            names=names,
        )
    except (TypeError, ValueError) as error:
        if isinstance(error, FlinkishError):
            raise
        raise _raised(error, None) from None


def _checked(name: str, value: int, low: int, high: int) -> int:
    """``value`` if it is an int from ``low`` to ``high``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ArgumentTypeError(f"{name} is {value!r}, but must be an int")
    if not low <= value <= high:
        raise IllegalArgumentError(f"{name} is {value}, but must be from {low} to {high}")
    return int(value)


def _checked_parallelism(max_parallelism: int, parallelism: int) -> tuple[int, int]:
    """Both, if they are in bounds and the first is not the smaller one."""
    limit = _checked("max_parallelism", max_parallelism, 1, UPPER_BOUND_MAX_PARALLELISM)
    subtasks = _checked("parallelism", parallelism, 1, UPPER_BOUND_MAX_PARALLELISM)
    if limit < subtasks:
        raise IllegalArgumentError(
            f"max_parallelism is {limit}, which must not be smaller than the parallelism, "
            f"{subtasks}"
        )
    return limit, subtasks


def compute_operator_index_for_key_group(
    max_parallelism: int, parallelism: int, key_group: int
) -> int:
    """The index of the subtask, of ``parallelism``, that owns a key group."""
    limit, subtasks = _checked_parallelism(max_parallelism, parallelism)
    return _checked("key_group", key_group, 0, limit - 1) * subtasks // limit


def compute_key_group_range_for_operator_index(
    max_parallelism: int, parallelism: int, operator_index: int
) -> KeyGroupRange:
    """The key groups that a subtask owns.

    The ranges of all subtasks lie end to end, without gap or overlap, and their lengths differ
    by one at most.
    """
    limit, subtasks = _checked_parallelism(max_parallelism, parallelism)
    index = _checked("operator_index", operator_index, 0, subtasks - 1)
    start = (index * limit + subtasks - 1) // subtasks
    end = ((index + 1) * limit - 1) // subtasks
    return KeyGroupRange(start, end)


def default_max_parallelism(parallelism: int) -> int:
    """The maximum parallelism of a job that does not set one.

    The power of two at or above one and a half times the parallelism, at least 128 and at most
    32768.
    """
    parallelism = _checked("parallelism", parallelism, 1, UPPER_BOUND_MAX_PARALLELISM)
    wanted = 1 << (parallelism + parallelism // 2 - 1).bit_length()
    return min(max(wanted, DEFAULT_LOWER_BOUND_MAX_PARALLELISM), UPPER_BOUND_MAX_PARALLELISM)
