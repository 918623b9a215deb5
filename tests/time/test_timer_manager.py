"""Managers of timer services: facts B.14 - B.19."""

from typing import Any

import pytest

from flinkish._core.state import log as state_log
from flinkish.common.errors import (
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
    UnsupportedOperationError,
)
from flinkish.testing import TestProcessingTimeService
from flinkish.time import (
    PLAIN_NAMESPACE,
    InternalTimer,
    InternalTimeServiceManager,
    NamespaceSerializer,
    assign_to_key_group,
    compute_key_group_range_for_operator_index,
)
from tests.core.logs import dump
from tests.time.rig import MAX_PARALLELISM, Recorder, Rig


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_firing_stops_when_the_task_is_cancelled() -> None:
    """B.14, in both clocks; nothing is lost by it."""
    cancelled: list[bool] = []
    rig = Rig(is_cancelled=lambda: bool(cancelled))
    timers = rig.service()
    rig.recorder.hook = lambda timer: cancelled.append(True) if timer.timestamp == 2 else None
    rig.use(1)
    for at in (1, 2, 3):
        timers.register_event_time_timer("n", at)
        timers.register_processing_time_timer("n", at)
    assert not rig.manager.try_advance_watermark(9, lambda: False)
    assert [at for _, at, _, _ in rig.log] == [1, 2]
    assert timers.num_event_time_timers() == 1
    rig.clock.set_current_time(9)
    assert timers.num_processing_time_timers() == 3


def test_an_advance_can_be_interrupted_and_taken_up_again(rig: Rig) -> None:
    """B.18: over all services, after each timer."""
    one, two = rig.service("one"), rig.service("two")
    rig.use(1)
    for at in range(4):
        (one if at % 2 else two).register_event_time_timer("n", at)
    assert not rig.manager.try_advance_watermark(9, lambda: len(rig.log) >= 3)
    assert len(rig.log) == 3
    assert one.current_watermark() == 9
    assert rig.manager.try_advance_watermark(9, lambda: False)
    assert len(rig.log) == 4


class Windows(NamespaceSerializer):
    name = "windows"

    def to_key(self, namespace: Any) -> Any:
        return namespace.start, namespace.stop

    def from_key(self, key: Any) -> Any:
        return range(*key)


def test_services_by_name(rig: Rig) -> None:
    """B.15: the same serializer gives the same service, another one is refused."""
    service = rig.manager.get_internal_timer_service("windows", rig.recorder, Windows())
    again = rig.manager.get_internal_timer_service("windows", rig.recorder, Windows())
    assert service is again
    with pytest.raises(IllegalArgumentError, match=r"'windows' was started .* windows .* plain"):
        rig.service("windows")
    rig.use(1)
    service.register_event_time_timer(range(3, 9), 8)
    assert service.num_event_time_timers_in(range(3, 9)) == 1
    rig.manager.advance_watermark(8)
    assert rig.log == [("event", 8, 1, range(3, 9))]


def move(source: Rig, target: Rig) -> None:
    """Hand all that is in one rig's table to another's."""
    state_log.commit(source.table)
    target.manager.restore(source.manager.declarations())
    for group in range(MAX_PARALLELISM):
        state_log.load(target.table, dump(source.table, group), [], group)


def test_restored_with_another_serializer(rig: Rig) -> None:
    """B.15."""
    rig.service()
    target = Rig()
    move(rig, target)
    with pytest.raises(IllegalStateError, match=r"restored timers.* plain.* windows"):
        target.manager.get_internal_timer_service("timers", target.recorder, Windows())


def test_restored_processing_timers_fire_at_once_when_past(rig: Rig) -> None:
    """B.16: they are registered at the start."""
    timers = rig.service()
    rig.use(1)
    for at in (10, 50):
        timers.register_processing_time_timer("n", at)
    target = Rig()
    move(rig, target)
    target.service()
    target.manager.start()
    assert target.clock.active_timer_timestamps == [10]
    target.clock.set_current_time(20)
    assert target.log == [("processing", 10, 1, "n")]
    assert target.clock.active_timer_timestamps == [50]
    target.manager.stop()
    assert target.clock.num_active_timers == 0


def test_services_keep_their_numbers_over_a_restore(rig: Rig) -> None:
    """Their order of asking may change, and new ones may come."""
    for name in ("a", "b"):
        service = rig.service(name)
        rig.use(1)
        service.register_event_time_timer(name, 5)
    target = Rig()
    move(rig, target)
    recorders = {name: Recorder(target.log, name) for name in "cba"}
    for name, recorder in recorders.items():
        recorder.hook = lambda timer, name=name: target.log.append(name)
        target.manager.get_internal_timer_service(name, recorder, PLAIN_NAMESPACE)
    assert [name for name, _ in target.manager.declarations()] == ["a", "b", "c"]
    target.manager.advance_watermark(5)
    assert target.log == [("event", 5, 1, "a"), "a", ("event", 5, 1, "b"), "b"]


