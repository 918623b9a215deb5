"""Arrow batches of all kinds, and a process that reads damaged ones: python -m … SEED ROUNDS"""

import random
import sys
from collections.abc import Iterator

import pyarrow as pa

from flinkish.common.errors import SerializationError
from flinkish.rpc.wire_arrow import read_batch, read_table


def stream(batch: pa.RecordBatch, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, **options) as writer:
        writer.write(batch)
    return sink.getvalue().to_pybytes()


def specimens() -> Iterator[pa.RecordBatch]:
    count = 40
    texts = [f"text {n}" if n % 7 else None for n in range(count)]
    lists = [[*range(n % 5)] if n % 6 else None for n in range(count)]
    yield pa.record_batch(
        {"n": pa.array(range(count), pa.int64()), "b": [n % 2 == 0 for n in range(count)]}
    )
    yield pa.record_batch({"t": texts, "l": lists})
    yield pa.record_batch(
        {"t": pa.array(texts, pa.large_string()), "v": pa.array(texts, pa.string_view())}
    )
    yield pa.record_batch({"d": pa.array(texts).dictionary_encode()})
    structs = [{"a": n, "b": {"c": str(n)}} for n in range(count)]
    yield pa.record_batch(
        {
            "s": structs,
            "m": pa.array([[(str(n), n)] for n in range(count)], pa.map_(pa.string(), pa.int32())),
        }
    )
    codes = pa.array([n % 2 for n in range(count)], pa.int8())
    places = pa.array([n // 2 for n in range(count)], pa.int32())
    union = pa.UnionArray.from_dense(codes, places, [pa.array(range(20)), pa.array(texts[:20])])
    yield pa.record_batch({"u": union})
    ends = pa.array([10, 25, count], pa.int32())
    yield pa.record_batch(
        {"r": pa.RunEndEncodedArray.from_arrays(ends, pa.array(["a", None, "c"]))}
    )
    views = pa.ListViewArray.from_arrays([0, 3, 1], [3, 4, 2], pa.array(range(10)))
    yield pa.record_batch({"w": views})


def damage(rng: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(changed))
        if rng.random() < 0.5:
            changed[place] ^= 1 << rng.randrange(8)
        else:
            word = rng.choice([0, 1, 0x7FFFFFFF, 0xFFFFFFFF, rng.getrandbits(32)])
            changed[place : place + 4] = word.to_bytes(4, "little")
    return bytes(changed[: rng.randrange(len(changed))] if rng.random() < 0.05 else changed)


def use(value: pa.RecordBatch | pa.Table) -> None:
    """Touch all that is in it."""
    if value.num_rows < 100_000:
        value.to_pylist()


def main(seed: int, rounds: int) -> None:
    rng = random.Random(seed)
    honest = [stream(batch) for batch in specimens()]
    refused = 0
    for _ in range(rounds):
        data = memoryview(damage(rng, rng.choice(honest)))
        for read in (read_batch, read_table):
            try:
                use(read(data))
            except SerializationError:
                refused += 1
            except (ValueError, OverflowError, UnicodeDecodeError):
                pass  # a value that Python cannot show, such as a date of the year 300,000
    print(refused)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
