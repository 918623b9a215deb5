"""Notes on errors, also where Python knows none."""

import sys
import traceback

import pytest

from flinkish.common import notes
from flinkish.common.notes import add_note, spell_out_notes


class Old(Exception):
    """An error of Python 3.10: nothing to call."""

    add_note = property()  # reading it is an AttributeError


class Closed(Old):
    """... and no place for attributes either."""

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)


@pytest.mark.parametrize("kind", [ValueError, Old])
def test_notes_are_kept_in_order(kind: type[Exception]) -> None:
    error = kind("what happened")
    add_note(error, "here")
    add_note(error, "there")
    assert error.__notes__ == ["here", "there"]  # type: ignore[attr-defined]
    assert error.args == ("what happened",)


def test_an_error_without_room_for_notes_stays_what_it_is() -> None:
    error = Closed("what happened")
    add_note(error, "here")
    assert not hasattr(error, "__notes__")


@pytest.mark.parametrize("prints", [False, True])
def test_a_traceback_shows_notes_once(monkeypatch: pytest.MonkeyPatch, prints: bool) -> None:
    monkeypatch.setattr(notes, "PRINTS_NOTES", prints)
    error, bare = Old("what happened", 7), Old()
    for each in (error, bare):
        add_note(each, "here")
        spell_out_notes(each)
    if prints:
        assert error.args == ("what happened", 7)
    else:
        assert error.args == ("what happened\nhere", 7)
        assert "here" in "".join(traceback.format_exception_only(Old, bare))


def test_an_error_without_notes_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "PRINTS_NOTES", False)
    error = ValueError("what happened")
    spell_out_notes(error)
    assert error.args == ("what happened",)


def test_this_python_shows_where_it_happened() -> None:
    error = ValueError("what happened")
    add_note(error, "raised here")
    spell_out_notes(error)
    text = "".join(traceback.format_exception(ValueError, error, None))
    assert "raised here" in text
    if sys.version_info >= (3, 11):  # elsewhere a test runner may print notes, too
        assert text.count("raised here") == 1
