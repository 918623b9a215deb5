"""The queue of the asynchronous operator: the pictures of its document, and its edges."""

import gc
import random
import threading
import weakref
from typing import Any

import pytest

from flinkish._core.operators.element_queue import ElementQueue
from flinkish._core.testing.state import limit_segments


def filled(queue: ElementQueue, *elements: str) -> dict[str, int]:
    """Put elements in, those that start with W as watermarks; handles by name."""
    handles: dict[str, int] = {}
    for element in elements:
        if element.startswith("W"):
            assert queue.put_watermark(element)
        else:
            handle = queue.put(element)
            assert handle is not None
            handles[element] = handle
    return handles


def out(queue: ElementQueue) -> list[str]:
    elements = []
    while (pair := queue.emit()) is not None:
        elements.append(pair[0])
    return elements


# --- the pictures of the document


def test_ordered_p4_is_done_before_p1_and_waits_for_it() -> None:
    queue = ElementQueue(10, ordered=True)
    handles = filled(queue, "P1", "P2", "P3", "P4")
    assert queue.complete(handles["P4"], "r4")
    assert out(queue) == []
    assert queue.complete(handles["P1"], "r1")
    assert queue.emit() == ("P1", "r1")
    assert out(queue) == []
    for name in ("P3", "P2"):
        assert queue.complete(handles[name], None)
    assert out(queue) == ["P2", "P3", "P4"]


def test_processing_time_unordered_p4_leaves_before_p1() -> None:
    queue = ElementQueue(10, ordered=False)
    handles = filled(queue, "P1", "P2", "P3", "P4")
    assert queue.complete(handles["P4"], "r4")
    assert queue.emit() == ("P4", "r4")
    assert queue.complete(handles["P2"], None)
    assert queue.complete(handles["P1"], None)
    assert out(queue) == ["P2", "P1"]
    assert queue.elements() == ["P3"]


def test_event_time_unordered_two_watermarks_bound_their_sets() -> None:
    """P1 P2 | W1 | P3 P4 | W2 | P5: only the first set's elements may leave (Flink: D.2)."""
    queue = ElementQueue(10, ordered=False)
    handles = filled(queue, "P1", "P2", "W1", "P3", "P4", "W2", "P5")
    for name in ("P4", "P5", "P3"):
        assert queue.complete(handles[name], None)
    assert out(queue) == []
    assert queue.complete(handles["P2"], None)
    assert out(queue) == ["P2"]
    assert queue.complete(handles["P1"], None)
    assert out(queue) == ["P1", "W1", "P4", "P3", "W2", "P5"]
    assert len(queue) == 0


def test_a_new_set_opens_behind_a_watermark_only_where_there_were_elements() -> None:
    queue = ElementQueue(10, ordered=False)
    handles = filled(queue, "W1", "W2", "P1", "W3", "W4", "P2")
    assert queue.complete(handles["P2"], None)
    assert out(queue) == ["W1", "W2"]
    assert queue.complete(handles["P1"], None)
    assert out(queue) == ["P1", "W3", "W4", "P2"]
    queue._check()


def test_flinks_scenario_of_eight_entries() -> None:
    """D.2: records in completion order, each behind the watermark that was before it."""
    queue = ElementQueue(8, ordered=False)
    handles = filled(queue, "A", "B", "W1", "C", "W2", "D", "E", "F")
    assert queue.is_full
    assert queue.put("G") is None
    for name in ("C", "F"):
        assert queue.complete(handles[name], None)
    assert out(queue) == []
    assert queue.complete(handles["D"], None)
    assert queue.complete(handles["A"], None)
    assert out(queue) == ["A"]
    assert queue.complete(handles["B"], None)
    assert out(queue) == ["B", "W1", "C", "W2", "F", "D"]
    assert queue.complete(handles["E"], None)
    assert out(queue) == ["E"]


@pytest.mark.parametrize("ordered", [True, False])
def test_watermarks_alone_pass_at_once(ordered: bool) -> None:
    """D.2, watermarks only."""
    queue = ElementQueue(3, ordered=ordered)
    filled(queue, "W1", "W2")
    assert queue.has_completed
    assert out(queue) == ["W1", "W2"]
    assert not queue.has_completed


# --- room


@pytest.mark.parametrize("ordered", [True, False])
def test_watermarks_take_room(ordered: bool) -> None:
    """D.1: they count."""
    queue = ElementQueue(2, ordered=ordered)
    filled(queue, "P1", "W1")
    assert queue.is_full
    assert queue.put("P2") is None
    assert not queue.put_watermark("W2")
    assert queue.elements() == ["P1", "W1"]


@pytest.mark.parametrize("capacity", [0, -1, 2**24])
def test_a_capacity_that_cannot_be_is_refused(capacity: int) -> None:
    """D.1."""
    with pytest.raises(ValueError, match=f"is {capacity}: 1 to 16777215 elements are needed"):
        ElementQueue(capacity, ordered=True)


