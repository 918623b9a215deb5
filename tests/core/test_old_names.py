"""What states of earlier checkpoints name can still be imported; see flinkish/_core/row.py."""

import pickle

from flinkish._core.values.row import Row
from flinkish._core.windows.time_window import TimeWindow

ROW = (
    b"\x80\x04\x953\x00\x00\x00\x00\x00\x00\x00\x8c\x12flinkish._core.row\x94\x8c\x0brestore_row"
    b"\x94\x93\x94NK\x01K\x02\x86\x94K\x00\x87\x94R\x94."
)
WINDOW = (
    b"\x80\x04\x955\x00\x00\x00\x00\x00\x00\x00\x8c\x1aflinkish._core.time_window\x94\x8c\nTimeWindow"
    b"\x94\x93\x94K\x01K\x02\x86\x94R\x94."
)


def test_pickles_of_earlier_releases_are_read() -> None:
    assert pickle.loads(ROW) == Row(1, 2)
    assert pickle.loads(WINDOW) == TimeWindow(1, 2)


def test_what_todays_pickles_name() -> None:
    """A module that states name needs a successor of this name when it moves."""
    assert b"flinkish._core.values.row" in pickle.dumps(Row(1, 2))
    assert b"flinkish._core.windows.time_window" in pickle.dumps(TimeWindow(1, 2))
