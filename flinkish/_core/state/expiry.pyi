"""Time to live of states."""

from flinkish._core.state.table import StateTable

def sweep(table: StateTable, expiries: list[tuple[int, bool, int]]) -> int: ...
