"""Logs of tables, as tests need them."""

from flinkish._core.state import log as state_log
from flinkish._core.state.table import StateTable

WHOLE = 2**64 - 1


def dump(table: StateTable, key_group: int) -> bytes:
    """Everything of a key group, as one piece."""
    (whole,) = dumped(table, key_group, WHOLE)
    return whole


def dumped(table: StateTable, key_group: int, most: int) -> list[bytes]:
    """Everything of a key group, in pieces of about `most` bytes."""
    pieces: list[bytes] = []
    state_log.dump_pieces(table, key_group, most, pieces.append)
    return pieces
