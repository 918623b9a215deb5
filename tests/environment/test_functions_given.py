"""Functions that cannot be right are refused where they are given, not where the job runs."""

from typing import Any

import pytest

from flinkish.common.errors import ArgumentTypeError
from flinkish.common.typeinfo import Types
from flinkish.datastream import StreamExecutionEnvironment
from flinkish.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)


class Double(MapFunction):
    def map(self, value: Any) -> Any:
        return 2 * value


class Twice(FlatMapFunction):
    def flat_map(self, value: Any) -> Any:
        yield from (value, value)


class Odd(FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(value % 2)


class Sum(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1 + value2


class Plain(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


def streams() -> tuple[Any, Any]:
    stream = StreamExecutionEnvironment.get_execution_environment().from_collection(
        [1, 2], Types.INT()
    )
    return stream, stream.key_by(lambda value: value)


@pytest.mark.parametrize(
    ("method", "function"),
    [("map", Double), ("flat_map", Twice), ("filter", Odd), ("map", Twice), ("filter", Plain)],
)
def test_a_class_in_the_place_of_its_instance(method: str, function: type) -> None:
    for stream in streams():
        with pytest.raises(ArgumentTypeError, match=f"{function.__name__}: make an instance"):
            getattr(stream, method)(function)


def test_a_class_for_process_and_reduce() -> None:
    stream, keyed = streams()
    for given in (stream, keyed):
        with pytest.raises(ArgumentTypeError, match="make an instance"):
            given.process(Plain)
    with pytest.raises(ArgumentTypeError, match="Sum: make an instance"):
        keyed.reduce(Sum)


def test_a_class_that_makes_elements_is_a_function() -> None:
    for stream in streams():
        stream.map(str)
        stream.map(float, Types.DOUBLE())


def test_a_keyed_function_on_a_stream_without_keys() -> None:
    stream, keyed = streams()
    with pytest.raises(ArgumentTypeError, match=r"Keyed is a function of keyed streams.*key_by"):
        stream.process(Keyed())
    keyed.process(Keyed())
    stream.process(Plain())
