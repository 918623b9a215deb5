"""Encoding an error never fails, and decoding one never does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish.common.errors import RemoteError, RpcError
from flinkish.rpc.remote_errors import encode_error, remote_error
from flinkish.rpc.wire import encode_plain

from .resisting import RESISTING, TOLD, Text, with_attributes


@pytest.mark.parametrize("make", RESISTING.values(), ids=RESISTING.keys())
@pytest.mark.parametrize("brief", [False, True])
def test_every_error_can_be_sent(make: Callable[[], BaseException], brief: bool) -> None:
    error = make()
    try:
        raise error
    except BaseException as raised:
        payload = encode_error(raised, brief)
    assert len(payload) < 70_000
    made = remote_error(payload, "method")
    assert isinstance(made, RemoteError)
    assert "cannot be described" not in str(made), "every error has something to say"


def test_what_can_be_told_of_an_error_is() -> None:
    error = with_attributes(size=1 << 64, where="\udcff", rows=7)
    error.args = ("bad \udcff",)
    made: Any = remote_error(encode_error(error), "method")
    assert isinstance(made, ValueError)
    assert made.message == "bad \\udcff"
    assert str(made) == "ValueError: bad \\udcff"
    assert (made.rows, made.where) == (7, "\\udcff")
    assert not hasattr(made, "size")


def test_a_groups_members_are_bounded() -> None:
    group = getattr(__import__("builtins"), "ExceptionGroup", None)
    if group is None:
        return
    some = group("some", [ValueError(n) for n in range(3)])
    many = group("many", [ValueError(n) for n in range(100_000)])
    assert "ValueError: 2" in remote_error(encode_error(raised(some)), "m").remote_traceback  # type: ignore[attr-defined]
    assert "test_errors.py" in remote_error(encode_error(raised(many)), "m").remote_traceback  # type: ignore[attr-defined]


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


# What classes of errors may do, in all combinations.
DOES: list[Any] = [
    lambda self: 1 / 0,
    lambda self: (_ for _ in ()).throw(SystemExit(1)),
    lambda self: str(self),
    lambda self: "\udcff\x00",
    lambda self: Text("t"),
    lambda self: 5,
    lambda self: None,
]
PLACES = [
    *("__str__", "__repr__", "args", "__dict__", "__cause__", "__context__", "__traceback__"),
    *("__notes__", "__class__", "__module__", "__suppress_context__", "__getattribute__"),
    *("type_name", "remote_traceback", "__hash__", "__eq__", "__reduce__", "add_note"),
]
PROPERTIES = {"__str__", "__repr__", "__hash__", "__eq__", "__reduce__", "__getattribute__"}
values = st.recursive(
    st.none()
    | st.integers(-(1 << 70), 1 << 70)
    | st.text(st.characters(), max_size=20)
    | st.floats()
    | st.binary(max_size=20)
    | st.builds(object),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(), max_size=3) | st.integers(), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


@given(
    st.sampled_from([Exception, KeyError, OSError, UnicodeError, RemoteError, SystemExit]),
    st.dictionaries(st.sampled_from(PLACES), st.sampled_from(DOES), max_size=5),
    st.lists(values, max_size=3),
    st.dictionaries(st.text(st.characters(), max_size=5) | st.integers(), values, max_size=4),
    st.booleans(),
)
def test_errors_of_any_class_cross(
    base: type[BaseException],
    does: dict[str, Any],
    arguments: list[Any],
    attributes: dict[Any, Any],
    brief: bool,
) -> None:
    body = {name: do if name in PROPERTIES else property(do) for name, do in does.items()}
    if "__getattribute__" in body:
        body["__getattribute__"] = lambda self, _: does["__getattribute__"](self)
    kind = type("Generated", (base,), body)
    error: BaseException = kind.__new__(kind)
    vars(BaseException)["args"].__set__(error, tuple(arguments))
    vars(BaseException)["__dict__"].__get__(error).update(attributes)
    payload = encode_error(raised(error), brief)
    made = remote_error(payload, "method")
    assert isinstance(made, RemoteError)
    assert "cannot be described" not in str(made)


@given(
    st.text(max_size=30),
    values.filter(lambda value: _travels(value)),
    st.dictionaries(
        st.sampled_from(TOLD) | st.text(max_size=5),
        values.filter(lambda value: _travels(value)),
    ),
)
def test_whatever_the_other_side_says_is_an_error(
    name: str, arguments: Any, attributes: dict[str, Any]
) -> None:
    for type_name in (name, "builtins.OSError", "builtins.BlockingIOError", "builtins.KeyError"):
        payload = encode_plain([type_name, "text", arguments, attributes, "trace"])
        made = remote_error(payload, "method")
        assert isinstance(made, RpcError)
        assert str(made)
        if isinstance(made, RemoteError):
            assert made.type_name == type_name
            assert made.remote_traceback == "trace"
            assert callable(made.with_traceback)


def _travels(value: Any) -> bool:
    try:
        encode_plain([value])
    except Exception:
        return False
    return True
