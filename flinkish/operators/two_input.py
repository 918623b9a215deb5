"""Keyed operators with two inputs that share the state and timers of a key."""

from __future__ import annotations

from typing import Any, NoReturn

from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import IllegalArgumentError, UnsupportedOperationError
from flinkish.common.methods import require_methods
from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.functions.process import KeyedCoProcessFunction
from flinkish.operators.base import OperatorEnvironment, Output
from flinkish.operators.keyed_engine import KeyedEngineOperator
from flinkish.operators.process_definitions import CoProcessDefinition

__all__ = ["CombinedWatermark", "KeyedCoProcessOperator", "KeyedTwoInputOperator"]


class CombinedWatermark:
    """The watermark of two inputs: the lower of the two, as long as that rises."""

    def __init__(self) -> None:
        self._inputs = [MIN_TIMESTAMP, MIN_TIMESTAMP]
        self.current = MIN_TIMESTAMP

    def update(self, number: int, watermark: int) -> bool:
        """Take the watermark (ms) of input 1 or 2; whether that of both has risen."""
        self._inputs[number - 1] = max(self._inputs[number - 1], watermark)
        lower = min(self._inputs)
        risen = lower > self.current
        self.current = lower
        return risen


class KeyedTwoInputOperator(KeyedEngineOperator):
    """A keyed operator with two inputs.

    Elements of both find the state and timers of their key; the environment's ``key_selector``
    says the keys of the first input, ``key_selector2`` those of the second.  The watermark is the
    lower of both inputs' (Flink: AbstractStreamOperator.processWatermark1 and 2).
    """

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where elements go and what surrounds it.

        IllegalArgumentError without a key selector for the second input.
        """
        super().setup(output, environment)
        second = self.environment.key_selector2
        if second is None:
            raise IllegalArgumentError(
                f"{type(self).__name__} has two inputs with keys; give the environment a "
                "key_selector2 that says the key of an element of the second"
            )
        self._selectors = (self._select, getattr(second, "get_key", second))
        self.watermark = CombinedWatermark()

    def process_element1(self, record: StreamRecord) -> None:
        """Hand over a record of the first input."""
        self._take(1, record)

    def process_element2(self, record: StreamRecord) -> None:
        """Hand over a record of the second input."""
        self._take(2, record)

    def process_watermark1(self, watermark: Watermark) -> None:
        """Take a watermark of the first input."""
        self._advance(1, watermark)

    def process_watermark2(self, watermark: Watermark) -> None:
        """Take a watermark of the second input."""
        self._advance(2, watermark)

    def _take(self, number: int, record: StreamRecord) -> None:
        self._select = self._selectors[number - 1]
        self.engine.input = number
        super().process_element(record)

    def _advance(self, number: int, watermark: Watermark) -> None:
        self._require_open(f"process_watermark{number}")
        if self.watermark.update(number, watermark.timestamp):
            self.process_watermark(Watermark(self.watermark.current))

    def process_element(self, record: StreamRecord) -> NoReturn:
        """Refused: an element is of one input or of the other."""
        self._refuse_one("process_element")

    def process_batch(self, values: Any, timestamps: Any = None, keys: Any = None) -> NoReturn:
        """Refuse: UnsupportedOperationError, for it does not say which input they are of."""
        self._refuse_one("process_batch")

    def _refuse_one(self, method: str) -> NoReturn:
        raise UnsupportedOperationError(
            f"{type(self).__name__} has two inputs, and {method} does not say which: use "
            "process_element1 or process_element2"
        )


class KeyedCoProcessOperator(KeyedTwoInputOperator):
    """Runs a KeyedCoProcessFunction, key by key.

    Output and watermarks as `KeyedProcessOperator`.
    """

    def __init__(self, function: KeyedCoProcessFunction) -> None:
        require_methods(
            function,
            ("process_element1", "process_element2", "on_timer", "open", "close"),
            f"{type(self).__name__} needs a KeyedCoProcessFunction",
        )
        super().__init__(CoProcessDefinition(function))
        self.function = function
