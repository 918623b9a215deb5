"""The user's own module that `deployed_job` imports; sent by `spark-submit`."""

from flinkish.common import Types
from flinkish.functions import (
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessJoinFunction,
    ProcessWindowFunction,
)
from flinkish.state.descriptors import ValueStateDescriptor


def shop_of(row):
    return row.shop


class Summing:
    """Totals of a key, for functions of several kinds."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def add(self, row):
        self.total.update((self.total.value() or 0) + row.amount)
        return row.shop, self.total.value()


class Add(Summing, KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield self.add(value)


class AddBoth(Summing, KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        yield self.add(value)

    process_element2 = process_element1


class AddRates(Summing, KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield self.add(value)

    def process_broadcast_element(self, value, ctx):
        pass


class AddInWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, sum(row.amount for row in elements)


class Pair(ProcessJoinFunction):
    def process_element(self, left, right, ctx):
        yield left.shop, left.amount + right.amount
