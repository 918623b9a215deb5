"""The inputs and outputs of a task: protocols, and the states of an input."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from flinkish.common.elements import StreamElement, StreamRecord
from flinkish.common.errors import ArgumentTypeError, UnsupportedOperationError
from flinkish.common.output_tag import OutputTag

__all__ = [
    "Available",
    "InputProcessor",
    "InputStatus",
    "OperatorOutput",
    "StopMode",
    "StreamTaskInput",
    "StreamTaskOutput",
]


class InputStatus(Enum):
    """The state of an input after a poll (Flink: StreamTask)."""

    MORE_AVAILABLE = "there is more right now"
    NOTHING_AVAILABLE = "there may be more later"
    END_OF_DATA = "no more elements come; everything is to be finished"
    STOPPED = "no more elements come for now; nothing is to be drained"
    END_OF_INPUT = "nothing comes any more"


class StopMode(Enum):
    """How data end: ``DRAIN`` fires what waits for the end of time, ``NO_DRAIN`` does not."""

    DRAIN = "drain"
    NO_DRAIN = "no drain"


class Available(Protocol):
    """The part of ``concurrent.futures.Future`` that a task needs of an availability future."""

    def done(self) -> bool:
        """Whether it is available by now."""
        ...

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Call ``fn(self)`` once it is available, at once if it is; on any thread."""
        ...


class InputProcessor(Protocol):
    """Processes some input whenever the task has nothing else to do."""

    def process_input(self) -> InputStatus:
        """Process a bounded amount of input, and say what there is next.  Never blocks."""
        ...

    def get_available_future(self) -> Available:
        """Done as soon as there is input, or its end; done already if there is."""
        ...


class StreamTaskInput(Protocol):
    """Elements, one by one."""

    def poll_next(self) -> StreamElement | InputStatus:
        """The next element, or a status where there is none.  Never blocks."""
        ...

    def get_available_future(self) -> Available:
        """Done as soon as ``poll_next`` has something, or its end; done already if it has."""
        ...


class StreamTaskOutput(Protocol):
    """Takes elements, and says when it would rather not.

    ``emit`` may come while it is not available, for what one element or timer yields is not cut.
    An output may also have ``emit_side(tag, record)``; ``flush()``, called when the task ends
    well; ``end_of_data(mode)``, called after the last element.  Where tasks wait for a final
    checkpoint, ``notify_end_of_data(mode)`` is called instead, barriers may follow, and
    ``end_of_data(mode)`` is called when the task ends.
    """

    def emit(self, element: StreamElement) -> None:
        """Take an element."""
        ...

    def is_available(self) -> bool:
        """Whether it wants more."""
        ...

    def get_available_future(self) -> Available:
        """Done as soon as it wants more; done already if it does."""
        ...


@runtime_checkable
class _SideOutput(Protocol):
    def emit_side(self, tag: OutputTag, record: StreamRecord) -> None: ...


def _nowhere(element: StreamElement) -> None:
    """Drop elements that move time or checkpoints on; refuse a record, which would be lost."""
    if not isinstance(element, StreamRecord):
        return
    raise UnsupportedOperationError(
        f"{element!r} was emitted by a task without an output: give the task one"
    )


class OperatorOutput:
    """A task's output as its operator sees it."""

    __slots__ = ("_side", "emit")

    def __init__(self, output: StreamTaskOutput | None) -> None:
        self.emit: Callable[[StreamElement], None] = _nowhere if output is None else output.emit
        self._side: _SideOutput | None = output if isinstance(output, _SideOutput) else None

    def emit_side(self, tag: OutputTag, record: StreamRecord) -> None:
        """Hand over a record of a side output, if the task's output knows such."""
        if self._side is None:
            raise UnsupportedOperationError(
                f"{record!r} was emitted to {tag!r}, and the output of the task has no side "
                "outputs: give it one with a method emit_side(tag, record)"
            )
        self._side.emit_side(tag, record)


def check_protocol(what: str, given: Any, methods: tuple[str, ...]) -> None:
    """ArgumentTypeError naming the methods that ``given`` lacks."""
    missing = [name for name in methods if not callable(getattr(given, name, None))]
    if isinstance(given, type) or missing:
        raise ArgumentTypeError(
            f"{what} needs the methods {', '.join(methods)}; {given!r} "
            + (f"has no {', '.join(missing)}" if missing else "is a class: make an instance")
        )
