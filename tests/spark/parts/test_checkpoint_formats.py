"""Older formats of a checkpoint are read, newer ones refused by name."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from flinkish import __version__
from flinkish._core.values import codec
from flinkish.common.errors import IncompatibleStateError
from flinkish.spark.keyed import group_state
from tests.spark.parts.test_group_state import COUNT, Store

NEW = {"flinkish": "", "keys": None, "event_timers": 0, "processing_timers": 0}
NEW |= {"table_bytes": 0, "whole_pieces": 0}
NEW_IN_HEADS = ("generation", *NEW)


def test_a_newer_head_is_refused_by_name(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.program(COUNT).set(x=7)
    text = b'{"flinkish": "9.1", "what else": 9}'
    head = codec.seal(group_state.KIND_HEAD, 9, store.key_group, text)
    store.spark["log"][group_state.HEAD] = (head, False)
    needed = rf"written by flinkish 9.1 in the format 9; this is flinkish {__version__}, .* up to 2"
    with pytest.raises(IncompatibleStateError, match=needed) as caught:
        store.program(COUNT).open()
    assert "damaged" not in str(caught.value).replace("Nothing is damaged", "")


def test_a_newer_log_is_refused_by_name(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.program(COUNT).set(x=7)
    whole = codec.seal(group_state.KIND_LOG, 3, store.key_group, b"whatever that is")
    store.spark["log"][0,] = (whole, False)
    store.root = tmp_path / "elsewhere"
    needed = rf"written by flinkish {__version__} in the format 3; .* up to 1"
    with pytest.raises(IncompatibleStateError, match=needed):
        store.program(COUNT).open()


def test_a_head_of_the_first_format_is_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.program(COUNT).set(x=7)
    now = asdict(store.head)
    text = json.dumps([value for name, value in now.items() if name not in NEW_IN_HEADS])
    head = codec.seal(group_state.KIND_HEAD, 1, store.key_group, text.encode())
    store.spark["log"][group_state.HEAD] = (head, False)
    assert asdict(store.head) == now | NEW
    assert store.program(COUNT).get("x") == [[7]]


def test_heads_say_who_wrote_them_and_may_grow(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.program(COUNT).set(x=7)
    assert store.head.flinkish == __version__
    frame = store.spark["log"][group_state.HEAD][0]
    fields = json.loads(bytes(codec.unseal(frame, group_state.KIND_HEAD, 2)))
    text = json.dumps(fields | {"a field of later": [1]}).encode()
    head = codec.seal(group_state.KIND_HEAD, group_state.HEAD_FORMAT, 2, text)
    store.spark["log"][group_state.HEAD] = (head, False)
    assert store.program(COUNT).get("x") == [[7]]
