"""Functions of keyed streams that see values alone: map, filter, reduce and its relatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from flinkish.functions import KeyedProcessFunction
from flinkish.operators.grouped_reduce import GroupedReduce
from flinkish.operators.keyed_functions import Accumulated, KeyedFilter, KeyedFlatMap, KeyedMap
from flinkish.spark.chains.steps import Step
from flinkish.spark.streams.options import KeyedOptions
from flinkish.spark.streams.rows import Output, StreamRows
from flinkish.spark.streams.windowed import Declared

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from flinkish.spark.streams.data_stream import ProcessedStream

__all__ = ["KeyedFunctions"]


class KeyedFunctions(ABC):
    """The functions that a keyed stream takes besides those of `process`.

    Functions may use the state of the current key, which ``open`` gets from its runtime context.
    Options are those of `process`; so are ``output_type`` and ``schema``.
    """

    _rows: StreamRows

    @abstractmethod
    def _run(
        self, function: KeyedProcessFunction, declared: Declared | Output, options: KeyedOptions
    ) -> ProcessedStream:
        """The outputs of a keyed process function."""

    def map(
        self,
        func: Any,
        output_type: Declared = None,
        *,
        schema: Declared = None,
        **options: Unpack[KeyedOptions],
    ) -> ProcessedStream:
        """One element for each, by a MapFunction or a function of one value."""
        Step.of("map", func)
        declared = schema if schema is not None else output_type
        return self._run(KeyedMap(func), declared, options)

    def flat_map(
        self,
        func: Any,
        output_type: Declared = None,
        *,
        schema: Declared = None,
        **options: Unpack[KeyedOptions],
    ) -> ProcessedStream:
        """Any number of elements for each, by a FlatMapFunction or a generator of one value."""
        Step.of("flat_map", func)
        declared = schema if schema is not None else output_type
        return self._run(KeyedFlatMap(func), declared, options)

    def filter(self, func: Any, **options: Unpack[KeyedOptions]) -> ProcessedStream:
        """The elements for which a FilterFunction, or a function of one value, gives True."""
        Step.of("filter", func)
        return self._run(KeyedFilter(func), self._rows.output, options)

    def reduce(
        self,
        func: Any,
        output_type: Declared = None,
        *,
        schema: Declared = None,
        **options: Unpack[KeyedOptions],
    ) -> ProcessedStream:
        """Reduce the elements of each key, by a ReduceFunction or a function of two values.

        Every element gives what those of its key so far were reduced to; over a batch DataFrame
        each key gives its last value alone, as in Flink's batch mode.  The output is of the type of
        the input unless another is declared.
        """
        declared = schema if schema is not None else output_type
        return self._run(
            GroupedReduce(func, only_last=not self._rows.streaming),
            self._rows.output if declared is None else declared,
            options,
        )

    def sum(
        self, position_to_sum: int | str = 0, **options: Unpack[KeyedOptions]
    ) -> ProcessedStream:
        """The key's first element with the sum of a field so far, for each element.

        The field is given by position, or for Rows by name; single values are added themselves.
        """
        return self.reduce(Accumulated("sum", position_to_sum), **options)

    def min(
        self, position_to_min: int | str = 0, **options: Unpack[KeyedOptions]
    ) -> ProcessedStream:
        """As `sum`, with the least of the field."""
        return self.reduce(Accumulated("min", position_to_min), **options)

    def max(
        self, position_to_max: int | str = 0, **options: Unpack[KeyedOptions]
    ) -> ProcessedStream:
        """As `sum`, with the highest of the field."""
        return self.reduce(Accumulated("max", position_to_max), **options)

    def min_by(
        self, position_to_min_by: int | str = 0, **options: Unpack[KeyedOptions]
    ) -> ProcessedStream:
        """The first element with the least of a field so far, for each element."""
        return self.reduce(Accumulated("min_by", position_to_min_by), **options)

    def max_by(
        self, position_to_max_by: int | str = 0, **options: Unpack[KeyedOptions]
    ) -> ProcessedStream:
        """The first element with the highest of a field so far, for each element."""
        return self.reduce(Accumulated("max_by", position_to_max_by), **options)
