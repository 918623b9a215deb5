"""Functions that fail, each in a way of its own."""

from typing import Any

from flinkish.datastream.functions import KeyedProcessFunction


def helped(n: int) -> int:
    return 1 // n


class Divides(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value.key, helped(value.n)


class Misfits(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value.key, "seven"


class Unopened(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        raise OSError("no such service")

    def process_element(self, value: Any, ctx: Any) -> Any:
        raise AssertionError