def test_memory_follows_what_is_in_not_the_capacity() -> None:
    queue = ElementQueue(2**24 - 1, ordered=False)
    for _ in range(1_000):
        handles = filled(queue, "P1", "W1", "P2")
        for handle in handles.values():
            queue.complete(handle, None)
        out(queue)
    queue._check()
    assert repr(queue) == "<ElementQueue, unordered, 0 of 16777215 elements>"


# --- handles


@pytest.mark.parametrize("ordered", [True, False])
def test_a_handle_completes_once(ordered: bool) -> None:
    """D.6: what comes again is ignored."""
    queue = ElementQueue(2, ordered=ordered)
    handle = queue.put("P1")
    assert handle is not None
    assert queue.complete(handle, "first")
    assert not queue.complete(handle, "second")
    assert queue.renew(handle) is None
    assert queue.emit() == ("P1", "first")
    assert not queue.complete(handle, "third")
    other = queue.put("P2")  # in the same slot
    assert other is not None
    assert other != handle
    assert not queue.complete(handle, "fourth")
    assert queue.complete(other, "fifth")


def test_a_renewed_handle_is_the_only_one() -> None:
    queue = ElementQueue(2, ordered=True)
    first = queue.put("P1")
    assert first is not None
    second = queue.renew(first)
    assert second is not None
    assert queue.renew(first) is None
    assert not queue.complete(first, "stale")
    assert queue.complete(second, "fresh")
    assert queue.emit() == ("P1", "fresh")


@pytest.mark.parametrize("handle", [0, -1, 1, 2**63 - 1, -(2**63)])
def test_handles_of_nothing_are_refused(handle: int) -> None:
    queue = ElementQueue(2, ordered=False)
    assert not queue.complete(handle, None)
    assert queue.renew(handle) is None
    queue.put("P1")
    assert not queue.complete(handle, None)


# --- objects


@pytest.mark.parametrize("ordered", [True, False])
def test_nothing_is_held_that_is_out_and_all_that_is_in(ordered: bool) -> None:
    class Thing:
        pass

    queue = ElementQueue(4, ordered=ordered)
    thing, result = Thing(), Thing()
    seen = weakref.ref(thing), weakref.ref(result)
    handle = queue.put(thing)
    assert handle is not None
    queue.complete(handle, result)
    del thing, result
    assert all(ref() is not None for ref in seen)
    queue.emit()
    assert all(ref() is None for ref in seen)


def test_a_queue_in_a_circle_is_collected() -> None:
    class Thing:
        queue: Any = None

    thing = Thing()
    thing.queue = ElementQueue(4, ordered=True)
    thing.queue.put(thing)
    seen = weakref.ref(thing)
    del thing
    gc.collect()
    assert seen() is None


def test_emit_many_stops_at_its_limit_and_crosses_watermarks() -> None:
    queue = ElementQueue(10, ordered=False)
    handles = filled(queue, "P1", "W1", "P2", "P3")
    for name, handle in handles.items():
        queue.complete(handle, name.lower())
    assert queue.emit_many(0) == ([], [])
    assert queue.emit_many(3) == (["P1", "W1", "P2"], ["p1", None, "p2"])
    assert queue.emit_many(3) == (["P3"], ["p3"])
    assert queue.emit_many(3) == ([], [])


@pytest.mark.parametrize("ordered", [True, False])
def test_a_queue_that_cannot_grow_stays_as_it_was(ordered: bool) -> None:
    queue = ElementQueue(10**6, ordered=ordered)
    handles: list[int | None] = []

    def fill() -> None:
        while True:
            handles.append(queue.put(len(handles)))

    limit_segments(4096)
    try:
        with pytest.raises(MemoryError):
            fill()
        queue._check()
        with pytest.raises(MemoryError):
            queue.put_watermark("W")
    finally:
        limit_segments(None)
    assert queue.elements() == list(range(len(handles)))
    assert queue.put_watermark("W")
    for handle in handles:
        assert queue.complete(handle or 0, None)
    assert queue.emit_many(10**6)[0] == [*range(len(handles)), "W"]


# --- threads


@pytest.mark.parametrize("ordered", [True, False])
def test_of_many_threads_one_completes(ordered: bool) -> None:
    """D.6: four threads complete every element, each in its own order, one for each succeeds."""
    count, threads = 2_000, 4
    queue = ElementQueue(count, ordered=ordered)
    handles = [queue.put(number) for number in range(count)]
    wins = [0] * threads
    gate = threading.Barrier(threads)

    def work(me: int) -> None:
        mine = list(handles)
        random.Random(me).shuffle(mine)
        gate.wait()
        for handle in mine:
            assert handle is not None
            if me % 2:
                wins[me] += queue.complete(handle, me)
            else:
                fresh = queue.renew(handle)
                wins[me] += fresh is not None and queue.complete(fresh, me)

    workers = [threading.Thread(target=work, args=(me,)) for me in range(threads)]
    for worker in workers:
        worker.start()
    seen: list[int] = []
    while len(seen) < count:
        elements, results = queue.emit_many(64)
        assert all(result in range(threads) for result in results)
        seen += elements
    for worker in workers:
        worker.join()
    queue._check()
    assert sum(wins) == count
    assert sorted(seen) == list(range(count))
    assert not ordered or seen == list(range(count))
