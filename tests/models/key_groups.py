"""Java's hash codes and Flink's key groups, as plainly as possible."""

import datetime
import struct

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def signed(number):
    """The low 32 bits, as Java's int."""
    return (number + 2**31) % 2**32 - 2**31


def polynomial(start, numbers):
    for number in numbers:
        start = 31 * start + number
    return signed(start)


def hash_long(number):
    number %= 2**64
    return signed(number ^ number >> 32)


def hash_double(number):
    if number != number:
        return 0x7FF80000
    return hash_long(struct.unpack(">Q", struct.pack(">d", number))[0])


def hash_float(number):
    if number != number:
        return 0x7FC00000
    return struct.unpack(">i", struct.pack(">f", number))[0]


def hash_string(text):
    units = text.encode("utf-16-be", "surrogatepass")
    return polynomial(0, (units[i] * 256 + units[i + 1] for i in range(0, len(units), 2)))


def hash_bytes(data):
    return polynomial(1, (byte - 256 if byte > 127 else byte for byte in data))


def hash_date(date):
    return signed((date.year & 0xFFFFF800) ^ ((date.year << 11) + (date.month << 6) + date.day))


def hash_timestamp(moment):
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    since = moment - EPOCH
    nanos = since.microseconds * 1000 + getattr(moment, "nanosecond", 0)
    return signed(hash_long(since.days * 86400 + since.seconds) + 51 * nanos)


def hash_decimal(number):
    negative, digits, exponent = number.as_tuple()
    unscaled = int("".join(map(str, digits)))
    magnitude = polynomial(0, (unscaled >> shift & 0xFFFFFFFF for shift in range(224, -1, -32)))
    return signed(31 * (-magnitude if negative else magnitude) - exponent)


HASHES = {
    "bool": lambda value: 1231 if value else 1237,
    "int": signed,
    "long": hash_long,
    "float": hash_float,
    "double": hash_double,
    "str": hash_string,
    "bytes": hash_bytes,
    "date": hash_date,
    "timestamp": hash_timestamp,
    "decimal": hash_decimal,
}


def java_hash(key, java):
    """``java`` is a name in HASHES, or a tuple of these for a tuple key."""
    if isinstance(java, tuple):
        return polynomial(0, map(java_hash, key, java))
    return HASHES[java](key)


def rotate(number, bits):
    return (number << bits | number >> (32 - bits)) % 2**32


def murmur(code):
    h = rotate(code * 0xCC9E2D51 % 2**32, 15) * 0x1B873593 % 2**32
    h = (rotate(h, 13) * 5 + 0xE6546B64) % 2**32 ^ 4
    h = (h ^ h >> 16) * 0x85EBCA6B % 2**32
    h = (h ^ h >> 13) * 0xC2B2AE35 % 2**32
    h = signed(h ^ h >> 16)
    return 0 if h == -(2**31) else abs(h)


def key_group(key, java, max_parallelism):
    return murmur(java_hash(key, java)) % max_parallelism
