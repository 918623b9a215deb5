"""The compiled loop for a window operator: which shortcuts it may take, and what it calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.windows.elements.process import (
    AggregatedContents,
    ElementContents,
    MergingWindowedProcess,
    ReducedContents,
    WindowContents,
    WindowContext,
    WindowedProcess,
    WindowTriggerContext,
)
from flinkish.common.errors import UnsupportedOperationError
from flinkish.common.output_tag import OutputTag
from flinkish.functions.runtime_context import RuntimeContext
from flinkish.functions.window import (
    ProcessAllWindowFunction,
    ProcessWindowFunction,
)
from flinkish.operators.window_settings import AGGREGATE, ELEMENTS, REDUCE, WindowSettings
from flinkish.operators.window_stores import AssignerContext, MergingWindowStore, StateStore
from flinkish.state.backend import KeyedStateBackend, StateDeclaration
from flinkish.time.domain import TimeDomain
from flinkish.windowing import (
    CumulativeEventTimeWindows,
    CumulativeProcessingTimeWindows,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimestampedValue,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from flinkish.windowing.windows import namespaces_of

__all__ = ["make_window_engine", "window_namespaces"]

Trigger.TriggerContext.register(WindowTriggerContext)
Trigger.OnMergeContext.register(WindowTriggerContext)
Evictor.EvictorContext.register(WindowTriggerContext)
ProcessWindowFunction.Context.register(WindowContext)
ProcessAllWindowFunction.Context.register(WindowContext)

# As the enumerations of windows/elements/process.pxd number them.
_ASKED, _SLIDING, _CUMULATIVE, _SESSION = range(4)
_SPEAKS_ASKED, _SPEAKS_EVENT, _SPEAKS_PROCESSING = range(3)
_NOTHING, _PROCESS, _APPLY, _PROCESS_ALL, _APPLY_ALL = range(5)

_SHAPES: dict[type[WindowAssigner], int] = {
    TumblingEventTimeWindows: _SLIDING,
    TumblingProcessingTimeWindows: _SLIDING,
    SlidingEventTimeWindows: _SLIDING,
    SlidingProcessingTimeWindows: _SLIDING,
    CumulativeEventTimeWindows: _CUMULATIVE,
    CumulativeProcessingTimeWindows: _CUMULATIVE,
    EventTimeSessionWindows: _SESSION,
    ProcessingTimeSessionWindows: _SESSION,
}
_SESSIONS = (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
)
_SPEAKERS: dict[type[Trigger], int] = {
    EventTimeTrigger: _SPEAKS_EVENT,
    ProcessingTimeTrigger: _SPEAKS_PROCESSING,
}


@dataclass(frozen=True)
class _Plan:
    """The numbers that `WindowedProcess` reads."""

    shape: int
    event: bool
    size: int
    slide: int
    offset: int
    assign: Callable[..., Any]
    assigner_context: AssignerContext
    to_key: Callable[[Any], Any] | None
    from_key: Callable[[Any], Any] | None
    merge_windows: Callable[..., Any] | None
    speaks: int
    purging: bool
    trigger: Trigger
    lateness: int
    late_tag: OutputTag | None
    evictor: Evictor | None
    calls: int
    function: Callable[..., Any] | None
    clear_function: Callable[..., Any] | None
    results: tuple[TriggerResult, ...] = (
        TriggerResult.CONTINUE,
        TriggerResult.FIRE,
        TriggerResult.PURGE,
        TriggerResult.FIRE_AND_PURGE,
    )
    timestamped: type[TimestampedValue] = TimestampedValue
    unsupported: type[Exception] = UnsupportedOperationError


def window_namespaces(settings: WindowSettings) -> str:
    """The name of the namespaces of the state and timers of windows."""
    return namespaces_of(settings.assigner.get_window_serializer()).name


def make_window_engine(
    settings: WindowSettings,
    backend: KeyedStateBackend,
    timers: KeyedTimerService,
    runtime_context: RuntimeContext,
    *,
    names: Sequence[str] | None = None,
) -> WindowedProcess:
    """The loop that fills windows and fires them, over the table of a backend.

    With ``names`` every element is a Row with these field names; windows then keep their values
    only.
    """
    table = backend.table
    merging = settings.is_merging
    triggers = WindowTriggerContext(
        table, timers, backend.state, runtime_context.get_metrics_group()
    )
    windows = WindowContext(
        table,
        MergingWindowStore() if merging else StateStore(backend, of_key=False),
        StateStore(backend, of_key=True),
    )
    plan = _plan(settings, AssignerContext(table, runtime_context))
    arguments = (
        table,
        timers,
        OutputTag,
        TimeDomain.EVENT_TIME,
        TimeDomain.PROCESSING_TIME,
        _contents(settings, backend, names),
        triggers,
        windows,
        plan,
    )
    if not merging:
        return WindowedProcess(*arguments)
    return MergingWindowedProcess(
        *arguments, _cell(backend, "window-set", "set", window_namespaces(settings))
    )


def _contents(
    settings: WindowSettings, backend: KeyedStateBackend, names: Sequence[str] | None
) -> WindowContents:
    keeps = ELEMENTS if settings.evictor is not None else settings.keeps
    # A restart with other windows, or other rows in them, must not take these for those:
    # the windows are in the type, and so are the fields of rows, which are kept by position.
    what = "anything" if names is None else f"rows of {', '.join(names)}"
    where = "merging " if settings.is_merging else ""
    cell = _cell(
        backend, "window-contents", keeps, f"{what} in {where}{window_namespaces(settings)}"
    )
    if keeps == ELEMENTS:
        return ElementContents(backend.table, cell, names)
    if keeps == REDUCE:
        return ReducedContents(backend.table, cell, names, settings.fold.reduce)
    return AggregatedContents(backend.table, cell, names, settings.fold)


def _cell(backend: KeyedStateBackend, name: str, kind: str, type_name: str) -> int:
    (cell,) = backend.reconcile([StateDeclaration(name, kind, type_name, False)])
    return cell


def _plan(settings: WindowSettings, context: AssignerContext) -> _Plan:
    assigner, trigger = settings.assigner, settings.trigger
    serializer = assigner.get_window_serializer()
    of_time = type(serializer) is TimeWindowSerializer
    namespaces = None if of_time else namespaces_of(serializer)
    shape = _SHAPES.get(type(assigner), _ASKED) if of_time else _ASKED
    own_merge = None
    if settings.is_merging and type(assigner) not in _SESSIONS:
        own_merge = assigner.merge_windows  # type: ignore[attr-defined]
    speaks = _SPEAKERS.get(type(trigger), _SPEAKS_ASKED)
    purging = False
    if type(trigger) is PurgingTrigger and type(trigger.nested_trigger) in _SPEAKERS:
        speaks, purging = _SPEAKERS[type(trigger.nested_trigger)], True
    calls, function = _call(settings)
    return _Plan(
        shape=shape,
        event=assigner.is_event_time(),
        size=(assigner.gap if shape == _SESSION else assigner.size) or 0,
        slide=(assigner.step if shape == _CUMULATIVE else assigner.slide) or 0,
        offset=assigner.offset or 0 if shape != _ASKED else 0,
        assign=assigner.assign_windows,
        assigner_context=context,
        to_key=None if namespaces is None else namespaces.to_key,
        from_key=None if namespaces is None else namespaces.from_key,
        merge_windows=own_merge,
        speaks=speaks,
        purging=purging,
        trigger=trigger,
        lateness=settings.lateness,
        late_tag=settings.late_tag,
        evictor=settings.evictor,
        calls=calls,
        function=function,
        clear_function=_clear(settings.function),
    )


def _call(settings: WindowSettings) -> tuple[int, Callable[..., Any] | None]:
    """How the loop calls the window function, and with what it is given to."""
    function = settings.function
    calls = _NOTHING
    method: Callable[..., Any] | None = None
    if function is not None:
        method = getattr(function, settings.call)
        if settings.call == "process":
            calls = _PROCESS if settings.keyed else _PROCESS_ALL
        else:
            calls = _APPLY if settings.keyed else _APPLY_ALL
    if settings.evictor is None or settings.keeps == ELEMENTS:
        return calls, method
    # An evictor needs the elements, so they are folded when the window fires.
    fold = _folding(settings)
    if method is None:
        return _APPLY_ALL, lambda window, elements: fold(elements)
    call = method
    if settings.keyed:
        return calls, lambda key, about, elements: call(key, about, fold(elements))
    return calls, lambda about, elements: call(about, fold(elements))


def _folding(settings: WindowSettings) -> Callable[[Iterable[Any]], list[Any]]:
    """All elements of a firing to its one result, in a list."""
    fold = settings.fold
    if settings.keeps == AGGREGATE:

        def aggregate(elements: Iterable[Any]) -> list[Any]:
            held = fold.create_accumulator()
            for element in elements:
                held = fold.add(element, held)
            return [fold.get_result(held)]

        return aggregate

    def reduce(elements: Iterable[Any]) -> list[Any]:
        held = None
        for at, element in enumerate(elements):
            held = element if at == 0 else fold.reduce(held, element)
        return [held]

    return reduce


def _clear(function: Any) -> Callable[..., Any] | None:
    """The function's ``clear``, unless it is the one that does nothing."""
    clear = getattr(function, "clear", None)
    idle = (ProcessWindowFunction.clear, ProcessAllWindowFunction.clear)
    if not callable(clear) or getattr(type(function), "clear", None) in idle:
        return None
    found: Callable[..., Any] = clear
    return found
