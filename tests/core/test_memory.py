"""Segments: growth, files, full disks, and descriptors that are closed whatever happens."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.state import log as state_log
from flinkish._core.state.keyed_state import ListCell, MapCell, ValueCell
from flinkish._core.state.table import FILES, StateTable
from flinkish._core.testing.state import SegmentDoor, limit_segments
from tests.core.logs import dump
from tests.disks import full_disk


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture(autouse=True)
def _no_descriptor_left() -> Iterator[None]:
    before = descriptors()
    yield
    assert descriptors() <= before  # earlier tests may have left some to the collector


FILE_LIMIT = 1 << 16


def opened(home: Path, *, create: bool = True) -> list[int]:
    flags = os.O_RDWR | (os.O_CREAT | os.O_EXCL if create else 0)
    return [os.open(home / name, flags, 0o600) for name in FILES]


@pytest.mark.parametrize("mapped", [False, True])
def test_a_segment_grows_with_its_contents(tmp_path: Path, mapped: bool) -> None:
    file = os.open(tmp_path / "segment", os.O_RDWR | os.O_CREAT) if mapped else None
    segment = SegmentDoor(file)
    assert segment.size == 0
    size = 1
    while size < 1 << 22:
        segment.reserve(size)
        assert segment.size >= size
        assert segment.read(size - 1, 1) == b"\0", "new bytes are zero"
        segment.write(size - 1, b"x")
        size = size * 2 + 3
    # By a sixteenth and more: asking for a byte more and more moves it a few times only.
    sizes = set()
    for more in range(0, 1 << 20, 97):
        segment.reserve((1 << 22) + more)
        sizes.add(segment.size)
        assert segment.size <= ((1 << 22) + more) * 17 // 16 + 4096
    assert len(sizes) <= 5
    assert segment.read(0, 6) == b"x\0\0\0x\0"
    segment.release()
    segment.release()
    assert segment.size == 0


def test_a_file_is_what_its_segment_was(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    segment = SegmentDoor(os.open(path, os.O_RDWR | os.O_CREAT))
    segment.reserve(5000)
    segment.write(4999, b"!")
    segment.release()
    assert path.stat().st_size >= 5000
    again = SegmentDoor(os.open(path, os.O_RDWR))
    assert again.size == path.stat().st_size
    assert again.read(4999, 1) == b"!"
    again.release()


def test_a_file_of_no_whole_pages_is_mapped_and_grows(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"y" * 4097)
    segment = SegmentDoor(os.open(path, os.O_RDWR))
    assert segment.size == 4097
    segment.reserve(20_000)
    assert segment.read(4096, 3) == b"y\0\0"
    segment.release()


def test_what_cannot_be_mapped_is_closed(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot grow or map"):
        SegmentDoor(os.open(tmp_path, os.O_RDONLY))
    (tmp_path / "segment").write_bytes(b"x" * 100)
    with pytest.raises(PermissionError):
        SegmentDoor(os.open(tmp_path / "segment", os.O_RDONLY))


@full_disk(FILE_LIMIT)
def test_a_segment_on_a_full_disk_goes_on_in_memory(tmp_path: Path) -> None:
    segment = SegmentDoor(os.open(tmp_path / "segment", os.O_RDWR | os.O_CREAT))
    segment.reserve(FILE_LIMIT // 2)
    segment.write(100, b"kept")
    for size in (FILE_LIMIT + 1, 20 * FILE_LIMIT):
        segment.reserve(size)
        assert segment.size >= size
        assert segment.read(100, 4) == b"kept"
        assert segment.read(size - 1, 1) == b"\0", "new bytes are zero"
        segment.write(size - 1, b"x")
    segment.release()


@full_disk(FILE_LIMIT)
def test_a_segment_without_file_and_memory_is_as_it_was(tmp_path: Path) -> None:
    segment = SegmentDoor(os.open(tmp_path / "segment", os.O_RDWR | os.O_CREAT))
    segment.reserve(FILE_LIMIT // 2)
    segment.write(100, b"kept")
    size = segment.size
    limit_segments(FILE_LIMIT)
    try:
        with pytest.raises(MemoryError):
            segment.reserve(FILE_LIMIT + 1)
    finally:
        limit_segments(None)
    assert segment.size == size
    assert segment.read(100, 4) == b"kept"
    segment.release()


@full_disk(FILE_LIMIT)
def test_a_table_on_a_full_disk_goes_on_in_memory(tmp_path: Path) -> None:
    table, twin = StateTable(), StateTable()
    whole = []
    for made, files in ((table, opened(tmp_path)), (twin, [-1] * len(FILES))):
        value, elements, pairs, timers = make(made)
        made.map(files, 3, create=True)
        assert made.in_files == (made is table)
        for key in range(3_000):
            made.set_current_key(key, 3)
            value.update("v" * 100)
            elements.add(key)
            pairs.put(key, "a pair")
            timers.register_event_time_timer(key)
        made._check()
        assert not made.in_files
        state_log.commit(made)
        whole.append(dump(made, 3))
        made.close()
    assert whole[0] == whole[1]


def test_a_table_without_room_from_the_start(tmp_path: Path) -> None:
    table = StateTable()
    value, _, _, _ = make(table)
    files = opened(tmp_path)
    with full_disk(0):
        table.map(files, 3, create=True)
    assert not table.in_files
    table.set_current_key("a key", 3)
    value.update(7)
    assert value.value() == 7
    table.close()


STATE, OTHER = b"the state's name", b"another's name.."


def sealed(tmp_path: Path, *, keys: int = 50) -> StateTable:
    """A closed table that was sealed as that of STATE."""
    table = StateTable()
    value, _, _, _ = make(table)
    table.map(opened(tmp_path), 3, create=True)
    for key in range(keys):
        table.set_current_key(key, 3)
        value.update(key)
    with pytest.raises(RuntimeError, match="after its changes were committed"):
        table.seal(STATE)
    state_log.commit(table)
    with pytest.raises(ValueError, match="16 bytes, not 3"):
        table.seal(b"abc")
    table.seal(STATE)
    table.close()
    return table


def test_a_table_is_that_of_the_state_it_was_sealed_as(tmp_path: Path) -> None:
    table = sealed(tmp_path)
    with pytest.raises(ValueError, match="another state"):
        table.map(opened(tmp_path, create=False), 3, create=False, state=OTHER)
    with pytest.raises(ValueError, match="bytes for a state"):
        table.map(opened(tmp_path, create=False), 3, create=False, state=b"short")
    table.map(opened(tmp_path, create=False), 3, create=False, state=STATE)
    assert table.number_of_keys == 50
    table.close()


def test_no_bit_of_a_sealed_header_may_change(tmp_path: Path) -> None:
    table = sealed(tmp_path)
    header = (tmp_path / "header").read_bytes()
    for bit in range(88 * 8):
        damaged = bytearray(header)
        damaged[bit // 8] ^= 1 << bit % 8
        (tmp_path / "header").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"table files|header"):
            table.map(opened(tmp_path, create=False), 3, create=False, state=STATE)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_size_is_not_of_a_sealed_table(tmp_path: Path, name: str) -> None:
    table = sealed(tmp_path)
    os.truncate(tmp_path / name, (tmp_path / name).stat().st_size + 4096)
    with pytest.raises(ValueError, match=r"a file is not of this table|shorter than their header"):
        table.map(opened(tmp_path, create=False), 3, create=False, state=STATE)


def test_files_are_closed_whatever_map_says(tmp_path: Path) -> None:
    table = StateTable()
    table.map(opened(tmp_path), 3, create=True)
    with pytest.raises(ValueError, match="a closed table, 12 files"):
        table.map(opened(tmp_path, create=False), 3, create=False)
    table.set_current_key("still open", 3)
    table.close()
    with pytest.raises(ValueError, match="12 files"):
        table.map([os.open(tmp_path / FILES[0], os.O_RDWR)], 3, create=False)
    with pytest.raises(ValueError, match="key group -1"):
        table.map(opened(tmp_path, create=False), -1, create=False)
    with pytest.raises(ValueError, match="never committed"):
        table.map(opened(tmp_path, create=False), 3, create=False)
    with pytest.raises(ValueError, match="of key group 3, not 4"):
        table.map(opened(tmp_path, create=False), 4, create=False)
    directory = opened(tmp_path, create=False)
    os.close(directory[5])
    directory[5] = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(OSError, match="cannot grow or map"):
        table.map(directory, 3, create=False)


def make(table: StateTable) -> tuple[ValueCell, ListCell, MapCell, KeyedTimerService]:
    """A value, a list, a map, and timers."""
    for name in ("value", "list", "map"):
        table.add_cell(name)
    return (
        ValueCell(table, 0, "value"),
        ListCell(table, 1, "list"),
        MapCell(table, 2, "map"),
        KeyedTimerService(table),
    )


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("part", [0.0, 0.001, 0.5])
def test_a_table_with_a_file_cut_short_is_refused(tmp_path: Path, name: str, part: float) -> None:
    table = StateTable()
    _, elements, pairs, timers = make(table)
    table.map(opened(tmp_path), 3, create=True)
    for key in range(2000):
        table.set_current_key(f"a key of some length {key}", 3)
        elements.add(f"an element of some length {key}")
        pairs.put(key, None)
        timers.register_event_time_timer(key)
        timers.register_processing_time_timer(key)
    state_log.commit(table)
    table.close()
    path = tmp_path / name
    os.truncate(path, int(path.stat().st_size * part) if name != "header" else int(50 * part))
    with pytest.raises(ValueError, match=r"cut short|shorter"):
        table.map(opened(tmp_path, create=False), 3, create=False)


def test_a_table_is_widened_when_it_is_opened_for_more_states(tmp_path: Path) -> None:
    table = StateTable()
    value, elements, pairs, _ = make(table)
    table.map(opened(tmp_path), 3, create=True)
    for key in range(3000):
        table.set_current_key(key, 3)
        value.update(key)
        elements.add(f"an element of some length {key}")
        pairs.put(key, key)
    state_log.commit(table)
    table.close()
    table.add_cell("new")
    new = ValueCell(table, 3, "new")
    table.map(opened(tmp_path, create=False), 3, create=False)
    table._check()
    for key in range(3000):
        table.set_current_key(key, 3)
        assert new.value() is None
        assert (value.value(), pairs.get(key), len(elements.get())) == (key, key, 1)
        new.update("new")
    table._check()
    table.close()


def test_growth_fails_and_the_table_goes_on() -> None:
    """Every list, index and slab, refused at every size that it asks for."""
    table = StateTable(0, tracking=True)
    for name in ("value", "list", "map"):
        table.add_cell(name)
    value, elements, pairs = (
        ValueCell(table, 0, "v"),
        ListCell(table, 1, "l"),
        MapCell(table, 2, "m"),
    )
    timers = KeyedTimerService(table)
    pieces, refused = [], 0
    for limit in [1 << shift for shift in range(8, 18)]:
        for step in range(150):
            limit_segments(limit)
            try:
                table.set_current_key(f"key number {step % 70}")
                value.update("v" * (step * 7 % 300))
                elements.add(step)
                pairs.put(step % 9, f"pair number {step}")
                timers.register_event_time_timer(step)
                timers.delete_event_time_timer(step - 3)
                if step % 11 == 0:
                    pairs.clear()
            except MemoryError:
                refused += 1
            finally:
                limit_segments(None)
        table._check()
        pieces.append(state_log.commit(table))
        table._check()
        again = StateTable(0)
        make(again)
        state_log.replay(again, pieces, [0, 1, 2], 0)
        again._check()
        assert dump(again, 0) == dump(table, 0)
    assert refused > 100


def test_a_commit_that_fails_can_be_asked_for_again() -> None:
    table = StateTable(0, tracking=True)
    table.add_cell("list")
    elements = ListCell(table, 0, "list")
    for key in range(50):
        table.set_current_key(key)
        elements.update(["an element"] * 20)
    limit_segments(1000)
    try:
        with pytest.raises(MemoryError):
            state_log.commit(table)
    finally:
        limit_segments(None)
    table._check()
    again = StateTable(0)
    again.add_cell("list")
    state_log.replay(again, [state_log.commit(table)], [0], 0)
    assert dump(again, 0) == dump(table, 0)
    again.set_current_key(7)
    assert len(ListCell(again, 0, "list").get()) == 20
