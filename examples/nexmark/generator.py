"""The events of an online auction: persons who register, items put up, bids.

They follow the Nexmark benchmark (Tucker et al., NEXMark - A Benchmark for Queries over Data
Streams; the mix and the skew are those of its Apache Beam and Flink editions): of 50 events one is
a person, three are auctions, 46 are bids; half of the bids go to the auctions that are hot at the
moment, three of four come from the bidders who are, and three of four auctions from the sellers.

Every event is a function of the seed and its number, and of nothing else.  So any range of numbers
can be made anywhere, by any worker, as often as wished, and is always the same; that is what lets
Spark make a lost batch again.  Randomness is a hash of (seed, number of the event, name of the
draw): SplitMix64, whose output is equidistributed enough for this.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Of 50 events in turn.
EPOCH, PERSONS, AUCTIONS, BIDS = 50, 1, 3, 46

FIRST_ID = 1_000  # of persons and auctions
FIRST_CATEGORY, CATEGORIES = 10, 5
ACTIVE_PERSONS = 1_000
OPEN_AUCTIONS = 100
AHEAD = 10  # ids that are named before their event comes, as happens on a disordered stream
HOT_EVERY = 100  # one id of so many is hot, until the next one comes

TIME = pa.timestamp("us", tz="UTC")
PERSON = pa.schema(
    {
        "id": pa.int64(),
        "name": pa.string(),
        "email": pa.string(),
        "credit_card": pa.string(),
        "city": pa.string(),
        "state": pa.string(),
        "ts": TIME,
    }
)
AUCTION = pa.schema(
    {
        "id": pa.int64(),
        "item": pa.string(),
        "description": pa.string(),
        "initial_bid": pa.int64(),
        "reserve": pa.int64(),
        "ts": TIME,
        "expires": TIME,
        "seller": pa.int64(),
        "category": pa.int64(),
    }
)
BID = pa.schema(
    {
        "auction": pa.int64(),
        "bidder": pa.int64(),
        "price": pa.int64(),
        "channel": pa.string(),
        "url": pa.string(),
        "ts": TIME,
    }
)

_FIRST_NAMES = pa.array(["Ada", "Bela", "Carl", "Dora", "Emil", "Fred", "Gail", "Hugo", "Ines"])
_LAST_NAMES = pa.array(["Abel", "Bauer", "Costa", "Duarte", "Evans", "Fuchs", "Gomez"])
_PLACES = pa.array(
    [
        ("Phoenix", "AZ"),
        ("Los Angeles", "CA"),
        ("San Francisco", "CA"),
        ("Boise", "ID"),
        ("Portland", "OR"),
        ("Bend", "OR"),
        ("Redmond", "WA"),
        ("Seattle", "WA"),
        ("Kent", "WA"),
        ("Cheyenne", "WY"),
    ],
    pa.struct([("city", pa.string()), ("state", pa.string())]),
)
_HOT_CHANNELS = pa.array(["Google", "Facebook", "Baidu", "Apple"])
_COLD_CHANNELS = 10_000
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz_", np.uint8)


@dataclass(frozen=True)
class Nexmark:
    """The stream of events number 0, 1, 2 and so on.

    ``rate`` is in events per second of event time, ``start_ms`` the time of the first in ms since
    the epoch.  Within each group of ``disorder`` events the times are permuted, so that an event
    comes up to ``disorder / rate`` seconds too late.
    """

    seed: int = 42
    rate: int = 10_000
    start_ms: int = 1_735_689_600_000  # 2025-01-01 00:00 UTC
    disorder: int = 100

    def __post_init__(self) -> None:
        """Refuse what would not be a stream."""
        if self.rate < 1 or self.disorder < 1:
            raise ValueError(f"rate and disorder must be at least 1, not {self}")

    @property
    def lateness_ms(self) -> int:
        """By how much an event may come behind a later one, at most."""
        return -(-self.disorder * 1_000 // self.rate)

    # --- which event is what

    @staticmethod
    def persons_among(numbers: np.ndarray) -> np.ndarray:
        """Those of the numbers that are persons."""
        return numbers[numbers % EPOCH < PERSONS]

    @staticmethod
    def auctions_among(numbers: np.ndarray) -> np.ndarray:
        """Those of the numbers that are auctions."""
        turn = numbers % EPOCH
        return numbers[(turn >= PERSONS) & (turn < PERSONS + AUCTIONS)]

    @staticmethod
    def bids_among(numbers: np.ndarray) -> np.ndarray:
        """Those of the numbers that are bids."""
        return numbers[numbers % EPOCH >= PERSONS + AUCTIONS]

    # --- the three kinds of event; of numbers of that kind only

    def of_kind(self, kind: str, numbers: np.ndarray) -> pa.RecordBatch:
        """The events of a kind ("person", "auction" or "bid") among those of any numbers."""
        mine = getattr(self, f"{kind}s_among")(numbers)
        made: pa.RecordBatch = getattr(self, f"{kind}s")(mine)
        return made

    def persons(self, numbers: np.ndarray) -> pa.RecordBatch:
        """The persons that register with these events."""
        first = self._pick(_FIRST_NAMES, numbers, "first name")
        last = self._pick(_LAST_NAMES, numbers, "last name")
        place = self._pick(_PLACES, numbers, "place")
        mail = [self._letters(numbers, "mailbox", 7), "@", self._letters(numbers, "host", 5)]
        digits = [pa.array(self._draw(numbers, f"card {i}", 9_000) + 1_000) for i in range(4)]
        return pa.record_batch(
            [
                pa.array(FIRST_ID + numbers // EPOCH),
                pc.binary_join_element_wise(first, last, " "),
                pc.binary_join_element_wise(*mail, ".com", ""),
                pc.binary_join_element_wise(*(part.cast(pa.string()) for part in digits), " "),
                pc.struct_field(place, "city"),
                pc.struct_field(place, "state"),
                self.times(numbers),
            ],
            schema=PERSON,
        )

    def auctions(self, numbers: np.ndarray) -> pa.RecordBatch:
        """The auctions that open with these events."""
        time = self.times_ms(numbers)
        price = self._price(numbers, "initial bid")
        until_others = OPEN_AUCTIONS * EPOCH // AUCTIONS * 1_000 // self.rate
        length = 1 + self._draw(numbers, "length", max(1, 2 * until_others))
        return pa.record_batch(
            [
                pa.array(FIRST_ID + self._last_auction(numbers)),
                self._letters(numbers, "item", 20),
                self._letters(numbers, "description", 100),
                pa.array(price),
                pa.array(price + self._price(numbers, "reserve")),
                _timestamps(time),
                _timestamps(time + length),
                pa.array(self._person(numbers, "seller")),
                pa.array(FIRST_CATEGORY + self._draw(numbers, "category", CATEGORIES)),
            ],
            schema=AUCTION,
        )

    def bids(self, numbers: np.ndarray) -> pa.RecordBatch:
        """The bids that are made with these events."""
        channel, url = self._channel(numbers)
        return pa.record_batch(
            [
                pa.array(self._auction(numbers)),
                pa.array(self._person(numbers, "bidder")),
                pa.array(self._price(numbers, "price")),
                channel,
                url,
                self.times(numbers),
            ],
            schema=BID,
        )

    # --- time

    def times_ms(self, numbers: np.ndarray) -> np.ndarray:
        """Event times in ms since the epoch, as int64."""
        group, place = np.divmod(numbers, self.disorder)
        # A step that shares no divisor with the size of the group visits every place once.
        step = next(
            s
            for s in range(self.disorder // 3 + 1, 2 * self.disorder + 2)
            if np.gcd(s, self.disorder) == 1
        )
        moved = (place * step + group) % self.disorder
        return self.start_ms + (group * self.disorder + moved) * 1_000 // self.rate

    def times(self, numbers: np.ndarray) -> pa.Array:
        """Event times as Arrow timestamps."""
        return _timestamps(self.times_ms(numbers))

    # --- who and what; ids that exist or are about to

    def _last_auction(self, numbers: np.ndarray) -> np.ndarray:
        epoch, turn = np.divmod(numbers, EPOCH)
        return epoch * AUCTIONS + np.clip(turn - PERSONS, -1, AUCTIONS - 1)

    def _person(self, numbers: np.ndarray, role: str) -> np.ndarray:
        last = numbers // EPOCH
        hot = last // HOT_EVERY * HOT_EVERY
        active = np.minimum(last + 1, ACTIVE_PERSONS)
        any_one = last + 1 - active + self._draw(numbers, role, active + AHEAD)
        return FIRST_ID + np.where(self._draw(numbers, f"hot {role}", 4) > 0, hot, any_one)

    def _auction(self, numbers: np.ndarray) -> np.ndarray:
        last = self._last_auction(numbers)
        hot = last // HOT_EVERY * HOT_EVERY
        oldest = np.maximum(last - OPEN_AUCTIONS, 0)
        any_one = oldest + self._draw(numbers, "auction", last - oldest + 1 + AHEAD)
        return FIRST_ID + np.where(self._draw(numbers, "hot auction", 2) > 0, hot, any_one)

    def _price(self, numbers: np.ndarray, what: str) -> np.ndarray:
        spread = self._draw(numbers, what, 1 << 53) / float(1 << 53)
        return np.rint(np.power(10.0, spread * 6) * 100).astype(np.int64)

    def _channel(self, numbers: np.ndarray) -> tuple[pa.Array, pa.Array]:
        cold = self._draw(numbers, "cold channel", _COLD_CHANNELS)
        cold_id = pa.array(cold).cast(pa.string())
        is_hot = pa.array(self._draw(numbers, "hot channel", 2) > 0)
        hot_name = self._pick(_HOT_CHANNELS, numbers, "channel")
        channel = pc.if_else(is_hot, hot_name, pc.binary_join_element_wise("channel-", cold_id, ""))
        folders = [self._letters(numbers, f"folder {i}", 5) for i in range(3)]
        page = pc.binary_join_element_wise(
            "https://www.nexmark.com", *folders, "item.htm?query=1", "/"
        )
        tracked = pc.binary_join_element_wise(page, "&channel_id=", cold_id, "")
        return channel, pc.if_else(is_hot, page, tracked)

    # --- chance

    def _draw(self, numbers: np.ndarray, what: str, below: int | np.ndarray) -> np.ndarray:
        """For each number an int64 in [0, below), the same whenever it is asked for."""
        return (self._hash(numbers, what) % np.asarray(below, np.uint64)).astype(np.int64)

    def _hash(self, numbers: np.ndarray, what: str) -> np.ndarray:
        salt = np.uint64((self.seed * 0x9E3779B97F4A7C15 + zlib.crc32(what.encode())) % 2**64)
        with np.errstate(over="ignore"):
            z = _mix(numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ _mix(salt))
        return z

    def _pick(self, values: pa.Array, numbers: np.ndarray, what: str) -> pa.Array:
        return values.take(pa.array(self._draw(numbers, what, len(values))))

    def _letters(self, numbers: np.ndarray, what: str, length: int) -> pa.Array:
        """Words of so many letters."""
        table = np.empty((len(numbers), length), np.uint8)
        for start in range(0, length, 12):  # 27**12 < 2**64: twelve letters from one hash
            bits = self._hash(numbers, f"{what} {start}")
            for column in range(start, min(start + 12, length)):
                bits, letter = np.divmod(bits, np.uint64(len(_LETTERS)))
                table[:, column] = _LETTERS[letter.astype(np.intp)]
        offsets = np.arange(len(numbers) + 1, dtype=np.int32) * length
        return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(offsets), pa.py_buffer(table))


def _mix(z: np.ndarray | np.uint64) -> np.ndarray:
    """The finisher of SplitMix64."""
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def _timestamps(ms: np.ndarray) -> pa.Array:
    return pa.array(ms * 1_000, pa.timestamp("us")).cast(TIME)
