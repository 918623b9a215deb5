"""Streams in windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flinkish.common.durations import DurationLike
from flinkish.common.errors import ArgumentTypeError
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.windowing import Evictor, Trigger, WindowAssigner

if TYPE_CHECKING:
    from flinkish.environment.environment import StreamExecutionEnvironment
    from flinkish.environment.keyed import KeyedStream
    from flinkish.environment.streams import DataStream

__all__ = ["AllWindowedStream", "WindowedStream"]


class WindowedStream:
    """The elements of each key in windows; a function makes a stream of it again."""

    def __init__(self, stream: DataStream, window_assigner: WindowAssigner) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise ArgumentTypeError(
                f"windows are made by a WindowAssigner, such as TumblingEventTimeWindows.of(...), "
                f"not {window_assigner!r}"
            )
        self._stream = stream
        self._assigner = window_assigner
        self._settings: list[tuple[str, Any]] = []

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment that the program is of."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """The type of the elements that windows have."""
        return self._stream.get_type()

    # --- settings

    def trigger(self, trigger: Trigger) -> WindowedStream:
        """When windows fire, instead of the assigner's default."""
        return self._set("trigger", trigger)

    def evictor(self, evictor: Evictor) -> WindowedStream:
        """Which elements leave a window when it fires."""
        return self._set("evictor", evictor)

    def allowed_lateness(self, time_ms: DurationLike) -> WindowedStream:
        """How long after its end a window still takes elements."""
        return self._set("allowed_lateness", time_ms)

    def side_output_late_data(self, output_tag: OutputTag) -> WindowedStream:
        """Where elements go that are too late for all their windows."""
        return self._set("side_output_late_data", output_tag)

    def _set(self, method: str, value: Any) -> WindowedStream:
        self._settings.append((method, value))
        return self

    # --- functions

    def reduce(
        self,
        reduce_function: Any,
        window_function: Any = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Reduce elements as they come; ``window_function`` is called with the one result."""
        kind = output_type
        if kind is None and window_function is None:
            kind = self._stream._node.kind

        def build(windowed: Any) -> Any:
            return windowed.reduce(reduce_function, window_function, output_type)

        return self._made("Window Reduce", build, kind)

    def aggregate(
        self,
        aggregate_function: Any,
        window_function: Any = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Aggregate elements as they come; ``window_function`` is called with the one result."""

        def build(windowed: Any) -> Any:
            return windowed.aggregate(
                aggregate_function, window_function, accumulator_type, output_type
            )

        return self._made("Window Aggregate", build, output_type)

    def apply(self, window_function: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Call a WindowFunction with the elements of each window that fires."""

        def build(windowed: Any) -> Any:
            return windowed.apply(window_function, output_type)

        return self._made("Window Apply", build, output_type)

    def process(
        self, process_window_function: Any, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Call a ProcessWindowFunction with the elements of each window that fires."""

        def build(windowed: Any) -> Any:
            return windowed.process(process_window_function, output_type)

        return self._made("Window Process", build, output_type)

    def _made(
        self, name: str, build: Callable[[Any], Any], kind: TypeInformation | None
    ) -> DataStream:
        def made(stream: Any, **options: Any) -> Any:
            windowed = self._window(stream, options)
            for method, value in self._settings:
                windowed = getattr(windowed, method)(value)
            return build(windowed)

        stream = self._stream
        return stream._environment._stream(
            name, (stream._node,), build=made, kind=kind, keyed=True, timers=True
        )

    def _window(self, stream: Any, options: dict[str, Any]) -> Any:
        """The stream of `flinkish.spark` in windows."""
        keyed: KeyedStream = self._stream  # type: ignore[assignment]
        return keyed._with_keys(stream).window(self._assigner, **options)


class AllWindowedStream(WindowedStream):
    """All elements in windows, without keys."""

    def _window(self, stream: Any, options: dict[str, Any]) -> Any:
        options.pop("max_parallelism", None)
        return stream.window_all(self._assigner, **options)
