"""Key groups: Java's hash of a key, mixed by murmur3, modulo the maximum parallelism."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, final

import numpy as np
import numpy.typing as npt

@final
class KeyColumn:
    """One column of keys, for the floor."""

    def __new__(
        cls, column: object, key_type: str | None = None, name: str | int = 0
    ) -> KeyColumn: ...

class MissingKeyError(ValueError):
    column: str | int | None
    row: int | None
    count: int
    def __init__(
        self,
        message: str,
        column: str | int | None = None,
        row: int | None = None,
        count: int = 1,
    ) -> None: ...

_KeyType: TypeAlias = str | Sequence["_KeyType"] | None

def java_hash(key: object, key_type: _KeyType = None) -> int: ...
def murmur(code: int) -> int: ...
def assign_to_key_group(key: object, max_parallelism: int, key_type: _KeyType = None) -> int: ...
def assign_to_key_groups(
    columns: Any,
    max_parallelism: int,
    key_types: str | Sequence[str | None] | None = None,
    *,
    nulls: Literal["error", "mark"] = "error",
    names: Sequence[str] | None = None,
) -> npt.NDArray[np.int32]: ...
