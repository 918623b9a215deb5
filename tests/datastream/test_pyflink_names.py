"""PyFlink's classes are here, with its methods, its parameters, and what may be subscripted."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import new_class
from typing import Any

import pytest

from tests.datastream.pyflink_connectors import CONNECTORS
from tests.datastream.pyflink_names import API
from tests.datastream.pyflink_programs import PROGRAMS

METHODS = [
    (module, cls, method)
    for module, classes in (API | PROGRAMS | CONNECTORS).items()
    for cls, methods in classes.items()
    for method in methods.split("; ")
]

# Class to how many types it is subscripted with.
GENERIC = {
    "datastream.functions": (
        "AsyncFunction 2, AsyncRetryPredicate 1, AsyncRetryStrategy 1, WindowFunction 4, "
        "AllWindowFunction 3, ProcessWindowFunction 4, ProcessAllWindowFunction 3, "
        "ProcessWindowFunction.Context 1, ProcessAllWindowFunction.Context 1, "
        "BroadcastProcessFunction 3, KeyedBroadcastProcessFunction 4"
    ),
    "datastream.state": (
        "ValueState 1, ListState 1, MapState 2, AppendingState 2, MergingState 2, "
        "ReducingState 1, AggregatingState 2, ReadOnlyBroadcastState 2, BroadcastState 2"
    ),
    "datastream.window": (
        "WindowAssigner 2, MergingWindowAssigner 2, MergingWindowAssigner.MergeCallback 1, "
        "TumblingEventTimeWindows 1, TumblingProcessingTimeWindows 1, "
        "SlidingEventTimeWindows 1, SlidingProcessingTimeWindows 1, EventTimeSessionWindows 1, "
        "ProcessingTimeSessionWindows 1, DynamicEventTimeSessionWindows 1, "
        "DynamicProcessingTimeSessionWindows 1, GlobalWindows 1, CountTumblingWindowAssigner 1, "
        "CountSlidingWindowAssigner 1, Trigger 2, EventTimeTrigger 1, ProcessingTimeTrigger 1, "
        "ContinuousEventTimeTrigger 1, ContinuousProcessingTimeTrigger 1, NeverTrigger 1, "
        "PurgingTrigger 1, CountTrigger 1"
    ),
}
SUBSCRIPTS = [
    (module, *entry.split()) for module, all_of in GENERIC.items() for entry in all_of.split(", ")
]


def found(module: str, path: str) -> Any:
    thing: Any = import_module(f"flinkish.{module}")
    for name in path.split("."):
        thing = getattr(thing, name)
    return thing


def parameters_of(cls: type, method: str) -> list[str]:
    """The parameters besides self, from the stub of a compiled class."""
    try:
        parameters = list(inspect.signature(getattr(cls, method)).parameters.values())
        names = [
            {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
            for p in parameters
        ]
    except ValueError:
        names = []
    if not names or "*args" in names:
        package = Path(import_module("flinkish").__file__ or "").parent.parent
        stub = package.joinpath(*cls.__module__.split(".")).with_suffix(".pyi")
        if stub.exists():
            names = _in_stub(stub, cls.__name__, method)
    return [name for name in names if name not in ("self", "cls")]


def _in_stub(stub: Path, cls: str, method: str) -> list[str]:
    for node in ast.walk(ast.parse(stub.read_text())):
        if isinstance(node, ast.ClassDef) and node.name == cls:
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and part.name == method:
                    listed = [a.arg for a in (*part.args.posonlyargs, *part.args.args)]
                    listed += [f"*{part.args.vararg.arg}"] if part.args.vararg else []
                    return listed + ([f"**{part.args.kwarg.arg}"] if part.args.kwarg else [])
    return []


@pytest.mark.parametrize(("module", "cls", "method"), METHODS)
def test_a_method_is_as_in_pyflink(module: str, cls: str, method: str) -> None:
    name, listed = re.fullmatch(r"([\w.]+)(?:\((.*)\))?", method).groups()  # type: ignore[union-attr]
    assert found(module, f"{cls}.{name}") is not None
    if listed:
        wanted = listed.split(", ")
        assert parameters_of(found(module, cls), name)[: len(wanted)] == wanted


@pytest.mark.parametrize(("module", "cls", "count"), SUBSCRIPTS)
def test_a_generic_class_can_be_subscripted_and_subclassed(
    module: str, cls: str, count: str
) -> None:
    types = (int,) * int(count)
    subscripted = found(module, cls)[types if len(types) > 1 else types[0]]
    assert issubclass(new_class("Own", (subscripted,)), found(module, cls))
