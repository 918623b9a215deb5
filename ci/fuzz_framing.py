"""Throw bytes at what reads them from strangers: ``python ci/fuzz_framing.py [-option=value]``.

The compiled cutter runs beside its pure-Python model (``tests/models/framing.py``), over bare
frames and over records of which one may be damaged, and the handshake alone.  atheris watches the
branches of what is written in Python; since cutter and model must agree on every input, an input
that takes the model to a new place takes the cutter there.  Any
disagreement, any error but those that are promised, and any crash ends the run and leaves the input
in a file.  The options are those of libFuzzer.
"""

import contextlib
import sys

import atheris

with atheris.instrument_imports(include=["tests.models.framing", "flinkish.rpc.handshake"]):
    from flinkish.rpc.handshake import Handshake, Identity, secret_key
    from tests.models.framing import Damaged, ModelCutter, TooLarge
    from tests.models.siphash import records

from flinkish._core.rpc.framing import (
    CONTROL_LIMIT,
    RECORD_OVERHEAD,
    FrameCutter,
    FrameKind,
    FrameSink,
)
from flinkish.common.errors import HandshakeError

LIMIT = 60_000
IDENTITY = Identity("fuzzed", "1", 1, None, 1000, LIMIT)
KEY = secret_key("fuzzed")
SEAL = bytes(range(16))


class TooLargeError(Exception):
    """The cutter's own."""


class Cutter(FrameCutter):
    """Says which limit was passed."""

    @staticmethod
    def large_error(message: str, size: int, limit: int) -> Exception:
        """The error for a frame over the limit."""
        return TooLargeError(message)


def cut(data: bytes) -> None:
    """Byte 0 chooses limit, authentication and the sizes of the pieces; the rest is the stream."""
    if not data:
        return
    limit = LIMIT if data[0] & 1 else CONTROL_LIMIT
    authenticated = bool(data[0] & 2)
    step = (data[0] >> 2) + 1
    cutter, sink, model = Cutter(limit), FrameSink(), ModelCutter(limit, authenticated)
    if authenticated:
        cutter.authenticate()
    control: list[tuple[int, int, bytes]] = []
    for start in range(1, len(data), step):
        piece = data[start : start + step]
        while True:
            outcomes = []
            for take in (lambda p=piece: cutter.cut(p, sink), lambda p=piece: model.cut(p)):
                try:
                    take()
                    outcomes.append("well")
                except (ValueError, Damaged):
                    outcomes.append("damaged")
                except (TooLargeError, TooLarge):
                    outcomes.append("too large")
            control += cutter.take_control()
            assert outcomes[0] == outcomes[1], outcomes
            assert sink.frames == model.frames
            if outcomes[0] != "well":
                return
            assert control == model.control
            assert cutter.left == len(model.left)
            cutter._check()
            piece = model.left
            if not piece:
                break


def shake_hands(data: bytes) -> None:
    """Byte 0 chooses side and kind; the rest is a payload, which is an error or an answer."""
    if not data:
        return
    dialing = bool(data[0] & 1)
    side = Handshake(IDENTITY, KEY, dialing=dialing, address="nowhere", places=["nowhere:1"])
    if dialing:
        side.start()
    kinds = list(FrameKind)
    kind = kinds[(data[0] >> 1) % len(kinds)]
    with contextlib.suppress(HandshakeError):
        side.receive(kind, data[1:])
    assert side.peer is None, "nobody proves itself with one frame"


def open_records(data: bytes) -> None:
    """Bytes 0 to 5: sizes of pieces and records, and which bit is changed; the rest is the stream.

    What comes out is what the model finds in the records before the damage.
    """
    if len(data) < 7:
        return
    step, most, damage = data[0] + 1, data[1] + 1, int.from_bytes(data[2:6], "little")
    made = records(SEAL, data[6:], most)
    sealed = bytearray(b"".join(made))
    whole = len(made)
    if damage & 1:
        place = (damage >> 4) % len(sealed)
        sealed[place] ^= 1 << (damage >> 1 & 7)
        whole = place // (most + RECORD_OVERHEAD)
    cutter, sink, model = Cutter(LIMIT), FrameSink(), ModelCutter(LIMIT)
    cutter.authenticate()
    cutter.seal(SEAL)
    with contextlib.suppress(ValueError, TooLargeError):
        for start in range(0, len(sealed), step):
            cutter.cut(bytes(sealed[start : start + step]), sink)
            cutter._check()
    with contextlib.suppress(Damaged, TooLarge):
        model.cut(data[6 : 6 + whole * most])
    assert sink.frames == model.frames


def fuzz(data: bytes) -> None:
    """The first byte chooses the target."""
    if data:
        (cut, shake_hands, open_records)[data[0] % 3](data[1:])


if __name__ == "__main__":
    atheris.Setup(sys.argv, fuzz)
    atheris.Fuzz()
