"""Operators that the tests run as tasks on DataFrames; importable, as a user's are."""

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from flinkish.common import OutputTag
from flinkish.common.elements import StreamRecord
from flinkish.common.typeinfo import Types
from flinkish.functions import KeyedProcessFunction, ProcessFunction
from flinkish.operators import StreamOperator
from flinkish.state import ValueStateDescriptor

NUMBERS = pa.schema([("n", pa.int64())])
ODD = OutputTag("odd", "n bigint, text string")


class Identity(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


class Split(ProcessFunction):
    """Odd numbers go aside."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value.n % 2:
            yield ODD, (value.n, f"odd {value.n}")
        else:
            yield (value.n,)


class FailsAt(ProcessFunction):
    def __init__(self, at: int) -> None:
        self.at = at

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value.n == self.at:
            raise ValueError(f"cannot stand {self.at}")
        yield value


class KillsItself(ProcessFunction):
    """Kills its process at a number, unless a file is there, which it makes first."""

    def __init__(self, at: int, file: str) -> None:
        self.at, self.file = at, file

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        if value.n == self.at and not os.path.exists(self.file):
            open(self.file, "x").close()
            os.kill(os.getpid(), 9)
        yield value


class Marks(Identity):
    """Says in a directory which process it was opened in, and closed in."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def open(self, runtime_context: Any) -> None:
        open(f"{self.directory}/{os.getpid()}.opened", "a").close()

    def close(self) -> None:
        open(f"{self.directory}/{os.getpid()}.closed", "a").close()


class Count(KeyedProcessFunction):
    """How many rows a key has had; its number of rows once more at the end of event time."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), self.count.value()


class Life(StreamOperator):
    """Emits nothing, and keeps what happened to it in ``events``."""

    def __init__(self, events: list[str]) -> None:
        super().__init__()
        self.events = events

    def open(self) -> None:
        super().open()
        self.events.append("open")

    def process_element(self, record: StreamRecord) -> None:
        self.events.append(f"row {record.value.n}")

    def end_input(self) -> None:
        super().end_input()
        self.events.append("end_input")

    def finish(self) -> None:
        super().finish()
        self.events.append("finish")

    def close(self) -> None:
        super().close()
        self.events.append("close")


class Heart(StreamOperator):
    """Emits 1, 2, 3, ... every ``period`` ms of processing time, whatever comes in."""

    def __init__(self, period: int) -> None:
        super().__init__()
        self.period = period
        self.beats = 0

    def open(self) -> None:
        super().open()
        service = self.environment.processing_time_service
        assert service is not None
        service.schedule_at_fixed_rate(self.beat, self.period, self.period)

    def beat(self, timestamp: int) -> None:
        self.beats += 1
        self.output.emit(StreamRecord((self.beats,)))

    def process_element(self, record: StreamRecord) -> None:
        """Nothing comes of it."""


class Later(StreamOperator):
    """Gives each row back from another thread, ``delay`` seconds later; takes 16 at once."""

    CAPACITY = 16

    def __init__(self, delay: float) -> None:
        super().__init__()
        self.delay = delay
        self.pending = 0

    def open(self) -> None:
        super().open()
        self.pool = ThreadPoolExecutor(4)

    def process_element(self, record: StreamRecord) -> None:
        executor = self.environment.mailbox_executor
        assert executor is not None
        while self.pending >= self.CAPACITY:
            executor.yield_()
        self.pending += 1

        def wait() -> None:
            time.sleep(self.delay)
            executor.execute(lambda: self.done(record), "row is done")

        self.pool.submit(wait)

    def done(self, record: StreamRecord) -> None:
        self.pending -= 1
        self.output.emit(record)

    def end_input(self) -> None:
        super().end_input()
        executor = self.environment.mailbox_executor
        assert executor is not None
        while self.pending:
            executor.yield_()

    def close(self) -> None:
        super().close()
        if hasattr(self, "pool"):
            self.pool.shutdown()


class Threads(StreamOperator):
    """At its end it says which process it ran in, and how many threads that has."""

    def process_element(self, record: StreamRecord) -> None:
        self.environment.processing_time_service.register_timer(0, lambda at: None)  # type: ignore[union-attr]

    def finish(self) -> None:
        super().finish()
        self.output.emit(StreamRecord((os.getpid(), threading.active_count())))
