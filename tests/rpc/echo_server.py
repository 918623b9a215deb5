"""A service in a process of its own: python echo_server.py OPTIONS-AS-JSON

It answers every request with its payload, or swallows requests with ``"mute"``; prints its port,
ends with its standard input.
"""

import json
import sys
from typing import Any

from flinkish._core.rpc.framing import FrameSink
from flinkish._core.testing.framing import EchoSink
from flinkish.rpc.connection import Connection
from flinkish.rpc.transport import Transport
from tests.rpc.patience import patient
from tests.waiting import PATIENCE


class Counting:
    """Answers, and prints how many came and went when asked to."""

    def __init__(self, mute: bool) -> None:
        self.mute = mute

    def sink(self, connection: Connection) -> FrameSink:
        return FrameSink() if self.mute else EchoSink(connection)

    def on_connected(self, connection: Connection) -> None: ...

    def on_lost(self, connection: Connection, error: Exception) -> None: ...


def main() -> None:
    options: dict[str, Any] = json.loads(sys.argv[1])
    handler = Counting(options.pop("mute", False))
    with patient():
        server = Transport("echo", handler, **({"host": "127.0.0.1"} | options))
    print(server.listen()[1], flush=True)
    for _ in sys.stdin:
        print(json.dumps(vars(server.statistics())), flush=True)
    server.close().result(PATIENCE)


if __name__ == "__main__":
    main()
