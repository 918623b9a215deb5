"""The traffic of a transport's connections, and the messages that were lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flinkish.rpc.connection import Connection

__all__ = ["Traffic", "TransportStatistics"]


@dataclass(frozen=True)
class TransportStatistics:
    """Counts since the transport was made, except ``connections`` and ``backlog_bytes``: now.

    ``handshakes_refused`` counts strangers that did not prove themselves, ``tells_dropped`` tells
    that were sent and still here when their connection ended, ``credit_waits`` requests that had
    to wait for a receiver that lagged.
    """

    connections: int
    accepted: int
    dialed: int
    dials_failed: int
    handshakes_refused: int
    connections_lost: int
    frames_sent: int
    frames_received: int
    bytes_sent: int
    bytes_received: int
    backlog_bytes: int
    tells_dropped: int
    credit_waits: int


@dataclass
class Traffic:
    """Counts of a transport, and of its connections that are over; on the I/O thread."""

    accepted: int = 0
    dialed: int = 0
    refused: int = 0
    lost: int = 0
    frames_sent: int = 0
    frames_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    tells: int = 0
    waits: int = 0

    def add(self, connection: Connection) -> None:
        """The counts of this connection."""
        frames, octets, waits = connection.counts
        self.frames_sent += frames
        self.bytes_sent += octets
        self.waits += waits
        self.frames_received += connection.received_frames
        self.bytes_received += connection.received_bytes
        self.tells += connection.lost_tells

    def statistics(
        self, connections: Iterable[Connection], dials_failed: int
    ) -> TransportStatistics:
        """With what these connections have done so far; from any thread."""
        now = Traffic(**vars(self))
        count = backlog = 0
        for connection in connections:
            now.add(connection)
            backlog += connection.backlog
            count += 1
        return TransportStatistics(
            connections=count,
            accepted=now.accepted,
            dialed=now.dialed,
            dials_failed=dials_failed,
            handshakes_refused=now.refused,
            connections_lost=now.lost,
            frames_sent=now.frames_sent,
            frames_received=now.frames_received,
            bytes_sent=now.bytes_sent,
            bytes_received=now.bytes_received,
            backlog_bytes=backlog,
            tells_dropped=now.tells,
            credit_waits=now.waits,
        )
