"""Throw damaged bytes at what reads state: ``python ci/fuzz_state.py [seconds [target [round]]]``.

What a valid log, value, frame, payload or version file consists of is made first, and then cut,
flipped, spliced and stretched; in the files of a mapped table bits are flipped.  Whatever comes of
it, the reader gives an error that it promises, or something that can be used; a log that it takes
leaves a table that passes its own check.  Every round has a seed of its own, so a crash is repeated
by the target and the round that this program names.
"""

import contextlib
import faulthandler
import mmap
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from flinkish._core.columns.records import RecordReader, timestamps_ms
from flinkish._core.state import log as state_log
from flinkish._core.state.key_rows import forget_scoped_rows
from flinkish._core.state.table import StateTable
from flinkish._core.testing.state import decode, encode, limit_segments
from flinkish._core.values import codec
from flinkish.common.errors import CorruptStateError, StateError
from flinkish.spark.versions.directory import VersionDirectory
from flinkish.spark.versions.groups import (
    PAGE,
    Group,
    Piece,
    decode_node,
    pack_pieces,
    unpack_pieces,
)
from flinkish.spark.versions.loading import read_version
from flinkish.spark.versions.manifest import (
    KIND_MANIFEST,
    Manifest,
    MisplacedFile,
    read_manifest,
)
from flinkish.spark.versions.names import VersionName
from flinkish.spark.versions.state import PartitionState
from tests.core.damaged_tables import SENSELESS, SPACES, States
from tests.core.damaged_tables import play as play_table
from tests.core.logs import dump, dumped
from tests.core.specimens import KEYS, VALUES

ROOM = 1 << 24  # bytes that a table may take: a damaged id may ask for any number
TELLING = [0, 1, 2, 3, 4, 5, 6, 8, 12, 13, 14, 15, 16, 0x7F, 0x80, 0x81, 0xFE, 0xFF]


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with a few changes of any kind."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(changed) + 1)
        size = chance.choice((1, 1, 2, 4, 8, 16))
        kind = chance.randrange(7)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1 and at < len(changed):
            changed[at] = chance.choice(TELLING)
        elif kind == 2:
            changed[at : at + size] = chance.choice((b"\x00", b"\xff")) * size
        elif kind == 3:
            changed[at:at] = bytes(chance.choice(TELLING) for _ in range(size))
        elif kind == 4:
            del changed[at : at + size]
        elif kind == 5:
            other = chance.randrange(len(changed) + 1)
            changed[at : at + size] = changed[other : other + size]
        elif chance.randrange(8) == 0:
            del changed[at:]
    return bytes(changed)


def log(chance: random.Random) -> None:
    """One piece of a log is damaged; it may be the only one."""
    states = States(StateTable(0, tracking=True))
    pieces = []
    for _ in range(chance.randrange(1, 4)):
        for _ in range(chance.randrange(1, 12)):
            states.change(chance)
        pieces.append(state_log.commit(states.table))
    if chance.randrange(2):
        pieces = dumped(states.table, 0, chance.choice((0, 50, 10**9)))
    at = chance.randrange(len(pieces))
    pieces[at] = damaged(pieces[at], chance)
    restored = States(StateTable(0, tracking=True))
    cells = list(range(5))
    try:
        if len(pieces) == 1 and chance.randrange(2):
            state_log.load(restored.table, pieces[0], cells, 0)
        else:
            state_log.replay(restored.table, pieces, cells, 0)
    except (state_log.DamagedLog, MemoryError):
        return
    restored.table._check()
    for use in restored.uses():
        with contextlib.suppress(SENSELESS):
            use()
    state_log.commit(restored.table)
    restored.table._check()
    dump(restored.table, 0)
    restored.table.track(False)
    with contextlib.suppress(restored.table.illegal_state):  # rows with timers
        forget_scoped_rows(restored.table)


def table(chance: random.Random) -> None:
    """The files of a mapped table are damaged; it is read, changed, logged and built again."""
    play_table(chance)


def value(chance: random.Random) -> None:
    """A value, a key or a key within a namespace."""
    thing = chance.choice([*KEYS, *VALUES, tuple(KEYS), ((1, ("a",)), ((),))])
    with contextlib.suppress(TypeError):
        tag, data = encode(thing, namespace=chance.choice(SPACES))
        if tag == 13 or chance.randrange(4) == 0:  # what pickle does is its own affair
            tag = chance.choice((3, 4, 6, 8, 9, 10, 11, 12, 15))
        with contextlib.suppress(SENSELESS):
            decode(tag, damaged(data, chance), part=chance.choice((None, "key", "namespace")))


def frame(chance: random.Random) -> None:
    """A sealed frame gives back what was sealed, or an error."""
    contents = bytes(chance.randrange(4) for _ in range(chance.choice((0, 1, 600, 2000))))
    sealed = codec.seal(1, 2, 3, contents)
    changed = damaged(sealed, chance)
    for read in (codec.frame_header, lambda blob: codec.unseal(blob, 1, 3)):
        with contextlib.suppress(codec.CorruptFrame):
            read(changed)
    with contextlib.suppress(codec.CorruptFrame):
        assert bytes(codec.unseal(changed, 1, 3)) == contents, "damage that nobody saw"


SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("number", pa.int64()),
        ("bytes", pa.binary()),
        ("truth", pa.bool_()),
        ("time", pa.timestamp("us", "UTC")),
        ("money", pa.decimal128(10, 2)),
        ("list", pa.list_(pa.string())),
        ("map", pa.map_(pa.string(), pa.int32())),
        ("struct", pa.struct([("day", pa.date32()), ("large", pa.large_string())])),
    ]
)


