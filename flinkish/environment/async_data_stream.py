"""Asynchronous calls for the elements of a stream."""

from __future__ import annotations

from typing import Any

from flinkish.common.durations import DurationLike
from flinkish.common.typeinfo import TypeInformation
from flinkish.environment.streams import DataStream
from flinkish.functions import AsyncRetryStrategy

__all__ = ["AsyncDataStream"]


class AsyncDataStream:
    """Many calls of an AsyncFunction at a time; results keep the event time of their elements.

    A stream may also be one of `flinkish.spark`, which `flinkish.spark.AsyncDataStream` takes.
    ``timeout`` is that of a call with all its attempts; ``capacity`` is how many elements of a
    task may be under way.
    """

    @staticmethod
    def unordered_wait(
        data_stream: Any,
        async_function: Any,
        timeout: DurationLike,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> Any:
        """Results as they come."""
        return _wait("unordered_wait", data_stream, async_function, timeout, capacity, output_type)

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: Any,
        async_function: Any,
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> Any:
        """Results as they come, of several attempts if need be."""
        given = (async_function, timeout, async_retry_strategy, capacity, output_type)
        return _wait("unordered_wait_with_retry", data_stream, *given)

    @staticmethod
    def ordered_wait(
        data_stream: Any,
        async_function: Any,
        timeout: DurationLike,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> Any:
        """Results in the order of the elements of a task."""
        return _wait("ordered_wait", data_stream, async_function, timeout, capacity, output_type)

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: Any,
        async_function: Any,
        timeout: DurationLike,
        async_retry_strategy: AsyncRetryStrategy,
        capacity: int = 100,
        output_type: TypeInformation | None = None,
    ) -> Any:
        """Results in the order of the elements of a task, of several attempts if need be."""
        given = (async_function, timeout, async_retry_strategy, capacity, output_type)
        return _wait("ordered_wait_with_retry", data_stream, *given)


def _wait(method: str, stream: Any, *given: Any) -> Any:
    def build(one: Any) -> Any:
        from flinkish.spark.streams.asynchronous import AsyncDataStream as OnSpark

        return getattr(OnSpark, method)(one, *given)

    if not isinstance(stream, DataStream):
        return build(stream)
    made = stream._after("Async Wait", build, given[-1])
    made._node.reads_twice = True
    return made
