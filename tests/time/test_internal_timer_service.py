"""Timer services of operators: facts B.1 - B.13."""

from typing import Any

import pytest

from flinkish.time import InternalTimer, assign_to_key_group
from tests.time.rig import MAX_PARALLELISM, Rig

LOWEST = -(1 << 63)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_a_timer_is_its_time_key_and_namespace(rig: Rig) -> None:
    """B.1: duplicates are no-ops, the clocks and the services are apart."""
    timers, others = rig.service(), rig.service("others")
    for key in (1, 2):
        rig.use(key)
        for _ in range(2):
            timers.register_event_time_timer("a", 5)
            timers.register_event_time_timer("b", 5)
            timers.register_processing_time_timer("a", 5)
    assert timers.num_event_time_timers() == 4
    assert timers.num_processing_time_timers() == 2
    assert others.num_event_time_timers() == 0
    others.register_event_time_timer("a", 5)
    assert others.num_event_time_timers() == 1
    rig.manager.advance_watermark(5)
    assert sorted(rig.log) == sorted(
        [("event", 5, key, space) for key in (1, 2) for space in "ab"] + [("event", 5, 2, "a")]
    )


def test_equal_timestamps_fire_in_the_order_of_registration(rig: Rig) -> None:
    """B.2 leaves the order open; here it is that of registration, across services."""
    one, two = rig.service("one"), rig.service("two")
    for number, service in enumerate((one, two, two, one, two)):
        rig.use(7 - number)
        service.register_event_time_timer(number, 10)
    rig.use(1)
    one.register_event_time_timer("first", 9)
    rig.manager.advance_watermark(10)
    assert [entry[3] for entry in rig.log] == ["first", 0, 1, 2, 3, 4]


def test_there_is_one_physical_timer_at_the_head(rig: Rig) -> None:
    """B.3."""
    timers = rig.service()
    rig.use(1)
    for at in (10, 20, 30):
        timers.register_processing_time_timer("n", at)
    assert rig.clock.active_timer_timestamps == [10]
    rig.clock.set_current_time(10)
    assert rig.clock.active_timer_timestamps == [20]
    rig.clock.set_current_time(30)
    assert rig.clock.num_active_timers == 0
    assert [at for _, at, _, _ in rig.log] == [10, 20, 30]
    timers_left = timers.num_processing_time_timers()
    assert timers_left == 0
    rig.use(1)
    timers.register_processing_time_timer("n", 40)
    assert rig.clock.active_timer_timestamps == [40]


def test_an_earlier_timer_moves_the_physical_one(rig: Rig) -> None:
    """B.3."""
    timers = rig.service()
    rig.use(0)
    timers.register_processing_time_timer("n", 20)
    assert rig.clock.active_timer_timestamps == [20]
    timers.register_processing_time_timer("n", 10)
    assert rig.clock.active_timer_timestamps == [10]
    timers.register_processing_time_timer("n", 15)
    assert rig.clock.active_timer_timestamps == [10]
    other = rig.service("other")
    rig.use(3)
    other.register_processing_time_timer("n", 5)
    assert rig.clock.active_timer_timestamps == [5], "one for all services"


@pytest.mark.parametrize("ahead", [-5, 0, 10])
def test_registering_in_the_callback_leaves_one_physical_timer(rig: Rig, ahead: int) -> None:
    """B.4."""
    timers = rig.service()

    def again(timer: InternalTimer) -> None:
        if len(rig.log) == 1:
            timers.register_processing_time_timer("n", timer.timestamp + ahead)
            timers.register_processing_time_timer("n", 1000)

    rig.recorder.hook = again
    rig.use(0)
    timers.register_processing_time_timer("n", 10)
    rig.clock.set_current_time(10)
    assert rig.clock.num_active_timers == 1
    assert rig.clock.active_timer_timestamps == [20 if ahead == 10 else 1000]


