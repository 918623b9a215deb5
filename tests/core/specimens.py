"""Keys and values of every kind, for tests of the floor's state."""

import datetime
import decimal

UTC = datetime.timezone.utc

# No two of these are one key, though Python finds some of them equal.
KEYS = [
    0,
    1,
    True,
    -(2**63),
    2**63,
    -(2**70),
    1.0,
    -0.0,
    float("nan"),
    "",
    "a",
    "ähnlich",
    "longer than the eight bytes of a word",
    b"",
    b"a",
    b"\x00" * 9,
    (),
    (1, "a", (b"", 2.5)),
    datetime.date(1, 1, 1),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(2024, 2, 29, tzinfo=UTC),
    decimal.Decimal("-12.5"),
    decimal.Decimal("12345678901234567890123456789012345678"),
]

VALUES = [
    *KEYS[:16],
    ["any", {"object": (1, None)}],
    {"a dict": 1},
    b"x" * 40,
    "y" * 600,
]
