"""Work at rows other than the current one."""

from collections.abc import Callable
from typing import Any

from flinkish._core.state.table import StateTable

def at_row(
    table: StateTable,
    key: object,
    key_group: int,
    namespace: object,
    function: Callable[..., Any],
    *args: Any,
) -> Any: ...
def visit_keys(table: StateTable, cell: int, function: Callable[[Any], object]) -> None: ...
