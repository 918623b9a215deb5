"""What users subclass: abstract where something is needed, silent where not."""

import inspect
import pickle
from typing import Any

import pytest

from flinkish import functions
from flinkish.functions import (
    AggregateFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
)
from flinkish.time.domain import TimeDomain
from flinkish.time.timer_service import TimerService

# PyFlink 2.3: class, its abstract methods, and parameters besides self
NEEDED: dict[type[Function], dict[str, list[str]]] = {
    MapFunction: {"map": ["value"]},
    FlatMapFunction: {"flat_map": ["value"]},
    FilterFunction: {"filter": ["value"]},
    ReduceFunction: {"reduce": ["value1", "value2"]},
    KeySelector: {"get_key": ["value"]},
    AggregateFunction: {
        "create_accumulator": [],
        "add": ["value", "accumulator"],
        "get_result": ["accumulator"],
        "merge": ["acc_a", "acc_b"],
    },
    ProcessFunction: {"process_element": ["value", "ctx"]},
    KeyedProcessFunction: {"process_element": ["value", "ctx"]},
    CoProcessFunction: {"process_element1": ["value", "ctx"], "process_element2": ["value", "ctx"]},
    KeyedCoProcessFunction: {
        "process_element1": ["value", "ctx"],
        "process_element2": ["value", "ctx"],
    },
}


class Echo(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        yield value


@pytest.mark.parametrize("kind", NEEDED, ids=lambda kind: kind.__name__)
def test_methods_and_parameters_are_pyflinks(kind: type[Function]) -> None:
    assert kind.__abstractmethods__ == set(NEEDED[kind])
    for method, parameters in NEEDED[kind].items():
        assert list(inspect.signature(getattr(kind, method)).parameters) == ["self", *parameters]
    with pytest.raises(TypeError, match="abstract"):
        kind()
    assert issubclass(kind, Function)


def test_open_close_and_on_timer_need_not_be_there() -> None:
    echo = Echo()
    echo.open(None)  # type: ignore[arg-type]
    assert echo.on_timer(5, None) is None  # type: ignore[arg-type]
    echo.close()
    assert isinstance(pickle.loads(pickle.dumps(echo)), Echo)


@pytest.mark.parametrize("kind", [KeyedProcessFunction, KeyedCoProcessFunction])
def test_keyed_contexts(kind: Any) -> None:
    needed = {"get_current_key", "timer_service", "timestamp"}
    assert kind.Context.__abstractmethods__ == needed
    assert kind.OnTimerContext.__abstractmethods__ == {*needed, "time_domain"}
    assert issubclass(kind.OnTimerContext, kind.Context)


@pytest.mark.parametrize("kind", [ProcessFunction, CoProcessFunction])
def test_contexts_without_keys(kind: Any) -> None:
    assert kind.Context.__abstractmethods__ == {"timer_service", "timestamp"}


def test_compiled_contexts_can_be_registered() -> None:
    class Compiled:
        pass

    KeyedProcessFunction.OnTimerContext.register(Compiled)
    assert isinstance(Compiled(), KeyedProcessFunction.Context)


def test_the_runtime_context() -> None:
    assert RuntimeContext.__abstractmethods__ == {
        "get_aggregating_state",
        "get_attempt_number",
        "get_index_of_this_subtask",
        "get_job_parameter",
        "get_list_state",
        "get_map_state",
        "get_max_number_of_parallel_subtasks",
        "get_metrics_group",
        "get_number_of_parallel_subtasks",
        "get_reducing_state",
        "get_state",
        "get_task_name",
        "get_task_name_with_subtasks",
    }


def test_timers() -> None:
    assert TimerService.__abstractmethods__ == {
        "current_processing_time",
        "current_watermark",
        "delete_event_time_timer",
        "delete_processing_time_timer",
        "register_event_time_timer",
        "register_processing_time_timer",
    }
    assert [(one.name, one.value) for one in TimeDomain] == [
        ("EVENT_TIME", 0),
        ("PROCESSING_TIME", 1),
    ]


def test_everything_is_said_to_be_there() -> None:
    for name in functions.__all__:
        assert getattr(functions, name).__doc__
