"""A keyed process operator against its model: any operations, snapshots, any parallelism."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from flinkish.common import MIN_TIMESTAMP, OutputTag, StreamRecord
from flinkish.functions import KeyedProcessFunction
from flinkish.operators import KeyedProcessOperator
from flinkish.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flinkish.testing import KeyedOneInputStreamOperatorTestHarness
from flinkish.time import (
    TimeDomain,
    assign_to_key_group,
    compute_operator_index_for_key_group,
)
from tests.models.keyed_operator import ModelOperator

MAX_PARALLELISM = 7
SIDE = OutputTag("side")
TTL = 20


def fading(descriptor: Any) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(TTL).build())
    return descriptor


class Interpreter(KeyedProcessFunction):
    """Does the steps of each element, and in timers what their times say."""

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value"))
        self.items = runtime_context.get_list_state(ListStateDescriptor("items"))
        self.pairs = runtime_context.get_map_state(MapStateDescriptor("pairs"))
        self.fading = runtime_context.get_state(fading(ValueStateDescriptor("fading")))
        self.fading_items = runtime_context.get_list_state(fading(ListStateDescriptor("f items")))
        self.fading_pairs = runtime_context.get_map_state(fading(MapStateDescriptor("f pairs")))

    def everything(self) -> tuple[Any, ...]:
        return (
            self.value.value(),
            list(self.items.get()),
            list(self.pairs.items()),
            self.fading.value(),
            list(self.fading_items.get()),
            list(self.fading_pairs.items()),
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        base = max(timers.current_watermark(), 0)
        now = timers.current_processing_time()
        for step, argument in value[1]:
            if step == "put":
                self.value.update(argument)
                self.fading.update(argument)
            elif step == "add":
                self.items.add(argument)
                self.fading_items.add(argument)
            elif step == "pair":
                self.pairs.put(argument, (argument, "paired"))
                self.fading_pairs.put(argument, now)
            elif step == "drop":
                self.pairs.remove(argument)
                self.fading_pairs.remove(argument)
            elif step == "clear":
                for state in (self.value, self.items, self.pairs, self.fading, self.fading_items):
                    state.clear()
            elif step == "side":
                yield SIDE, (ctx.get_current_key(), argument)
            else:
                timer, start = {
                    "at": (timers.register_event_time_timer, base),
                    "not at": (timers.delete_event_time_timer, base),
                    "later": (timers.register_processing_time_timer, now),
                    "not later": (timers.delete_processing_time_timer, now),
                }[step]
                timer(start + argument)
        yield ctx.get_current_key(), ctx.timestamp(), self.everything()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        event = ctx.time_domain() is TimeDomain.EVENT_TIME
        register = (
            timers.register_event_time_timer if event else timers.register_processing_time_timer
        )
        if timestamp % 2 == 0:
            register(timestamp + 3)
        if timestamp % 5 == 0:
            timers.delete_event_time_timer(timestamp + 1)
        if timestamp % 7 == 0:
            register(timestamp - 1)
        if timestamp % 11 == 0:
            self.items.clear()
        self.items.add(timestamp)
        yield SIDE, (ctx.get_current_key(), timestamp)
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name, self.everything()


KEYS = st.sampled_from(
    [0, -1, 7, 1 << 40, "", "key", "a key longer than a word", b"key", (1, "x"), True, 2.5]
)
DELTAS = st.integers(-6, 30)
MAP_KEYS = st.sampled_from([0, "a", "another long key", (1,)])
STEPS = st.one_of(
    st.tuples(st.just("put"), st.sampled_from([None, 0, 1.5, "text", "a longer text", [1, [2]]])),
    st.tuples(st.just("add"), st.sampled_from([0, "text", "text that needs a place", (1, None)])),
    st.tuples(
        st.sampled_from(["pair", "drop"]), st.sampled_from([0, "a", "another long key", (1,)])
    ),
    st.tuples(st.just("clear"), st.none()),
    st.tuples(st.just("side"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["at", "not at", "later", "not later"]), DELTAS),
)
ELEMENTS = st.tuples(KEYS, st.lists(STEPS, min_size=1, max_size=4))


class KeyedOperatorMachine(RuleBasedStateMachine):
    """Elements, both clocks, and restarts from snapshots with another parallelism."""

    @initialize()
    def start(self) -> None:
        self.model = ModelOperator(Interpreter())
        self.harnesses = [self.harness(1, 0)]
        self.harnesses[0].open()
        self.restored = False

    def harness(self, parallelism: int, index: int) -> Any:
        return KeyedOneInputStreamOperatorTestHarness(
            KeyedProcessOperator(Interpreter()),
            lambda element: element[0],
            max_parallelism=MAX_PARALLELISM,
            num_subtasks=parallelism,
            subtask_index=index,
        )

    def owner(self, key: Any) -> Any:
        group = assign_to_key_group(key, MAX_PARALLELISM)
        return self.harnesses[
            compute_operator_index_for_key_group(MAX_PARALLELISM, len(self.harnesses), group)
        ]

    @rule(element=ELEMENTS, timestamp=st.none() | st.integers(-10, 200))
    def process(self, element: Any, timestamp: int | None) -> None:
        self.owner(element[0]).process_element(element, timestamp)
        self.model.process(element[0], element, timestamp)

    @rule(elements=st.lists(ELEMENTS, max_size=8), timestamp=st.integers(-10, 200))
    def process_batch(self, elements: list[Any], timestamp: int) -> None:
        batches = defaultdict(list)
        for element in elements:
            batches[self.owner(element[0])].append(element)
        for harness, batch in batches.items():
            harness.operator.process_batch(batch, [timestamp] * len(batch))
        for element in elements:
            self.model.process(element[0], element, timestamp)

    @rule(delta=st.integers(-5, 40))
    def advance_watermark(self, delta: int) -> None:
        watermark = max(self.model.watermark, 0) + delta
        for harness in self.harnesses:
            harness.process_watermark(watermark)
        self.model.watermark = watermark
        self.model.advance(TimeDomain.EVENT_TIME, watermark)

    @rule(delta=st.integers(-5, 40))
    def advance_time(self, delta: int) -> None:
        self.set_time(self.model.now + delta)

    def set_time(self, now: int) -> None:
        for harness in self.harnesses:
            harness.set_processing_time(now)
        self.model.now = now
        self.model.advance(TimeDomain.PROCESSING_TIME, now)

    @rule(parallelism=st.integers(1, 3))
    def restart(self, parallelism: int) -> None:
        self.compare_output()
        old = len(self.harnesses)
        snapshots = [harness.snapshot(1, 1) for harness in self.harnesses]
        self.compare_keys()
        for harness in self.harnesses:
            harness.close()
        self.harnesses = [self.harness(parallelism, index) for index in range(parallelism)]
        for index, harness in enumerate(self.harnesses):
            whole = harness.repackage_state(*snapshots)
            harness.initialize_state(
                harness.repartition_operator_state(whole, MAX_PARALLELISM, old, parallelism, index)
            )
            harness.open()
        self.restored = True
        self.model.watermark = MIN_TIMESTAMP
        self.model.late = self.model.fired = 0
        self.model.output.clear()
        self.set_time(self.model.now)

    def compare_keys(self) -> None:
        """After a snapshot keys that hold nothing are forgotten."""
        held = {key for timers in self.model.timers.values() for _, key in timers}
        for state in self.model.states.values():
            for self.model.key in list(state.kept):
                if state.alive():
                    held.add(self.model.key)
        tables = [harness.operator.table for harness in self.harnesses]
        assert sum(table.number_of_keys for table in tables) == len(held)

    @invariant()
    def compare_counts(self) -> None:
        for domain, count in (
            (TimeDomain.EVENT_TIME, "num_event_time_timers"),
            (TimeDomain.PROCESSING_TIME, "num_processing_time_timers"),
        ):
            found = sum(getattr(harness, count)() for harness in self.harnesses)
            assert found == len(self.model.timers[domain])
        for harness in self.harnesses:
            harness.operator.table._check()
        late = sum(harness.get_metric("numLateRecords") for harness in self.harnesses)
        assert late == self.model.late
        assert sum(h.get_metric("numFiredTimers") for h in self.harnesses) == self.model.fired

    @invariant()
    def compare_output(self) -> None:
        """Key by key; in one order for all as long as one operator lives."""
        for tag in (None, SIDE):
            expected = [(v, at) for name, v, at in self.model.output if name == tag]
            found = [
                (record.value, record.timestamp)
                for harness in self.harnesses
                for record in (
                    harness.extract_output_stream_records()
                    if tag is None
                    else harness.get_side_output(tag) or []
                )
            ]
            assert by_key(found) == by_key(expected)
            if not self.restored:
                assert found == expected

    def teardown(self) -> None:
        for harness in getattr(self, "harnesses", []):
            harness.close()


def by_key(records: list[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    found = defaultdict(list)
    for value, timestamp in records:
        found[type(value[0]), value[0]].append((value, timestamp))
    return found


TestKeyedOperator = KeyedOperatorMachine.TestCase
TestKeyedOperator.settings = settings(
    settings.get_profile("default"), max_examples=60, stateful_step_count=40
)


def test_the_machine_knows_records() -> None:
    """The same list of records is equal to itself only in its order."""
    records = [((1, "a"), 1), ((True, "a"), 1), ((1, "b"), None)]
    assert by_key(records)[int, 1] == [((1, "a"), 1), ((1, "b"), None)]
    assert StreamRecord((1, "a"), 1) != StreamRecord((1, "a"), None)