def arrow(chance: random.Random) -> None:
    """A payload becomes a batch whose records can be read, or an error."""
    rows = [
        {
            "text": "t" * number,
            "number": number,
            "bytes": b"b" * number,
            "truth": bool(number % 2),
            "time": number,
            "money": None,
            "list": ["x"] * number,
            "map": [("k", number)],
            "struct": {"day": number, "large": "l" * number} if number % 3 else None,
        }
        for number in range(chance.randrange(1, 12))
    ]
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    groups = np.zeros(len(rows), np.int32)
    payload = codec.pack_groups(batch, groups, 1)[0][1]
    try:
        changed = codec.unpack_payload(damaged(payload, chance), SCHEMA)
    except codec.CorruptPayload:
        return
    with contextlib.suppress(SENSELESS):
        RecordReader(changed).rows()
    with contextlib.suppress(SENSELESS):
        timestamps_ms(changed.column("time"), null_value=0)


VALUES_BY_GROUP = {group: [b"%d" % group * size for size in (1, 30)] for group in range(4)}


def version(chance: random.Random) -> None:
    """A version file is damaged, or its manifest, a node or a page where no checksum tells."""
    with tempfile.TemporaryDirectory() as folder:
        names = [VersionName(number + 1, 10, 1, "ab", "cd", 0, 1, number) for number in range(3)]
        directory = VersionDirectory(folder, "op")
        held: list[Manifest] = []
        for number, name in enumerate(names):
            state = PartitionState(directory, name, held)
            for group in VALUES_BY_GROUP if number < 2 else ():
                state.use(group).updateValue((-1,), (b"head", False))
                for sequence in range(number * PAGE, number * PAGE + PAGE):
                    value = VALUES_BY_GROUP[group][number]
                    state.updateValue((sequence,), (value, False))
            state.commit(0)
            path = Path(directory.path, name.path)
            whole = path.read_bytes()
            held = [read_manifest(pa.BufferReader(whole), "op", name)]
        harmed = Path(directory.path, chance.choice(names).path)
        harmed.write_bytes(damaged(harmed.read_bytes(), chance))
        with contextlib.suppress(StateError):
            _, found = read_version(directory, names[2:], "op")
            state = PartitionState(directory, VersionName(4, 0, 0, "e", "f", 0, 1, 0), [found])
            with contextlib.ExitStack() as stack:
                stack.callback(state.abandon)
                for group, values in VALUES_BY_GROUP.items():
                    log = state.use(group)
                    read = [log.getValue((number,)) for number in log.sequences]
                    wanted = [(value, False) for value in values for _ in range(PAGE)]
                    assert read == wanted, "damage that nobody saw"
    length = int.from_bytes(whole[-12:-4], "little")
    body = bytes(codec.unseal(whole[-12 - length : -12], KIND_MANIFEST, 0))
    frame = codec.seal(KIND_MANIFEST, chance.choice((1, 2)), 0, damaged(body, chance))
    sealed = frame + len(frame).to_bytes(8, "little") + whole[-4:]
    with contextlib.suppress(codec.CorruptFrame, MisplacedFile):
        read_manifest(pa.BufferReader(sealed), "op", names[2])
    listed = pack_pieces({number: Piece(0, number, 9, True, 5) for number in range(3)})
    node = Group(3, b"head", b"", listed).encode(lambda page: Piece(0, 0, len(page), False, 5))
    with contextlib.suppress(CorruptStateError):
        group_again = decode_node(damaged(node, chance), 3)
        assert group_again.last >= -1, "a piece before the first"
        assert len(group_again.page_places) <= len(group_again.pages), "more pages than bytes"
    with contextlib.suppress(CorruptStateError):
        unpack_pieces(damaged(listed, chance))


TARGETS: dict[str, Callable[[random.Random], None]] = {
    "log": log,
    "table": table,
    "value": value,
    "frame": frame,
    "arrow": arrow,
    "version": version,
}


def play(target: str, rounds: Iterator[int], place: mmap.mmap) -> None:
    """Rounds of a target; `place` has the number of the one that is under way."""
    faulthandler.enable()
    limit_segments(ROOM)
    for number in rounds:
        place[:8] = number.to_bytes(8, "little")
        TARGETS[target](random.Random(f"{target} {number}"))


def until(end: float, first: int) -> Iterator[int]:
    """Numbers from `first` on, as long as there is time."""
    while time.monotonic() < end:
        yield first
        first += 1


def campaign(target: str, seconds: float) -> int:
    """Play a target in a process of its own, with new rounds each time; its exit status."""
    first = random.SystemRandom().randrange(1 << 40)
    with tempfile.TemporaryFile() as file:
        file.truncate(8)
        place = mmap.mmap(file.fileno(), 8)
        place[:8] = first.to_bytes(8, "little")
        rounds = until(time.monotonic() + seconds, first)
        player = multiprocessing.get_context("fork").Process(
            target=play, args=(target, rounds, place)
        )
        player.start()
        player.join()
        last = int.from_bytes(place[:8], "little")
    if player.exitcode:
        print(f"FAILED: python {Path(__file__).name} 0 {target} {last}", file=sys.stderr)
    print(f"{target}: {last - first + 1:,} rounds")
    return player.exitcode or 0


def main(arguments: list[str]) -> int:
    """Play every target for its share of the seconds; or one; or one round of it."""
    seconds = float(arguments[0]) if arguments else 20
    targets = arguments[1:2] or list(TARGETS)
    if len(arguments) == 3:
        play(targets[0], iter([int(arguments[2])]), mmap.mmap(-1, 8))
        return 0
    failed = [target for target in targets if campaign(target, seconds / len(targets))]
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
