"""A forked child and the files of a mapped table, which it shares with its parent."""

import contextlib

import pytest

from flinkish._core.state import log as state_log
from flinkish._core.state.keyed_state import ValueCell
from flinkish._core.state.table import StateTable
from tests.core.damaged_tables import empty_files, mapped
from tests.forking import in_a_fork

CHILD = "a forked child of the one that has its operator"


def test_a_child_changes_nothing_of_a_mapped_table() -> None:
    table = StateTable()
    value = ValueCell(table, table.add_cell("value"), "value")
    with contextlib.ExitStack() as stack:
        mapped(table, empty_files(stack), create=True, sealed=False)
        table.set_current_key("k")
        value.update(1)

        def child() -> None:
            for use in (
                value.value,
                lambda: value.update(2),
                value.clear,
                lambda: table.set_current_key("other"),
                lambda: state_log.commit(table),
                lambda: table.number_of_keys,
                lambda: table.seal(bytes(16)),
            ):
                with pytest.raises(RuntimeError, match=CHILD):
                    use()
            table.close()  # its own view of the memory alone

        in_a_fork(child)
        assert value.value() == 1
        assert table.number_of_keys == 1
        table.close()


def test_a_child_has_tables_of_its_own() -> None:
    """Also one that was made, and not opened, before the fork, and one that takes its place."""
    table, other = StateTable(), StateTable(0)
    value = ValueCell(table, table.add_cell("value"), "value")
    other.add_cell("value")

    def child() -> None:
        with contextlib.ExitStack() as stack:
            mapped(table, empty_files(stack), create=True, sealed=False)
            table.set_current_key("k")
            value.update(2)
            assert value.value() == 2
            table.exchange(other)
            with pytest.raises(RuntimeError, match=CHILD):
                table.set_current_key("k")
            other.set_current_key("k")
            other.close()

    in_a_fork(child)
