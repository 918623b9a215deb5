"""Functions whose output is the names of the modules that their worker has loaded.

This module imports what a module of user functions would, and nothing of the tests.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from flinkish.datastream import KeyedProcessFunction, ProcessWindowFunction, RuntimeContext

Loaded = tuple[str, str]


def loaded() -> Loaded:
    """What the environment says of the worker, and its modules."""
    return os.environ.get("FRESH_WORKER", ""), " ".join(sorted(sys.modules))


class Keyed(KeyedProcessFunction):
    """One row for each row."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.metrics = runtime_context.get_metrics_group()

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Loaded]:
        assert isinstance(ctx, KeyedProcessFunction.Context)
        yield loaded()


class Windowed(ProcessWindowFunction):
    """One row for each window."""

    def process(
        self, key: Any, context: ProcessWindowFunction.Context, elements: Iterable[Any]
    ) -> Iterator[Loaded]:
        assert isinstance(context, ProcessWindowFunction.Context)
        yield loaded()


async def called(row: Any) -> list[Loaded]:
    """One row for each row."""
    return [loaded()]
