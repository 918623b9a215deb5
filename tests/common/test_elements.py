import pickle
from dataclasses import FrozenInstanceError

import numpy
import pytest

from flinkish.common.elements import (
    CheckpointBarrier,
    LatencyMarker,
    StreamElement,
    StreamRecord,
    Watermark,
    WatermarkStatus,
)
from flinkish.common.errors import TimestampError
from flinkish.common.timestamps import MAX_TIMESTAMP, MIN_TIMESTAMP, check_timestamp

ELEMENTS = [
    StreamRecord("a"),
    StreamRecord("a", 5),
    Watermark(5),
    WatermarkStatus.IDLE,
    LatencyMarker(1, "op", 0),
    CheckpointBarrier(1, 2),
]


@pytest.mark.parametrize("element", ELEMENTS, ids=repr)
def test_elements_are_values(element: StreamElement) -> None:
    assert isinstance(element, StreamElement)
    assert pickle.loads(pickle.dumps(element)) == element
    assert hash(pickle.loads(pickle.dumps(element))) == hash(element)
    assert [other for other in ELEMENTS if other == element] == [element]


def test_elements_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Watermark(5).timestamp = 6  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        StreamRecord(1).value = 2  # type: ignore[misc]


def test_a_watermark_is_no_tuple_and_no_int() -> None:
    assert Watermark(5) != 5
    assert Watermark(5) != (5,)
    assert Watermark(5) < Watermark.MAX_WATERMARK == Watermark(MAX_TIMESTAMP)


def test_the_ends_of_time() -> None:
    assert (MIN_TIMESTAMP, MAX_TIMESTAMP) == (-(2**63), 2**63 - 1)
    assert StreamRecord("a", MIN_TIMESTAMP).has_timestamp()
    assert not StreamRecord("a").has_timestamp()


def test_timestamps_are_64_bit_ints() -> None:
    assert type(check_timestamp(numpy.int64(5))) is int
    for wrong in (1.5, "5", True, None):
        with pytest.raises(TimestampError, match="must be an int of milliseconds since the epoch"):
            check_timestamp(wrong)  # type: ignore[arg-type]
    with pytest.raises(TimestampError, match="ts 9223372036854775808 does not fit 64 bits"):
        check_timestamp(2**63, "ts")
    with pytest.raises(TimestampError, match="watermark"):
        Watermark(None)  # type: ignore[arg-type]
    with pytest.raises(TimestampError):
        StreamRecord("a", 0.5)  # type: ignore[arg-type]


def test_status() -> None:
    assert WatermarkStatus.IDLE.is_idle()
    assert not WatermarkStatus.IDLE.is_active()
    assert WatermarkStatus.ACTIVE.is_active()
