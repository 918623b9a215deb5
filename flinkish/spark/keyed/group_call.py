"""One call of a key group: its state opened, its rows and timers handled, its state committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from flinkish.common.timestamps import MIN_TIMESTAMP
from flinkish.spark.keyed.group_state import GroupState, Head
from flinkish.spark.keyed.operator_run import OperatorRun
from flinkish.spark.keyed.plan import AFTER_WATERMARK, BEFORE_WATERMARK
from flinkish.spark.keyed.result_rows import Result

__all__ = ["Clock", "call_group"]


@dataclass(frozen=True)
class Clock:
    """The times (ms) of a call: the watermark before it and after it, and the time of the batch.

    ``seen`` None: the key group's head knows.
    """

    seen: int | None
    watermark: int
    now: int


def call_group(
    run: OperatorRun,
    state: GroupState,
    key_group: int,
    clock: Clock,
    before: Iterable[bytes],
    after: Iterable[bytes],
    timer_of: Callable[[Head | None], int | None],
) -> Iterator[Result]:
    """Handle payloads, move the watermark, handle payloads: the order of Flink's inputs.

    What comes out is yielded as it is made; state is committed after all of it, with the timer that
    ``timer_of`` the head before gives.  If Spark wants no more, it closes the iterator, and the
    state is thrown away as after a failure.
    """
    try:
        run.check()
        head = state.open(key_group)
        seen = clock.seen
        if seen is None:  # not known, nor needed unless there is an operator before this one
            seen = head.watermark if head else MIN_TIMESTAMP
        run.begin(key_group, seen, clock.now)
        yield from run.process(before, BEFORE_WATERMARK)
        yield from run.advance(clock.watermark, clock.now, BEFORE_WATERMARK)
        yield from run.take_outputs(BEFORE_WATERMARK)
        yield from run.process(after, AFTER_WATERMARK)
        yield from run.take_outputs(AFTER_WATERMARK)
        # The timer of dropped state is as good as any.
        state.commit(timer_of(head or state.dropped), clock.watermark)
    except BaseException as error:
        run.fail(error, key_group)
        state.abandon()
        raise
    run.counts.add(state.counters)