def test_firing_is_up_to_the_registered_time_not_the_clock(rig: Rig) -> None:
    """B.5: what is due later but by now gets the next physical timer."""
    timers = rig.service()
    rounds: list[int] = []
    rig.recorder.hook = lambda timer: rounds.append(rig.clock.num_active_timers)
    rig.use(1)
    for at in (10, 12, 15):
        timers.register_processing_time_timer("n", at)
    rig.clock.set_current_time(100)
    assert [at for _, at, _, _ in rig.log] == [10, 12, 15]
    assert rounds == [0, 0, 0], "the one that fired is gone, the next not yet there"
    assert rig.clock.num_active_timers == 0


def test_the_watermark_is_set_before_timers_fire_and_includes_equal_ones(rig: Rig) -> None:
    """B.6."""
    timers = rig.service()
    assert timers.current_watermark() == LOWEST
    seen: list[int] = []
    rig.recorder.hook = lambda timer: seen.append(timers.current_watermark())
    rig.use(1)
    for at in (9, 10, 11):
        timers.register_event_time_timer("n", at)
    rig.manager.advance_watermark(10)
    assert seen == [10, 10]
    assert [at for _, at, _, _ in rig.log] == [9, 10]
    assert timers.num_event_time_timers() == 1


def test_a_timer_is_gone_and_its_key_current_when_it_fires(rig: Rig) -> None:
    """B.7."""
    timers = rig.service()
    seen: list[Any] = []

    def look(timer: InternalTimer) -> None:
        seen.append((timers.num_event_time_timers(), rig.table.current_key()))
        timers.delete_event_time_timer("n", timer.timestamp)

    rig.recorder.hook = look
    for key in (1, 2):
        rig.use(key)
        timers.register_event_time_timer("n", key)
    rig.manager.advance_watermark(2)
    assert seen == [(1, 1), (0, 2)]
    assert rig.table.current_key() is None


def test_past_timers_fire_in_the_same_advance_or_the_next(rig: Rig) -> None:
    """B.8."""
    timers = rig.service()
    rig.recorder.hook = lambda timer: (
        timers.register_event_time_timer("n", timer.timestamp - 3) if timer.timestamp > 0 else None
    )
    rig.use(1)
    timers.register_event_time_timer("n", 7)
    rig.manager.advance_watermark(7)
    assert [at for _, at, _, _ in rig.log] == [7, 4, 1, -2]
    rig.use(1)
    timers.register_event_time_timer("n", -1)
    assert len(rig.log) == 4, "not inline"
    rig.manager.advance_watermark(8)
    assert [at for _, at, _, _ in rig.log][4:] == [-1]


def test_a_watermark_may_go_back(rig: Rig) -> None:
    """B.9."""
    timers = rig.service()
    rig.manager.advance_watermark(10)
    rig.manager.advance_watermark(5)
    assert timers.current_watermark() == 5
    rig.use(1)
    timers.register_event_time_timer("n", 7)
    rig.manager.advance_watermark(6)
    assert rig.log == []


@pytest.mark.parametrize("event", [True, False])
def test_keys_and_namespaces_do_not_mix(rig: Rig, event: bool) -> None:
    """B.10, B.13: counts by namespace, and every timer counted when it fires."""
    timers = rig.service()
    spaces = ("ciao", "hello", (1, 2))
    for key in ("k1", "k2"):
        rig.use(key)
        for number, space in enumerate(spaces):
            register = (
                timers.register_event_time_timer if event else timers.register_processing_time_timer
            )
            register(space, 10 + number)
    everything = timers.num_event_time_timers if event else timers.num_processing_time_timers
    within = timers.num_event_time_timers_in if event else timers.num_processing_time_timers_in
    assert everything() == 6
    assert [within(space) for space in (*spaces, "other", None)] == [2, 2, 2, 0, 0]
    if event:
        rig.manager.advance_watermark(11)
    else:
        rig.clock.set_current_time(11)
    assert sorted(rig.log) == sorted(
        ("event" if event else "processing", 10 + number, key, spaces[number])
        for key in ("k1", "k2")
        for number in (0, 1)
    )
    assert [within(space) for space in spaces] == [0, 0, 2]
    assert rig.metrics.snapshot()["numFiredTimers"] == 4


