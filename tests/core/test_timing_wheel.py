"""The timing wheel: facts K.2 - K.15, the document's worked examples, edges and bad input."""

import numpy as np
import pytest

from flinkish._core.wheel.timing_wheel import TimingWheel

LOWEST, HIGHEST = -(2**63), 2**63 - 1
YEAR = 365 * 24 * 3_600_000


def wheel_of(*expirations: int, tick: int = 1, size: int = 8, start: int = 0) -> TimingWheel:
    """A wheel whose payloads are the expirations."""
    wheel = TimingWheel(tick, size, start)
    for expiration in expirations:
        wheel.add(expiration, expiration)
    return wheel


def arrays(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


# --- the document's examples


def test_levels_of_three_buckets() -> None:
    """u = 1, n = 3, start c: [c], [c+1], [c+2]; then 3 wide; then 9 wide."""
    c = 100
    wheel = wheel_of(*range(c, c + 27), size=3, start=c)
    for now in range(c, c + 27):
        wheel._check()
        assert wheel.next_expiration == now
        assert wheel.advance(now) == [now], f"only [{now}] is over at {now}"
    # Buckets begin where their ticks do: level 2 at c + 3 and c + 6, level 3 at c + 9 and c + 18.
    for expiration, bucket in [(2, 2), (3, 3), (5, 3), (8, 6), (9, 9), (17, 9), (26, 18), (27, 27)]:
        wheel = TimingWheel(1, 3, c)
        wheel.add(c + expiration, None)
        assert wheel.next_bucket == c + bucket
        assert wheel.next_expiration == c + expiration


def test_a_wheel_that_runs_eight_milliseconds_behind() -> None:
    """The bucket of 12 is looked at when it is 21: 14 and 20 are over, 22 is not."""
    wheel = TimingWheel(1, 4, 0)
    wheel.advance(11)
    for name, expiration in (("a", 14), ("b", 20), ("c", 22)):
        wheel.add(expiration, name)
    assert wheel.next_bucket == 12
    assert wheel.advance(21) == ["a", "b"]
    wheel._check()
    assert wheel.next_expiration == 22
    assert wheel.advance(22) == ["c"]


def test_every_turn_of_every_level() -> None:
    """K.8: three buckets hold 3, 9, 27, ... ticks; here the fifth level goes round twice."""
    wheel = wheel_of(*range(500), size=3)
    out = []
    for now in range(0, 500, 7):
        out += wheel.advance(now)
        wheel._check()
    assert out == list(range(498))


# --- order and accuracy


@pytest.mark.parametrize("size", [2, 3, 64, 100, 1024])
@pytest.mark.parametrize("tick", [1, 10, 1000])
def test_never_early_and_at_most_a_tick_late(tick: int, size: int) -> None:
    """K.11: Kafka fires the tenth millisecond of a tick of 10 nine too early."""
    wheel = wheel_of(*range(1, 3 * tick + 1), tick=tick, size=size)
    for now in range(3 * tick + 1):
        for expiration in wheel.advance(now):
            assert expiration <= now < expiration + tick
    assert len(wheel) == 0


def test_ticks_count_from_the_start() -> None:
    wheel = wheel_of(14, 15, 16, tick=10, start=5)
    assert wheel.advance(14) == []
    assert wheel.advance(15) == [14, 15]
    assert (wheel.now, wheel.next_expiration) == (15, 25)


@pytest.mark.parametrize("size", [2, 3, 20, 1024])
def test_insertion_order_within_a_tick_whenever_added(size: int) -> None:
    """K.12: Kafka keeps it only for timers that were added together."""
    wheel = TimingWheel(1, size, 0)
    for now in range(0, 5000, 7):
        assert wheel.advance(now) == []
        wheel.add(5000, now)
        wheel._check()
    assert wheel.advance(5000) == list(range(0, 5000, 7))


def test_duplicates_all_come_out_once() -> None:
    """K.3."""
    wheel = wheel_of(*[5, 5, 7, 7, 7, 30, 30], size=3)
    assert wheel.advance(100) == [5, 5, 7, 7, 7, 30, 30]
    assert wheel.advance(1000) == []


def test_what_is_due_comes_out_of_the_next_advance() -> None:
    """K.2, without an executor: at the clock's own time, too, and if the clock goes back."""
    wheel = wheel_of(start=100)
    wheel.advance(200)
    for expiration in (200, 150, -5, LOWEST, -(2**70)):
        wheel.add(expiration, expiration)
    wheel.add(201, 201)
    assert wheel.next_expiration == 200
    assert wheel.advance(0) == [200, 150, -5, LOWEST, -(2**70)]
    assert wheel.now == 200
    assert wheel.advance(201) == [201]


def test_the_clock_follows_the_time_it_is_given() -> None:
    """K.10."""
    wheel = TimingWheel(1, 4, 0)
    wheel.advance(10**15)
    assert wheel.now == 10**15
    wheel.add(10**15 + 2, "near")
    assert wheel.next_bucket == 10**15 + 2, "no detour over a level above"


@pytest.mark.parametrize("size", [2, 3, 256])
def test_a_jump_over_years(size: int) -> None:
    times = [1, YEAR, YEAR + 1, 300 * YEAR, 10_000 * YEAR]
    wheel = wheel_of(*reversed(times), size=size)
    assert wheel.advance(YEAR - 1) == [1]
    assert wheel.advance(300 * YEAR) == times[1:4]
    wheel._check()
    assert wheel.next_expiration == 10_000 * YEAR
    assert wheel.advance(HIGHEST) == times[4:]


def test_limit_leaves_the_rest_for_the_next_time() -> None:
    wheel = wheel_of(1, 1, 2, 50, 60)
    assert wheel.advance(70, 0) == []
    assert wheel.advance(70, 1) == [1]
    assert wheel.now == 1
    wheel.add(0, "late")
    assert wheel.advance(70, 3) == [1, "late", 2]
    assert wheel.advance_many(70, 1).tolist() == [50]
    assert wheel.advance(70) == [60]
    assert wheel.now == 70


# --- the ends of int64


@pytest.mark.parametrize("tick", [1, 2, 3, 1000, HIGHEST])
@pytest.mark.parametrize("size", [2, 3, 1000, 4096])
@pytest.mark.parametrize("start", [LOWEST, -1, 0, HIGHEST - 5, HIGHEST])
def test_any_expiration_has_a_place(tick: int, size: int, start: int) -> None:
    wheel = TimingWheel(tick, size, start)
    for expiration in (HIGHEST, 2**70, start, LOWEST, min(start + 1, HIGHEST)):
        wheel.add(expiration, expiration)
        wheel._check()
    assert wheel.next_expiration == start
    first = wheel.advance(start)
    assert first[-2:] == [start, LOWEST] or start >= HIGHEST - 5
    out = first + wheel.advance(HIGHEST)
    assert sorted(out) == sorted([HIGHEST, 2**70, start, LOWEST, min(start + 1, HIGHEST)])
    wheel._check()


def test_a_delay_that_overflows_is_never_early() -> None:
    """K.5: Kafka's deadline overflows, and the task runs at once."""
    wheel = TimingWheel(1, 20, 1_700_000_000_000)
    wheel.add(1_700_000_000_000 + HIGHEST, "never")
    assert wheel.advance(HIGHEST - 1) == []
    assert wheel.next_expiration == HIGHEST
    assert wheel.advance(HIGHEST) == ["never"]


# --- cancelling


def test_cancel_takes_out_once() -> None:
    """K.15: it wins and is True, or the timer came out and it is False."""
    wheel = TimingWheel(1, 8, 0)
    handle = wheel.add(5, "a")
    assert wheel.cancel(handle)
    assert not wheel.cancel(handle)
    assert wheel.next_expiration is None
    assert wheel.next_bucket is None
    handle = wheel.add(5, "b")
    assert wheel.advance(5) == ["b"]
    assert not wheel.cancel(handle)


def test_a_stale_handle_never_cancels_another_timer() -> None:
    wheel = TimingWheel(1, 8, 0)
    stale = set()
    for turn in range(1000):
        handle = wheel.add(turn + 3, turn)
        assert handle not in stale
        assert not any(map(wheel.cancel, list(stale)[-20:]))
        stale.add(handle)
        if turn % 3:
            wheel.cancel(handle)
        else:
            wheel.advance(turn + 3)
    # Nor after the memory was given back and taken again.
    handles = wheel.add_many(np.full(20_000, 10**6), np.arange(20_000))
    full = wheel.memory_bytes
    assert wheel.cancel_many(handles) == 20_000
    wheel.advance(2000)
    assert wheel.memory_bytes < full / 10
    again = wheel.add_many(np.full(20_000, 10**6), np.arange(20_000))
    assert not set(again.tolist()) & set(handles.tolist())
    assert wheel.cancel_many(handles) == 0
    assert not any(map(wheel.cancel, stale))
    wheel._check()


@pytest.mark.parametrize("handle", [-1, LOWEST, HIGHEST, 0, 1, 2**28, 1 << 28 | 1])
def test_a_made_up_handle_is_refused(handle: int) -> None:
    wheel = TimingWheel(1, 8, 0)
    for turn in range(2):
        assert not wheel.cancel(handle)
        wheel.add(5, turn)
        held = wheel.add(6, turn)
        wheel.cancel(held)
        assert wheel.cancel_many(arrays(handle)) in (0, 1)
        wheel._check()
        wheel.advance(HIGHEST)


def test_cancelling_all_of_a_bucket_and_the_middle_of_one() -> None:
    wheel = TimingWheel(1, 4, 0)
    handles = [wheel.add(100, i) for i in range(10)]
    for i in (5, 0, 9, 4):
        assert wheel.cancel(handles[i])
        wheel._check()
    assert wheel.advance(100) == [1, 2, 3, 6, 7, 8]
    handles = [wheel.add(200, i) for i in range(3)]
    assert [wheel.cancel(handle) for handle in handles] == [True] * 3
    wheel._check()
    assert wheel.next_bucket is None


# --- batches


def test_batches_of_numbers(rng: np.random.Generator) -> None:
    wheel = TimingWheel(1, 512, 0)
    times, payloads = rng.integers(1, 600_000, 10_000), np.arange(10_000)
    handles = wheel.add_many(times, payloads)
    wheel._check()
    assert handles.dtype == np.int64
    assert len(wheel) == len(set(handles.tolist())) == 10_000
    gone = rng.permutation(10_000)[:4_000]
    assert wheel.cancel_many(handles[gone]) == 4_000
    assert wheel.cancel_many(handles[gone].tolist()) == 0
    wheel._check()
    out = np.concatenate([wheel.advance_many(now) for now in range(0, 600_001, 997)])
    out = np.concatenate([out, wheel.advance_many(600_000)])
    assert out.dtype == np.int64
    left = np.setdiff1d(payloads, gone)
    np.testing.assert_array_equal(out, left[np.argsort(times[left], kind="stable")])
    wheel._check()


@pytest.mark.parametrize("size", [2, 3, 1024])
def test_a_batch_that_needs_levels_and_room_at_once(size: int) -> None:
    """A level takes its buckets from the room of timers."""
    times = 2 ** np.arange(63, dtype=np.int64)
    for rows in (1, 64, 1_000, 70_000):
        wheel = TimingWheel(1, size, 0)
        wheel.add_many(np.resize(times, rows), np.arange(rows))
        wheel._check()
        assert len(wheel.advance_many(HIGHEST)) == rows
        wheel._check()


def test_batches_of_objects_and_empty_ones() -> None:
    wheel = TimingWheel(1, 8, 0)
    handles = wheel.add_many([3, 1, 2], ["c", "a", 7])
    assert wheel.cancel_many(handles[:1]) == 1
    assert wheel.advance(10) == ["a", 7]
    assert len(wheel.add_many([], [])) == len(wheel.add_many(arrays(), arrays())) == 0
    assert wheel.cancel_many([]) == 0
    assert wheel.advance_many(20).dtype == np.int64
    assert wheel.add_many(np.arange(6)[::2], np.arange(3)).dtype == np.int64


def test_numbers_come_back_as_numbers_and_the_rest_as_itself() -> None:
    wheel = TimingWheel(1, 8, 0)
    payloads = [0, -1, HIGHEST, LOWEST, 2**63, True, None, 1.5, "x", [1]]
    for payload in payloads:
        wheel.add(1, payload)
    out = wheel.advance(1)
    assert out == payloads
    assert out[5] is True
    assert out[9] is payloads[9]


def test_a_batch_that_fails_adds_nothing() -> None:
    wheel = TimingWheel(1, 8, 0)
    with pytest.raises(TypeError, match="expiration is 'soon': an int"):
        wheel.add_many([1, 2, "soon"], [1, 2, 3])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="payloads has 1 rows and expirations has 2"):
        wheel.add_many([1, 2], [1])
    with pytest.raises(ValueError, match="payloads has 1 rows and expirations has 2"):
        wheel.add_many(arrays(1, 2), arrays(1))
    assert len(wheel) == 0
    wheel.add(1, "an object")
    with pytest.raises(TypeError, match="1 timers have payloads other than ints"):
        wheel.advance_many(5)
    assert (len(wheel), wheel.now) == (1, 0)


