"""An operator with two inputs under a test's control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from flinkish.common.elements import Watermark
from flinkish.common.errors import ArgumentTypeError
from flinkish.functions.base import KeySelector
from flinkish.operators.base import StreamOperator
from flinkish.operators.two_input import KeyedTwoInputOperator
from flinkish.testing.harness import (
    KeyedOneInputStreamOperatorTestHarness,
    OneInputStreamOperatorTestHarness,
    record_of,
    watermark_of,
)
from flinkish.time.key_groups import KeyType

__all__ = ["KeyedTwoInputStreamOperatorTestHarness", "TwoInputStreamOperatorTestHarness"]

O = TypeVar("O", bound=StreamOperator)  # noqa: E741 - an operator


class TwoInputStreamOperatorTestHarness(OneInputStreamOperatorTestHarness[O]):
    """Runs an operator with two inputs, none of which has keys.

    All is as with one input, but that elements and watermarks come in by number.
    """

    operator: Any

    def process_element1(self, value: Any, timestamp: int | None = None) -> None:
        """Give the first input a value with its time in ms, or a StreamRecord."""
        self.operator.process_element1(record_of(value, timestamp))

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """Give the second input a value with its time in ms, or a StreamRecord."""
        self.operator.process_element2(record_of(value, timestamp))

    def process_watermark1(self, watermark: int | Watermark) -> None:
        """Give the first input a watermark, in ms."""
        self.operator.process_watermark1(watermark_of(watermark))

    def process_watermark2(self, watermark: int | Watermark) -> None:
        """Give the second input a watermark, in ms."""
        self.operator.process_watermark2(watermark_of(watermark))

    def process_both_watermarks(self, watermark: int | Watermark) -> None:
        """Give both inputs a watermark, in ms."""
        self.process_watermark1(watermark)
        self.process_watermark2(watermark)


class KeyedTwoInputStreamOperatorTestHarness(
    TwoInputStreamOperatorTestHarness[O], KeyedOneInputStreamOperatorTestHarness[O]
):
    """Runs a keyed operator with two inputs.

    ``key_selector1`` and ``key_selector2`` say the keys of the two; a broadcast input has none
    (None).
    """

    def __init__(
        self,
        operator: O,
        key_selector1: Callable[[Any], Any] | KeySelector,
        key_selector2: Callable[[Any], Any] | KeySelector | None,
        key_type: KeyType = None,
        max_parallelism: int = 128,
        num_subtasks: int = 1,
        subtask_index: int = 0,
        *,
        job_parameters: Mapping[str, str] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> None:
        if not isinstance(operator, KeyedTwoInputOperator):
            raise ArgumentTypeError(
                f"this harness runs a keyed operator with two inputs, not {operator!r}; a function "
                "needs one around it: KeyedCoProcessOperator(function)"
            )
        super().__init__(
            operator,
            key_selector1,
            key_type,
            max_parallelism,
            num_subtasks,
            subtask_index,
            key_selector2=key_selector2,
            job_parameters=job_parameters,
            is_cancelled=is_cancelled,
        )
