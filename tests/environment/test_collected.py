"""An iterator that ends what it reads from: once, whichever way it ends."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flinkish.environment.collected import CloseableIterator


class Watched:
    """Values, an error after them if there is one, and a count of what was done with them."""

    def __init__(self, *values: int, error: BaseException | None = None) -> None:
        self.read = 0
        self.closed = 0
        self._values, self._error = values, error

    def open(self) -> CloseableIterator:
        return CloseableIterator(self._all(), self._close)

    def _all(self) -> Iterator[int]:
        for value in self._values:
            self.read += 1
            yield value
        if self._error is not None:
            raise self._error

    def _close(self) -> None:
        self.closed += 1


def test_the_end_closes_it() -> None:
    watched = Watched(1, 2)
    found = watched.open()
    assert iter(found) is found
    assert (found.next(), next(found), watched.closed) == (1, 2, 0)
    for _ in range(2):
        with pytest.raises(StopIteration):
            found.next()
        assert watched.closed == 1
    found.close()
    assert watched.closed == 1


def test_nothing_is_read_before_it_is_asked_for() -> None:
    watched = Watched(1, 2)
    found = watched.open()
    assert watched.read == 0
    found.next()
    assert watched.read == 1
    found.close()


@pytest.mark.parametrize("error", [ValueError("it failed"), KeyboardInterrupt()])
def test_an_error_closes_it_and_is_raised_once(error: BaseException) -> None:
    watched = Watched(1, error=error)
    found = watched.open()
    assert found.next() == 1
    with pytest.raises(type(error)) as caught:
        found.next()
    assert caught.value is error
    assert watched.closed == 1
    assert list(found) == []
    assert watched.closed == 1


def test_a_with_closes_it_before_the_end() -> None:
    watched = Watched(1, 2, 3)
    with watched.open() as found:
        assert found.next() == 1
        assert watched.closed == 0
    assert (watched.closed, watched.read) == (1, 1)
    assert list(found) == []
    assert (watched.closed, watched.read) == (1, 1)


def test_a_with_lets_errors_of_its_block_through() -> None:
    watched = Watched(1)
    with pytest.raises(LookupError, match="of the block"), watched.open():
        raise LookupError("of the block")
    assert watched.closed == 1


def test_a_with_around_its_end_closes_once() -> None:
    watched = Watched(1, 2)
    with watched.open() as found:
        assert list(found) == [1, 2]
        assert watched.closed == 1
    assert watched.closed == 1


def test_a_close_that_fails_is_not_called_again() -> None:
    calls: list[int] = []

    def close() -> None:
        calls.append(1)
        raise OSError("cannot end")

    found = CloseableIterator(iter([1]), close)
    with pytest.raises(OSError, match="cannot end"):
        found.close()
    found.close()
    assert calls == [1]


def test_a_close_that_closes_again_ends() -> None:
    calls: list[int] = []

    def close() -> None:
        calls.append(1)
        found.close()

    found = CloseableIterator(iter([1]), close)
    found.close()
    assert calls == [1]
