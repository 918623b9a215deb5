"""A keyed process operator of one key group, around a function of the test."""

from collections.abc import Callable
from typing import Any

import numpy as np

from flinkish._core.operators.keyed_process import KeyedProcess, KeyedTimerService
from flinkish._core.state.keyed_state import ListCell, ValueCell
from flinkish._core.state.table import StateTable

EVENT, PROCESSING = "event", "processing"
LOWEST, HIGHEST = -(2**63), 2**63 - 1


class Tag:
    def __init__(self, name: str) -> None:
        self.name = name


class Harness:
    """One key group, one value state, and a function of the test."""

    def __init__(
        self,
        process_element: Callable[..., Any],
        on_timer: Callable[..., Any] | None = None,
        refusal: str | None = None,
    ) -> None:
        self.table = StateTable(0, tracking=True)
        self.table.add_cell("value")
        self.table.add_cell("list")
        self.value = ValueCell(self.table, 0, "value")
        self.list = ListCell(self.table, 1, "list")
        self.earlier: list[int] = []
        self.timers = KeyedTimerService(self.table, 0, self.earlier.append, refusal)
        self.process = KeyedProcess(
            self.table, self.timers, process_element, on_timer, Tag, EVENT, PROCESSING
        )

    def rows(self, keys: list[Any]) -> np.ndarray:
        rows = np.empty(len(keys), np.uint32)
        self.table.intern_objects(keys, None, rows)
        return rows

    def run(self, values: list[Any], keys: list[Any], times: list[int] | None = None) -> list[Any]:
        timestamps = None if times is None else np.array(times, np.int64)
        self.process.process_batch(values, self.rows(keys), timestamps)
        return self.process.take_output()[0]
