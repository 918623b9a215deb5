"""Calls between processes: typed, serial at their receiver, fenced, and safe to expose.

Owns: gateways, endpoints, fencing; connections, their threads, security and wire format.
Uses: ``_core``, ``common``, ``metrics``, ``mailbox``, ``time``.
Must not: know Spark, unpickle what came off the wire, or listen where nobody asked it to.
"""

from flinkish.rpc.addresses import RpcAddress
from flinkish.rpc.dead_letters import DeadLetter, DeadLetters
from flinkish.rpc.endpoint import FencedRpcEndpoint, RpcEndpoint
from flinkish.rpc.executors import MainThreadExecutor, ScheduledExecutor
from flinkish.rpc.futures import RpcFuture
from flinkish.rpc.gateway import FencedRpcGateway, RpcGateway, local
from flinkish.rpc.schema import RpcTimeout
from flinkish.rpc.service import RpcService
from flinkish.rpc.states import EndpointState
from flinkish.rpc.statistics import RpcStatistics
from flinkish.rpc.wire_types import Opaque, register_codec

__all__ = [
    "DeadLetter",
    "DeadLetters",
    "EndpointState",
    "FencedRpcEndpoint",
    "FencedRpcGateway",
    "MainThreadExecutor",
    "Opaque",
    "RpcAddress",
    "RpcEndpoint",
    "RpcFuture",
    "RpcGateway",
    "RpcService",
    "RpcStatistics",
    "RpcTimeout",
    "ScheduledExecutor",
    "local",
    "register_codec",
]
