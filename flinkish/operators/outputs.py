"""How taken output reaches an operator's output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flinkish.common.elements import StreamRecord
from flinkish.common.output_tag import OutputTag
from flinkish.operators.base import BatchOutput, Output

__all__ = ["emit_taken"]

Taken = tuple[list[Any], list[int | None]]


def emit_taken(
    output: Output,
    values: list[Any],
    timestamps: list[int | None],
    sides: Mapping[OutputTag, Taken],
) -> None:
    """Pass on what a function yielded: the main output first, then each side output."""
    if isinstance(output, BatchOutput):
        if values:
            output.emit_batch(None, values, timestamps)
        for tag, side in sides.items():
            output.emit_batch(tag, *side)
        return
    for value, timestamp in zip(values, timestamps, strict=True):
        output.emit(StreamRecord(value, timestamp))
    for tag, (side_values, side_timestamps) in sides.items():
        for value, timestamp in zip(side_values, side_timestamps, strict=True):
            output.emit_side(tag, StreamRecord(value, timestamp))
