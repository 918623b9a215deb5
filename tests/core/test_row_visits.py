"""Work at rows other than the current one."""

import pytest

from flinkish._core.state.key_rows import at_row, visit_keys
from flinkish._core.state.keyed_state import ValueCell
from flinkish._core.state.table import StateTable


def test_the_current_row_is_as_before() -> None:
    table = StateTable(0, 3)
    table.add_cell("value")
    value = ValueCell(table, 0, "value")
    table.set_current_key("a", 1)
    value.update(1)
    at_row(table, 2, 2, "space", value.update, 2)
    assert (table.current_key(), value.value()) == ("a", 1)
    assert at_row(table, 2, 2, "space", value.value) == 2
    with pytest.raises(TypeError):
        at_row(table, 2, 2, "space", value.update)
    with pytest.raises(ValueError, match=r"4 is not in 0\.\.3"):
        at_row(table, 2, 4, "space", value.value)
    assert table.current_key() == "a"
    table.clear_current_key()
    assert at_row(table, 2, 2, "space", value.value) == 2
    assert table.current_key() is None


def test_every_key_with_something_is_visited() -> None:
    table = StateTable(0)
    table.add_cell("value")
    value = ValueCell(table, 0, "value")
    for key in range(50):
        table.set_current_key(key)
        value.update(key if key % 2 else None)
    at_row(table, 0, 0, "space", value.update, 2)
    seen = []

    def visit(key: int) -> None:
        seen.append((key, value.value()))
        value.clear()
        table.set_current_key(key + 1000)
        value.update(1)

    visit_keys(table, 0, visit)
    assert seen == [(key, key) for key in range(1, 50, 2)]
    assert table.current_key() is None
    with pytest.raises(ValueError, match="no cell 1"):
        visit_keys(table, 1, print)
    with pytest.raises(ZeroDivisionError):
        visit_keys(table, 0, lambda key: 1 / 0)
    assert table.current_key() is None
