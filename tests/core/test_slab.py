"""Slabs: blocks never meet, keep their contents, and come again when they were freed."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.testing.state import SegmentDoor, capacity, limit_segments

EDGES = [0, 1, 15, 16, 17, 255, 256, 257, 320, 321, 511, 512, 513, 4096, 4097, 70_000]


@pytest.fixture
def slab() -> SegmentDoor:
    slab = SegmentDoor()
    slab.init()
    return slab


@given(st.integers(0, 2**32 - 17))
def test_a_block_holds_what_it_is_taken_for_with_little_to_spare(size: int) -> None:
    assert capacity(size) >= max(size, 8)
    assert capacity(size) % 16 == 0
    assert capacity(size) <= max(16, size + 15, size * 5 // 4 + 1)
    assert capacity(size) >= 2**32 or capacity(capacity(size)) == capacity(size)


def test_classes_ascend() -> None:
    sizes = [capacity(size) for size in range(1, 20_000)]
    assert sizes == sorted(sizes)


def test_blocks_do_not_meet(slab: SegmentDoor) -> None:
    taken: dict[int, tuple[int, bytes]] = {}
    for step in range(3000):
        if taken and random.random() < 0.45:
            place = random.choice(list(taken))
            size, data = taken.pop(place)
            assert slab.read(place, size) == data
            slab.free(place, size)
        else:
            size = random.choice(EDGES) if random.random() < 0.3 else random.randrange(400)
            place = slab.take(size)
            assert place != 0
            assert place not in taken
            data = random.randbytes(size)
            slab.write(place, data)
            taken[place] = (size, data)
        if step % 200 == 0:
            assert slab.valid
    for place, (size, data) in taken.items():
        assert slab.read(place, size) == data
    assert slab.live == sum(capacity(size) for size, _ in taken.values())
    ends = sorted((place, place + capacity(size)) for place, (size, _) in taken.items())
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))
    assert ends[-1][1] <= slab.top <= slab.size


@pytest.mark.parametrize("size", EDGES)
def test_what_was_freed_is_taken_again(slab: SegmentDoor, size: int) -> None:
    places = [slab.take(size) for _ in range(10)]
    top = slab.top
    for place in places:
        slab.free(place, size)
    assert slab.live == 0
    assert sorted(slab.take(size) for _ in range(10)) == places
    assert slab.top == top


def test_a_slab_that_cannot_grow_is_as_it_was(slab: SegmentDoor) -> None:
    place = slab.take(100)
    slab.write(place, b"x" * 100)
    before = (slab.live, slab.top, slab.size)
    limit_segments(slab.size)
    try:
        with pytest.raises(MemoryError, match="max_parallelism"):
            slab.take(slab.size)
    finally:
        limit_segments(None)
    assert (slab.live, slab.top, slab.size) == before
    assert slab.read(place, 100) == b"x" * 100
    assert slab.take(100_000)


def test_a_cut_off_slab_is_no_slab(slab: SegmentDoor) -> None:
    short = SegmentDoor()
    assert not short.valid
    short.reserve(100)
    assert not short.valid
    short.reserve(5000)
    short.write(0, slab.read(0, 16))
    assert short.valid
    short.write(0, (10**9).to_bytes(8, "little"))
    assert not short.valid
