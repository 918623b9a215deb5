"""Sinks: what becomes of the elements of a stream at the end of each round."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flinkish.common.errors import ArgumentTypeError
from flinkish.common.typeinfo import TypeInformation
from flinkish.environment.nodes import Act
from flinkish.environment.outputs import Invoke
from flinkish.environment.settled import Settled
from flinkish.environment.texts import print_prefix, text_of
from flinkish.functions.sink import SinkFunction

__all__ = ["DataStreamSink", "collect_sink", "function_sink", "print_sink"]


class DataStreamSink(Settled):
    """The end of a stream."""


def print_sink(
    identifier: str | None, kind: TypeInformation | None, tasks: Callable[[], int]
) -> Act:
    """Prints elements on the driver, as Flink's print does on its task managers.

    Those of a declared type have Java's texts, others Python's.
    """
    text = str if kind is None else text_of(kind)

    def act(this: Any, stream: Any) -> None:
        parallelism = tasks()
        for part, value in this.elements(stream):
            prefix = print_prefix(identifier, part % parallelism, parallelism)
            print(f"{prefix}{text(value)}", flush=True)

    return act


def function_sink(function: Any) -> Act:
    """Hands elements to a SinkFunction in the tasks that have them."""
    if not isinstance(function, SinkFunction):
        raise ArgumentTypeError(
            f"add_sink takes a SinkFunction with a method invoke(value, context), not {function!r}"
        )

    def act(this: Any, stream: Any) -> None:
        this.drain(stream.process(Invoke(function)))

    return act


def collect_sink(take: Callable[[Any], None]) -> Act:
    """Hands each element to a function of this process."""

    def act(this: Any, stream: Any) -> None:
        for _, value in this.elements(stream):
            take(value)

    return act
