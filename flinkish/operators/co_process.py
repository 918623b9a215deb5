"""Operators of functions of two streams without keys: they have no state and no timers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from flinkish.common.elements import StreamRecord, Watermark
from flinkish.common.errors import UnsupportedOperationError
from flinkish.functions.base import CoFlatMapFunction, CoMapFunction
from flinkish.functions.process import CoProcessFunction
from flinkish.operators.base import OperatorEnvironment, Output
from flinkish.operators.process import UnkeyedOperator
from flinkish.operators.two_input import CombinedWatermark

__all__ = ["CoProcessOperator", "CoStreamFlatMap", "CoStreamMap"]


class _UnkeyedTwoInputOperator(UnkeyedOperator):
    """Runs a function of two streams without keys; the watermark is the lower of both inputs'.

    ``methods`` are the function's for elements of the first input and of the second.
    """

    def setup(self, output: Output, environment: OperatorEnvironment | None = None) -> None:
        """Say where elements go and what surrounds the operator."""
        super().setup(output, environment)
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
        self._require_open(f"process_element{number}")
        method = self.methods[number - 1]
        self._run(method, record, lambda value: self._call(method, value))

    def _call(self, method: str, value: Any) -> Iterable[Any]:
        """The outputs of a method of the function for a value."""
        return self._values(method, value)

    def _advance(self, number: int, watermark: Watermark) -> None:
        self._require_open(f"process_watermark{number}")
        if self.watermark.update(number, watermark.timestamp):
            self.process_watermark(Watermark(self.watermark.current))

    def process_element(self, record: StreamRecord) -> NoReturn:
        """Refused: an element is of one input or of the other."""
        raise UnsupportedOperationError(
            f"{type(self).__name__} has two inputs, and process_element does not say which: use "
            "process_element1 or process_element2"
        )


class CoProcessOperator(_UnkeyedTwoInputOperator):
    """Runs a CoProcessFunction: two streams without keys, without state, without timers.

    Output carries the timestamp of its element.  Metric: ``numRecordsIn``.
    """

    kind = CoProcessFunction
    methods = ("process_element1", "process_element2")

    def _call(self, method: str, value: Any) -> Iterable[Any]:
        return self._values(method, value, self._context)


class CoStreamMap(_UnkeyedTwoInputOperator):
    """Runs a CoMapFunction: one value for each of either stream.

    Output carries the timestamp of its element.  Metric: ``numRecordsIn``.
    """

    kind = CoMapFunction
    methods = ("map1", "map2")

    def _call(self, method: str, value: Any) -> Iterable[Any]:
        return (getattr(self.function, method)(value),)


class CoStreamFlatMap(_UnkeyedTwoInputOperator):
    """Runs a CoFlatMapFunction: any number of values for each of either stream.

    Output carries the timestamp of its element.  Metric: ``numRecordsIn``.
    """

    kind = CoFlatMapFunction
    methods = ("flat_map1", "flat_map2")