# --- bad input


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 8, 0), ValueError, "tick_ms is 0: a tick of 1 ms or more"),
        ((-1, 8, 0), ValueError, "tick_ms is -1"),
        ((1, 1, 0), ValueError, "wheel_size is 1: 2 to 16777216"),
        ((1, 2**24 + 1, 0), ValueError, "wheel_size is"),
        ((1.5, 8, 0), TypeError, "tick_ms is 1.5: an int is needed"),
        ((1, 8, 2**63), OverflowError, "start_ms is .* outside of int64"),
    ],
)
def test_wheels_that_cannot_be(
    arguments: tuple[int, int, int], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        TimingWheel(*arguments)


def test_bad_input_leaves_the_wheel_as_it_was() -> None:
    wheel = wheel_of(5)
    with pytest.raises(TypeError, match=r"expiration is 1\.5"):
        wheel.add(1.5, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="handle is None"):
        wheel.cancel(None)  # type: ignore[arg-type]
    with pytest.raises(OverflowError, match=r"now is .* outside of int64"):
        wheel.advance(2**63)
    with pytest.raises(ValueError, match="limit is -1: 0 or more"):
        wheel.advance(9, -1)
    with pytest.raises(TypeError, match="a handle is 'x'"):
        wheel.cancel_many(["x"])  # type: ignore[list-item]
    assert repr(wheel) == "<TimingWheel of 1 timers, tick_ms=1, wheel_size=8, now=0>"
    assert wheel.advance(np.int64(5)) == [5]
