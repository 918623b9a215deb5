"""Windows with evictors, and windows that count: fact C.25."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from flinkish.functions import ProcessWindowFunction
from flinkish.operators import WindowOperatorBuilder as Builder
from flinkish.windowing import (
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    DeltaEvictor,
    Evictor,
    GlobalWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
)
from tests.operators.windowed import Elements, Gather, give, harness_of, records


def test_evictors_take_elements_out_for_good() -> None:
    """C.25."""
    builder = Builder(GlobalWindows.create()).trigger(CountTrigger.of(2))
    with harness_of(builder.evictor(CountEvictor.of(3)).process(Elements())) as h:
        give(h, *range(6))
        assert records(h) == [("k", 0, [0, 1]), ("k", 0, [1, 2, 3]), ("k", 0, [3, 4, 5])]


@pytest.mark.parametrize(
    ("evictor", "expected"),
    [
        (CountEvictor.of(1, True), [[0, 1], [1, 2, 3]]),
        (TimeEvictor.of(2), [[0, 1], [2, 3]]),
        (DeltaEvictor.of(2, lambda one, last: last[1] - one[1]), [[0, 1], [2, 3]]),
    ],
)
def test_evictors_before_and_after(evictor: Evictor, expected: list[Any]) -> None:
    """C.25: evict before, call, evict after, keep what is left."""
    builder = Builder(GlobalWindows.create()).trigger(CountTrigger.of(2))
    with harness_of(builder.evictor(evictor).process(Elements())) as h:
        give(h, *range(4))
        assert [values for _, _, values in records(h)] == expected


class Nosy(Evictor):
    def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        assert size == len(elements)
        assert (ctx.get_current_watermark(), ctx.get_current_processing_time()) == (0, 0)
        elements.clear()

    def evict_after(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        assert size == 0
        assert isinstance(ctx, Evictor.EvictorContext)


def test_an_evictor_that_takes_everything() -> None:
    """C.25: the function is called with nothing, and nothing is kept."""
    builder = Builder(TumblingEventTimeWindows.of(10)).trigger(CountTrigger.of(2))
    with harness_of(builder.evictor(Nosy()).process(Elements())) as h:
        h.process_watermark(0)
        give(h, 1, 2)
        assert records(h) == [("k", 0, [])]
        assert h.num_keyed_state_entries() == 0


def test_folding_with_an_evictor_folds_what_it_leaves() -> None:
    """C.25."""
    for finish, expected in (
        (lambda b: b.aggregate(Gather()), [[1, 2], [2, 3]]),
        (lambda b: b.reduce(lambda x, y: ("k", x[1] + y[1])), [("k", 3), ("k", 5)]),
        (lambda b: b.aggregate(Gather(), Named()), [("k", [[1, 2]]), ("k", [[2, 3]])]),
    ):
        builder = Builder(GlobalWindows.create()).trigger(CountTrigger.of(1))
        with harness_of(finish(builder.evictor(CountEvictor.of(2)))) as h:
            give(h, 1, 2, 3)
            assert records(h)[1:] == expected


class Named(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, list(elements)


def test_count_windows() -> None:
    with harness_of(Builder(CountTumblingWindowAssigner.of(2)).process(Elements())) as h:
        give(h, *range(5))
        assert [values for _, _, values in records(h)] == [[0, 1], [2, 3]]
        assert h.num_keyed_state_entries() == 3, "one element, its count, the key's"
    with harness_of(Builder(CountSlidingWindowAssigner.of(3, 2)).process(Elements())) as h:
        give(h, *range(6))
        assert [values for _, _, values in records(h)] == [[0, 1, 2], [2, 3, 4]]