def test_timers_of_a_service_that_nobody_asks_for_are_not_lost(rig: Rig) -> None:
    service = rig.service("forgotten")
    rig.use(1)
    service.register_event_time_timer("n", 5)
    target = Rig()
    move(rig, target)
    with pytest.raises(IllegalStateError, match="forgotten"):
        target.manager.advance_watermark(5)
    target.service("forgotten")
    target.manager.advance_watermark(5)
    assert target.log == [("event", 5, 1, "n")]


def test_restoring_comes_first(rig: Rig) -> None:
    rig.service()
    with pytest.raises(IllegalStateError, match="before they are asked for"):
        rig.manager.restore([("timers", "plain")])


def test_snapshots_must_agree_on_the_numbers_of_services(rig: Rig) -> None:
    rig.manager.restore([("a", "plain")])
    rig.manager.restore([("a", "plain"), ("b", "plain")])
    rig.manager.restore([("a", "plain")])
    assert [name for name, _ in rig.manager.declarations()] == ["a", "b"]
    with pytest.raises(IncompatibleStateError, match="differently") as caught:
        rig.manager.restore([("b", "plain"), ("a", "plain")])
    assert caught.value.setting == "timer services"


def test_each_timer_has_one_owner_after_rescaling() -> None:
    """B.17: 1 -> 3 -> 2 subtasks, every timer fires once, at the owner of its key."""
    keys = list(range(40))
    source = Rig()
    timers = source.service()
    for key in keys:
        source.use(key)
        timers.register_event_time_timer("ciao", 10)
        timers.register_event_time_timer("hello", 11)
        timers.register_processing_time_timer("hello", 12)
    rigs = [source]
    for parallelism in (3, 2):
        dumps = {}
        for rig in rigs:
            for group in rig.key_groups:
                dumps[group] = dump(rig.table, group)
        rigs = []
        for index in range(parallelism):
            owned = compute_key_group_range_for_operator_index(MAX_PARALLELISM, parallelism, index)
            rig = Rig(owned.start_key_group, owned.end_key_group)
            rig.manager.restore(source.manager.declarations())
            rig.service()
            for group in owned:
                state_log.load(rig.table, dumps[group], [], group)
            rig.manager.start()
            rigs.append(rig)
    for rig in rigs:
        rig.manager.advance_watermark(20)
        rig.clock.set_current_time(20)
        assert {assign_to_key_group(key, MAX_PARALLELISM) for _, _, key, _ in rig.log} <= set(
            rig.key_groups
        )
    fired = sorted(entry for rig in rigs for entry in rig.log)
    assert fired == sorted(
        entry
        for key in keys
        for entry in (
            ("event", 10, key, "ciao"),
            ("event", 11, key, "hello"),
            ("processing", 12, key, "hello"),
        )
    )


def test_timers_need_keys() -> None:
    """B.18."""
    with pytest.raises(UnsupportedOperationError, match="only be used on keyed operators"):
        InternalTimeServiceManager(None, TestProcessingTimeService())


def test_timers_need_a_current_key(rig: Rig) -> None:
    timers = rig.service()
    for call in (
        timers.register_event_time_timer,
        timers.delete_event_time_timer,
        timers.register_processing_time_timer,
        timers.delete_processing_time_timer,
    ):
        with pytest.raises(IllegalStateError, match="current key"):
            call("n", 5)


def test_the_clock_is_the_services(rig: Rig) -> None:
    timers = rig.service()
    rig.clock.set_current_time(17)
    assert timers.current_processing_time() == 17


def test_services_have_the_names_of_their_timers() -> None:
    """B.19 names Flink's states; here a snapshot lists the names of the services, and user
    states of any name are apart from them."""
    rig = Rig()
    rig.service("user-timers")
    assert rig.manager.declarations() == [("user-timers", "plain")]


def test_an_error_in_a_callback_leaves_the_rest(rig: Rig) -> None:
    timers = rig.service()

    def fail(timer: InternalTimer) -> None:
        if timer.timestamp == 2:
            raise KeyError("two")

    rig.recorder.hook = fail
    rig.use(1)
    for at in (1, 2, 3):
        timers.register_processing_time_timer("n", at)
    with pytest.raises(KeyError):
        rig.clock.set_current_time(5)
    assert timers.num_processing_time_timers() == 1
    rig.clock.set_current_time(5)
    assert [at for _, at, _, _ in rig.log] == [1, 2, 3]
    assert rig.metrics.snapshot()["numFiredTimers"] == 3
