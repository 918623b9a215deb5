"""Lists, maps, reduced and aggregated values of a key, and side outputs."""

from flinkish.common.typeinfo import Types
from flinkish.datastream import OutputTag
from flinkish.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    ReduceFunction,
    RuntimeContext,
)
from flinkish.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
)

late_tag = OutputTag("late-data", Types.TUPLE([Types.STRING(), Types.LONG()]))


class TopItems(KeyedProcessFunction):
    """The ``n`` items with the highest counts of each window; the key is the window's end."""

    def __init__(self, n):
        self.n = n
        self.items = None

    def open(self, runtime_context: RuntimeContext):
        self.items = runtime_context.get_list_state(
            ListStateDescriptor("items", Types.TUPLE([Types.STRING(), Types.LONG()]))
        )

    def process_element(self, value, ctx):
        window_end, item, count = value
        self.items.add((item, count))
        ctx.timer_service().register_event_time_timer(window_end + 1)

    def on_timer(self, timestamp, ctx):
        items = list(self.items)
        self.items.clear()
        items.sort(key=lambda item: (-item[1], item[0]))
        yield timestamp - 1, [name for name, _ in items[: self.n]]


class WordsOfUser(KeyedProcessFunction):
    """How often each user said each word; ``"?"`` asks, ``"-word"`` forgets a word."""

    def open(self, runtime_context: RuntimeContext):
        self.words = runtime_context.get_map_state(
            MapStateDescriptor("words", Types.STRING(), Types.INT())
        )

    def process_element(self, value, ctx):
        _, word = value
        if word == "?":
            if self.words.is_empty():
                yield "nothing"
            else:
                yield sorted(self.words.keys()), sum(self.words.values()), dict(self.words.items())
        elif word.startswith("-"):
            if self.words.contains(word[1:]):
                self.words.remove(word[1:])
        elif word in self.words:
            self.words[word] += 1
        else:
            self.words.put(word, 1)


class Longest(ReduceFunction):
    def reduce(self, value1, value2):
        return value1 if len(value1) >= len(value2) else value2


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class ReducedAndAggregated(KeyedProcessFunction):
    """Longest text, sum of lengths and average length of a key; an empty text starts anew."""

    def open(self, runtime_context: RuntimeContext):
        self.longest = runtime_context.get_reducing_state(
            ReducingStateDescriptor("longest", Longest(), Types.STRING())
        )
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b, Types.INT())
        )
        self.average = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor(
                "average", Average(), Types.TUPLE([Types.LONG(), Types.LONG()])
            )
        )

    def process_element(self, value, ctx):
        text = value[1]
        if not text:
            self.longest.clear()
            self.total.clear()
            self.average.clear()
        else:
            self.longest.add(text)
            self.total.add(len(text))
            self.average.add(len(text))
        yield self.longest.get(), self.total.get(), self.average.get()


class LateToSideOutput(KeyedProcessFunction):
    """Passes elements on; those behind the watermark go to a side output."""

    def process_element(self, value, ctx: "KeyedProcessFunction.Context"):
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield late_tag, value
        else:
            yield value


class Buffered(KeyedProcessFunction):
    """Elements of a key in the order of their times: held in a map until the watermark."""

    def open(self, runtime_context: RuntimeContext):
        self.buffer = runtime_context.get_map_state(
            MapStateDescriptor("buffer", Types.LONG(), Types.LIST(Types.STRING()))
        )

    def process_element(self, value, ctx):
        time = ctx.timestamp()
        held = self.buffer.get(time) or []
        self.buffer.put(time, [*held, value[1]])
        ctx.timer_service().register_event_time_timer(time)

    def on_timer(self, timestamp, ctx):
        yield from self.buffer.get(timestamp)
        self.buffer.remove(timestamp)
