"""Arrow batches of a peer that means harm: an error of that call, never the end of the process."""

import subprocess
import sys
from concurrent.futures import Future
from typing import Any

import pyarrow as pa
import pytest

from flinkish.common.errors import SerializationError
from flinkish.rpc import RpcEndpoint, RpcGateway, RpcService
from flinkish.rpc import wire as wire_module
from flinkish.rpc.wire_arrow import read_batch, read_table
from tests.rpc.arrow_specimens import specimens, stream
from tests.rpc.rig import SOON

CASES = [*specimens()]
BY_NAME = pytest.mark.parametrize("batch", CASES, ids=["+".join(b.schema.names) for b in CASES])


@BY_NAME
def test_what_is_honest_arrives(batch: pa.RecordBatch) -> None:
    data = memoryview(stream(batch))
    assert read_batch(data).equals(batch)
    assert read_table(data).equals(pa.Table.from_batches([batch]))


def changed(batch: pa.RecordBatch, old: list[int], new: list[int]) -> bytes:
    """The stream of a batch with other numbers of 32 bits in it."""
    before, after = (b"".join(n.to_bytes(4, "little") for n in one) for one in (old, new))
    data = stream(batch)
    assert data.count(before) == 1
    return data.replace(before, after)


def wrong_offset() -> bytes:
    """Two texts, and the offset of the second far outside."""
    batch = pa.record_batch({"t": ["a" * 40, "b" * 40]})
    return changed(batch, [0, 40, 80], [0, 0x7FFFFF00, 80])


def wrong_index() -> bytes:
    """A dictionary of two texts, and an index of the millionth."""
    indices = pa.array([1, 0, 1, 1, 0], pa.int32())
    batch = pa.record_batch([pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]))], ["d"])
    return changed(batch, [1, 0, 1, 1, 0], [1, 0, 1_000_000, 1, 0])


def wrong_text() -> bytes:
    """Bytes that are no UTF-8."""
    wrong = pa.array([b"\xff\xfe\xfd"]).view(pa.string())
    return stream(pa.record_batch([wrong], ["t"]))


def compressed(codec: str) -> bytes:
    batch = pa.record_batch({"n": pa.array([0] * 1_000_000, pa.int64())})
    return stream(batch, options=pa.ipc.IpcWriteOptions(compression=codec))


def compressed_dictionary() -> bytes:
    words = pa.array([f"{'x' * 1000}{n}" for n in range(1000)])
    batch = pa.record_batch([pa.DictionaryArray.from_arrays(pa.array([0]), words)], ["d"])
    return stream(batch, options=pa.ipc.IpcWriteOptions(compression="zstd"))


def dictionary_in_pieces() -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    batches = [
        pa.record_batch([pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(words))], ["d"])
        for words in (["a"], ["a", "b"])
    ]
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write(batch)
    return sink.getvalue().to_pybytes()


def many_nulls() -> bytes:
    """Of a type that needs no memory, until somebody looks."""
    count = 1_000_003
    data = stream(pa.record_batch({"n": pa.nulls(count)}))
    return data.replace(count.to_bytes(8, "little"), (1 << 40).to_bytes(8, "little"))


HOSTILE = {
    "an offset outside": (wrong_offset, "offset"),
    "an index outside": (wrong_index, "out of bounds"),
    "no text": (wrong_text, "UTF8"),
    "zstd": (lambda: compressed("zstd"), "compressed"),
    "lz4": (lambda: compressed("lz4"), "compressed"),
    "a compressed dictionary": (compressed_dictionary, "compressed"),
    "a dictionary in pieces": (dictionary_in_pieces, "in pieces"),
    "rows that take no bytes": (many_nulls, "1099511627776 rows"),
    "nothing": (lambda: b"", "damaged"),
    "a schema alone": (lambda: stream(CASES[0])[:200], "damaged"),
    "noise": (lambda: b"\xff\xff\xff\xff\x10\0\0\0" + bytes(range(100)), "damaged"),
}


@pytest.mark.parametrize(("make", "why"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_hostile_is_refused(make: Any, why: str) -> None:
    with pytest.raises(SerializationError, match=why):
        read_table(memoryview(make()))


def test_many_nulls_are_honest_as_long_as_they_are_not_too_many() -> None:
    assert (
        read_batch(memoryview(stream(pa.record_batch({"n": pa.nulls(1_000_000)})))).num_rows
        == 1_000_000
    )


class TakerGateway(RpcGateway):
    def take(self, batch: pa.RecordBatch) -> Future[int]: ...


class Taker(RpcEndpoint, TakerGateway):
    def take(self, batch: Any) -> Any:
        return len(batch.to_pylist())


def test_a_bad_batch_fails_its_call_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    service = RpcService("taker", force_serialization=True)
    taker = Taker(service, "taker")
    taker.start()
    gateway = service.connect(taker.address, TakerGateway).result(SOON)
    honest = wire_module._from_arrow
    bad = wrong_offset()
    with monkeypatch.context() as patched:
        patched.setattr(wire_module, "_from_arrow", lambda value, code: wire_module.Ext(code, bad))
        error = gateway.take(CASES[1]).exception(SOON)
    assert wire_module._from_arrow is honest
    assert "Arrow batch" in str(error)
    assert gateway.take(CASES[1]).result(SOON) == CASES[1].num_rows
    service.close_async().exception(SOON)


@pytest.mark.stress
def test_no_damage_ends_the_process(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tests.rpc.arrow_specimens", "7", "3000"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100
