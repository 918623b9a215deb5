"""Numbers under which key groups travel, chosen so that Spark spreads them evenly.

Spark puts a row into partition pmod(hash, partitions), with Murmur3 (seed 42) over the 32 bits of
an int.  That hash only permutes the ints, so there is one int that hashes to a key group's own
number.  Sent under that *slot*, group g goes to partition g % partitions, whatever their
number: none has more than one group more than another.

Spark calls the groups of a partition in the order of their slots.  The lowest slots are no key
group's; one of them in each partition is for its clock (see `clock`), which so comes first.
"""

from __future__ import annotations

from functools import cache

__all__ = ["CLOCK_SLOTS", "clock_slot", "group_at", "slot_of"]

# All lower than the slot of any key group that there can be.
CLOCK_SLOTS = range(-(1 << 31), -(1 << 31) + 300_000)

_MASK = 0xFFFFFFFF
_SEED = 42
_BYTES = 4
# Constants of Murmur3 (x86, 32 bits), and the inverses modulo 2**32 of those that multiply.
_C1, _C2, _FIVE, _ADD, _F1, _F2 = 0xCC9E2D51, 0x1B873593, 5, 0xE6546B64, 0x85EBCA6B, 0xC2B2AE35
_UNDO_C1, _UNDO_C2, _UNDO_FIVE, _UNDO_F1, _UNDO_F2 = (
    pow(constant, -1, 1 << 32) for constant in (_C1, _C2, _FIVE, _F1, _F2)
)


@cache
def slot_of(key_group: int) -> int:
    """The int (32 bits, signed) that Spark hashes to this number."""
    h = key_group & _MASK
    h ^= h >> 16
    h = h * _UNDO_F2 & _MASK
    h ^= h >> 13 ^ h >> 26
    h = h * _UNDO_F1 & _MASK
    h ^= h >> 16 ^ _BYTES
    h = (h - _ADD) * _UNDO_FIVE & _MASK
    k = _rotate(h, 19) ^ _SEED
    k = _rotate(k * _UNDO_C2 & _MASK, 17)
    return _signed(k * _UNDO_C1 & _MASK)


@cache
def clock_slot(partition: int, partitions: int) -> int | None:
    """A slot that Spark puts into this partition, before its key groups; None if there is none."""
    found = (slot for slot in CLOCK_SLOTS if _hash(slot) % partitions == partition)
    return next(found, None)


@cache
def group_at(slot: int) -> int:
    """The key group that travels under this int: Spark's hash of it."""
    return _hash(slot)


def _hash(slot: int) -> int:
    k = _rotate((slot & _MASK) * _C1 & _MASK, 15) * _C2 & _MASK
    h = (_rotate(k ^ _SEED, 13) * _FIVE + _ADD & _MASK) ^ _BYTES
    h = (h ^ h >> 16) * _F1 & _MASK
    h = (h ^ h >> 13) * _F2 & _MASK
    return _signed(h ^ h >> 16)


def _rotate(bits: int, by: int) -> int:
    return (bits << by | bits >> 32 - by) & _MASK


def _signed(bits: int) -> int:
    return bits - (1 << 32) if bits >> 31 else bits
