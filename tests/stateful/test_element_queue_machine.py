"""The element queue against its model, step by step, with its own check after every step."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from flinkish._core.operators.element_queue import ElementQueue
from tests.models.element_queue import ModelElementQueue

objects = st.none() | st.integers(0, 3) | st.text(max_size=1)


class ElementQueueMachine(RuleBasedStateMachine):
    @initialize(capacity=st.sampled_from([1, 2, 3, 7, 100]), ordered=st.booleans())
    def start(self, capacity: int, ordered: bool) -> None:
        self.queue = ElementQueue(capacity, ordered=ordered)
        self.model = ModelElementQueue(capacity, ordered)
        self.handles: list[tuple[int, int]] = []  # the queue's and the model's, also stale ones
        self.count = 0

    def keep(self, real: int | None, model: int | None) -> None:
        assert (real is None) == (model is None)
        if real is not None and model is not None:
            assert real > 0
            self.handles.append((real, model))

    @rule(count=st.integers(1, 4))
    def put(self, count: int) -> None:
        for _ in range(count):
            self.count += 1
            self.keep(self.queue.put(self.count), self.model.put(self.count))

    @rule()
    def put_watermark(self) -> None:
        self.count += 1
        mark = f"watermark {self.count}"
        assert self.queue.put_watermark(mark) == self.model.put_watermark(mark)

    @precondition(lambda self: self.handles)
    @rule(data=st.data(), result=objects)
    def complete(self, data: st.DataObject, result: object) -> None:
        real, model = data.draw(st.sampled_from(self.handles))
        assert self.queue.complete(real, result) == self.model.complete(model, result)
        assert not self.queue.complete(real, "again")

    @precondition(lambda self: self.handles)
    @rule(result=objects)
    def complete_one_of_the_last(self, result: object) -> None:
        for real, model in self.handles[-3:]:
            assert self.queue.complete(real, result) == self.model.complete(model, result)

    @precondition(lambda self: self.handles)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        real, model = data.draw(st.sampled_from(self.handles[-8:]))
        self.keep(self.queue.renew(real), self.model.renew(model))
        assert self.queue.renew(real) is None
        assert not self.queue.complete(real, "stale")

    @rule()
    def emit(self) -> None:
        assert self.queue.emit() == self.model.emit()

    @rule(limit=st.integers(0, 8))
    def emit_many(self, limit: int) -> None:
        assert self.queue.emit_many(limit) == self.model.emit_many(limit)

    @invariant()
    def holds_together(self) -> None:
        if hasattr(self, "queue"):
            self.queue._check()
            assert len(self.queue) == len(self.model)
            assert self.queue.is_full == self.model.is_full
            assert self.queue.has_completed == self.model.has_completed
            assert self.queue.elements() == self.model.elements()


ElementQueueMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=50)
TestElementQueue = ElementQueueMachine.TestCase
