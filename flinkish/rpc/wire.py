"""Values as bytes: MessagePack, decoded by types that are compiled once; never pickle.

Beside MessagePack's own values there are extensions: NumPy arrays (their dtype, shape and
elements), Arrow record batches and tables (an IPC stream), opaque values (the name of a codec and
its bytes), plain values of Python where ``Any`` is declared (``wire_any.py``).  On arrival arrays
and batches are views of the message: nothing is copied, and an array is read-only; batches are
checked as a whole (``wire_arrow.py``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.msgpack import Decoder, Encoder, Ext

from flinkish.common.errors import SerializationError
from flinkish.rpc.wire_any import VALUE, pack_any, unpack_value
from flinkish.rpc.wire_arrow import read_batch, read_table
from flinkish.rpc.wire_types import codec_of, has_opaque
from flinkish.rpc.wire_unions import plan_of

__all__ = ["Wire", "decode_plain", "decoder_of", "encode_any", "encode_plain", "wire_of"]

_ARRAY = 1
_BATCH = 2
_TABLE = 3
_OPAQUE = 4


@dataclass(frozen=True)
class _OpaqueBytes:
    name: str
    data: bytes


# --- to bytes


def _from_array(array: Any) -> Ext:
    import numpy

    if array.dtype.hasobject:
        raise SerializationError(
            f"a NumPy array of {array.dtype} holds Python objects and cannot travel: give it a "
            "numeric, string or datetime dtype"
        )
    head = msgspec.msgpack.encode((numpy.lib.format.dtype_to_descr(array.dtype), array.shape))
    flat = numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
    # The elements start at a multiple of 8 bytes from the front of the extension.
    gap = -(4 + len(head)) % 8
    return Ext(_ARRAY, b"".join((len(head).to_bytes(4, "little"), head, bytes(gap), flat.data)))


def _from_arrow(value: Any, code: int) -> Ext:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, value.schema) as writer:
        writer.write(value)
    return Ext(code, memoryview(sink.getvalue()))


def _extend(value: Any) -> Any:
    """Encode a value that MessagePack does not know; TypeError if it cannot travel."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(value, numpy.ndarray):
            return _from_array(value)
        if isinstance(value, numpy.generic):
            return value.item()
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None:
        if isinstance(value, pyarrow.RecordBatch):
            return _from_arrow(value, _BATCH)
        if isinstance(value, pyarrow.Table):
            return _from_arrow(value, _TABLE)
    raise TypeError(f"{type(value).__module__}.{type(value).__qualname__} is no type that travels")


def _extend_opaque(value: Any) -> Any:
    codec = codec_of(type(value))
    if codec is None:
        return _extend(value)
    data = codec.encode(value)
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"the codec {codec.name} made {type(data).__name__}, not bytes")
    name = codec.name.encode()
    return Ext(_OPAQUE, b"".join((len(name).to_bytes(2, "little"), name, data)))


# --- from bytes


def _to_array(data: memoryview) -> Any:
    import numpy

    size = int.from_bytes(data[:4], "little")
    descr, shape = msgspec.msgpack.decode(data[4 : 4 + size])
    dtype = numpy.lib.format.descr_to_dtype(_tuples(descr))
    if dtype.hasobject:
        raise SerializationError("an array of Python objects came in; those do not travel")
    start = 4 + size + -(4 + size) % 8
    return numpy.frombuffer(data[start:], dtype).reshape(shape)


def _tuples(descr: Any) -> Any:
    """MessagePack makes lists of tuples; a dtype is a list of tuples."""
    if isinstance(descr, str):
        return descr
    return [tuple(_field(part) for part in field) for field in descr]


def _field(part: Any) -> Any:
    if isinstance(part, list):
        nested = bool(part) and isinstance(part[0], list)
        return _tuples(part) if nested else tuple(part)
    return part


def _intend(code: int, data: memoryview) -> Any:
    if code == _ARRAY:
        return _to_array(data)
    if code == _BATCH:
        return read_batch(data)
    if code == _TABLE:
        return read_table(data)
    if code == VALUE:
        return unpack_value(_any.decode, data)
    raise SerializationError(
        f"a value of extension type {code} came in, which nothing here is declared to take"
    )


def _intend_opaque(code: int, data: memoryview) -> Any:
    if code != _OPAQUE:
        return _intend(code, data)
    size = 2 + int.from_bytes(data[:2], "little")
    return _OpaqueBytes(str(data[2:size], "utf-8"), bytes(data[size:]))


def _admit(kind: Any, value: Any) -> Any:
    """Check what an extension became against the declared type."""
    if isinstance(value, _OpaqueBytes):
        codec = codec_of(kind)
        if codec is None or codec.name != value.name:
            raise msgspec.ValidationError(
                f"Expected `{getattr(kind, '__qualname__', kind)}`, got opaque `{value.name}`"
            )
        return codec.decode(value.data)
    base = getattr(kind, "__origin__", kind)
    if not isinstance(value, base):
        raise msgspec.ValidationError(
            f"Expected `{base.__qualname__}`, got `{type(value).__qualname__}`"
        )
    return value


# --- compiled


@dataclass(frozen=True)
class Wire:
    """The two directions of one type."""

    encode: Callable[[Any], bytes]
    decode: Callable[[Any], Any]


_plain = Encoder(enc_hook=_extend)
_opaque = Encoder(enc_hook=_extend_opaque)
_any = Decoder(ext_hook=_intend)


def decoder_of(kind: Any) -> Callable[[Any], Any]:
    """Compile a type as it is; TypeError if msgspec does not know how."""
    if kind is Any:
        return _any.decode
    intend = _intend_opaque if has_opaque(kind) else _intend
    return Decoder(kind, ext_hook=intend, dec_hook=_admit).decode


def wire_of(kind: Any) -> Wire:
    """Compile a type; TypeError for unions that nothing tells apart."""
    encode = (_opaque if has_opaque(kind) else _plain).encode
    plan = plan_of(kind, decoder_of, _pack_any)
    decode = decoder_of(plan.kind)
    pack, unpack = plan.pack, plan.unpack
    if pack is None or unpack is None:
        return Wire(encode, decode)
    return Wire(lambda value: encode(pack(value)), lambda data: unpack(decode(data)))


_pack_any = pack_any(_plain.encode)
encode_plain = _plain.encode
decode_plain = _any.decode


def encode_any(value: Any) -> bytes:
    """A value of ``Any`` in a form that keeps its class; TypeError if there is none."""
    encoded: bytes = _plain.encode(_pack_any(value))
    return encoded
