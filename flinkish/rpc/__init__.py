"""Calls between processes: typed, serial at their receiver, fenced, and safe to expose.

Owns: gateways, endpoints, fencing; connections, their threads, security and wire format.
Uses: ``_core``, ``common``, ``metrics``, ``mailbox``, ``time``.
Must not: know Spark, unpickle what came off the wire, or listen where nobody asked it to.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.rpc.addresses import RpcAddress
    from flinkish.rpc.dead_letters import DeadLetter, DeadLetters
    from flinkish.rpc.declarations import ask, local, tell
    from flinkish.rpc.endpoint import FencedRpcEndpoint, RpcEndpoint
    from flinkish.rpc.executors import MainThreadExecutor, ScheduledExecutor
    from flinkish.rpc.gateway import FencedRpcGateway, RpcGateway
    from flinkish.rpc.leader import (
        FileLeaderElection,
        LeaderContender,
        LeaderElection,
        LeaderInformation,
        SingleLeaderElection,
    )
    from flinkish.rpc.schema import RpcTimeout
    from flinkish.rpc.service import RpcService
    from flinkish.rpc.states import EndpointState
    from flinkish.rpc.statistics import RpcStatistics
    from flinkish.rpc.tls import TlsConfig
    from flinkish.rpc.transport import TransportStatistics
    from flinkish.rpc.wire_types import Opaque, register_codec
    from flinkish.rpc.words import RpcFuture
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.rpc.addresses": ("RpcAddress",),
            "flinkish.rpc.dead_letters": ("DeadLetter", "DeadLetters"),
            "flinkish.rpc.declarations": ("ask", "local", "tell"),
            "flinkish.rpc.endpoint": ("FencedRpcEndpoint", "RpcEndpoint"),
            "flinkish.rpc.executors": ("MainThreadExecutor", "ScheduledExecutor"),
            "flinkish.rpc.gateway": ("FencedRpcGateway", "RpcGateway"),
            "flinkish.rpc.leader": (
                "FileLeaderElection",
                "LeaderContender",
                "LeaderElection",
                "LeaderInformation",
                "SingleLeaderElection",
            ),
            "flinkish.rpc.schema": ("RpcTimeout",),
            "flinkish.rpc.service": ("RpcService",),
            "flinkish.rpc.states": ("EndpointState",),
            "flinkish.rpc.statistics": ("RpcStatistics",),
            "flinkish.rpc.tls": ("TlsConfig",),
            "flinkish.rpc.transport": ("TransportStatistics",),
            "flinkish.rpc.wire_types": ("Opaque", "register_codec"),
            # Not the module that defines it: this one gives compiled futures clock and errors.
            "flinkish.rpc.words": ("RpcFuture",),
        },
    )

__all__ = [
    "DeadLetter",
    "DeadLetters",
    "EndpointState",
    "FencedRpcEndpoint",
    "FencedRpcGateway",
    "FileLeaderElection",
    "LeaderContender",
    "LeaderElection",
    "LeaderInformation",
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
    "SingleLeaderElection",
    "TlsConfig",
    "TransportStatistics",
    "ask",
    "local",
    "register_codec",
    "tell",
]
