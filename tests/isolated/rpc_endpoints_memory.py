"""A hundred thousand idle endpoints weigh little, and nothing stays behind when they end."""

import gc
import tracemalloc
from concurrent.futures import Future
from typing import Any

import psutil

from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService


class ActorGateway(RpcGateway):
    def poke(self) -> None: ...
    def value(self) -> Future[int]: ...


class Actor(RpcEndpoint, ActorGateway):
    def __init__(self, service: RpcService) -> None:
        super().__init__(service)
        self.pokes = 0

    def poke(self) -> None:
        self.pokes += 1

    def value(self) -> Any:
        return self.pokes


COUNT = 100_000
LIMIT = 2048  # bytes of each, all its parts included
PATIENCE = 600  # seconds; the last of them waits for all others


def resident() -> int:
    gc.collect()
    return psutil.Process().memory_info().rss


service = RpcService("crowd", ask_timeout=PATIENCE * 1000)
warm = Actor(service)
warm.start()
assert warm.get_self_gateway(ActorGateway).value().result(PATIENCE) == 0

before = resident()
actors = [Actor(service) for _ in range(COUNT)]
for actor in actors:
    actor.start()
    actor.run_async(actor.poke)
assert actors[-1].get_self_gateway(ActorGateway).value().result(PATIENCE) == 1
each = (resident() - before) / COUNT
assert each <= LIMIT, f"{each:.0f} bytes each"

ended = [actor.close_async() for actor in actors]
for future in ended:
    future.result(PATIENCE)
assert all(actor.pokes == 1 for actor in actors)
del actor, actors, ended, future
assert service.statistics().endpoints == 1

# Calls leave nothing: twice the same work needs no more memory the second time.
gateway = warm.get_self_gateway(ActorGateway)


def ask_often() -> None:
    for _ in range(20):
        futures = [gateway.value() for _ in range(1_000)]
        for future in futures:
            future.result(PATIENCE)
            future.add_done_callback(lambda _: None)
        gateway.value().cancel()


ask_often()
gc.collect()
tracemalloc.start()
ask_often()
gc.collect()
first = tracemalloc.get_traced_memory()[0]
ask_often()
gc.collect()
grown = tracemalloc.get_traced_memory()[0] - first
assert grown < 20_000, f"{grown} bytes stayed behind"
tracemalloc.stop()

service.close()
print(f"{each:.0f} bytes each")