def test_the_void_namespace_is_the_key_itself(rig: Rig) -> None:
    timers = rig.manager.get_internal_timer_service("void", rig.recorder)
    rig.use(4)
    timers.register_event_time_timer("whatever", 3)
    timers.register_event_time_timer(None, 3)
    assert timers.num_event_time_timers() == timers.num_event_time_timers_in(None) == 1
    rig.manager.advance_watermark(3)
    assert rig.log == [("event", 3, 4, None)]


def test_timers_are_of_the_current_key_whatever_its_namespace(rig: Rig) -> None:
    """A namespace is part of the row: the key of a row within one is still the key."""
    timers = rig.service()
    group = assign_to_key_group("k", MAX_PARALLELISM)
    rig.table.set_current_key("k", group, "window 1")
    timers.register_event_time_timer("window 1", 1)
    timers.register_event_time_timer("window 2", 2)
    timers.register_event_time_timer(None, 3)
    rig.use("k")
    timers.delete_event_time_timer("window 2", 2)
    timers.register_event_time_timer("window 1", 1)
    assert timers.num_event_time_timers() == 2
    rig.manager.advance_watermark(9)
    assert rig.log == [("event", 1, "k", "window 1"), ("event", 3, "k", None)]


@pytest.mark.parametrize("event", [True, False])
def test_only_the_exact_timer_is_deleted(rig: Rig, event: bool) -> None:
    """B.11: unknown ones are a no-op; the physical timer fires empty and moves on."""
    timers = rig.service()
    register = timers.register_event_time_timer if event else timers.register_processing_time_timer
    delete = timers.delete_event_time_timer if event else timers.delete_processing_time_timer
    for key in (1, 2):
        rig.use(key)
        register("a", 10)
        register("b", 10)
        register("b", 20)
    rig.use(1)
    delete("b", 10)
    delete("b", 11)
    delete("c", 20)
    rig.use(99)
    delete("a", 10)
    rig.use(2)
    delete("a", 10)
    if event:
        rig.manager.advance_watermark(10)
    else:
        assert rig.clock.active_timer_timestamps == [10]
        rig.clock.set_current_time(10)
        assert rig.clock.active_timer_timestamps == [20]
    assert [entry[2:] for entry in rig.log] == [(1, "a"), (2, "b")]


def test_deleting_the_head_leaves_the_physical_timer(rig: Rig) -> None:
    """B.11."""
    timers = rig.service()
    rig.use(1)
    timers.register_processing_time_timer("n", 10)
    timers.register_processing_time_timer("n", 20)
    timers.delete_processing_time_timer("n", 10)
    assert rig.clock.active_timer_timestamps == [10]
    rig.clock.set_current_time(10)
    assert rig.log == []
    assert rig.clock.active_timer_timestamps == [20]


@pytest.mark.parametrize("event", [True, False])
def test_for_each_timer_sets_the_key(rig: Rig, event: bool) -> None:
    """B.12; the consumer may delete and register."""
    timers = rig.service()
    rig.service("other")
    register = timers.register_event_time_timer if event else timers.register_processing_time_timer
    delete = timers.delete_event_time_timer if event else timers.delete_processing_time_timer
    for key in range(5):
        rig.use(key)
        register("a", 10 * key)
        register(None, 10 * key + 1)
    seen: list[Any] = []

    def consume(namespace: Any, timestamp: int) -> None:
        seen.append((rig.table.current_key(), namespace, timestamp))
        delete("a", timestamp - 1)
        delete(None, timestamp + 1)
        register("new", 1000)

    (timers.for_each_event_time_timer if event else timers.for_each_processing_time_timer)(consume)
    assert len(seen) == 5, "each deletes its neighbour before that is visited"
    assert {key for key, _, _ in seen} == set(range(5))
    assert all(at // 10 == key for key, _, at in seen)
    assert rig.table.current_key() is None
    counted = timers.num_event_time_timers() if event else timers.num_processing_time_timers()
    assert counted == 10
