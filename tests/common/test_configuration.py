"""Settings by key, and how a program is to be run."""

from __future__ import annotations

import pytest

from flinkish.common import Configuration, ExecutionConfig
from flinkish.common.errors import IllegalArgumentError


def test_values_are_read_as_the_caller_asks() -> None:
    found = Configuration({"n": "3", "on": "TRUE", "x": "1.5", "t": 7})
    assert found.get_integer("n", 0) == 3
    assert found.get_boolean("on", False) is True
    assert found.get_float("x", 0.0) == 1.5
    assert found.get_string("t") == "7"
    assert found.get_bytearray("none", bytearray(b"d")) == bytearray(b"d")
    assert found.get_string("none", "default") == "default"
    assert found.get_string("none") is None


@pytest.mark.parametrize("method", ["get_integer", "get_float", "get_boolean"])
def test_what_cannot_be_read_is_named(method: str) -> None:
    found = Configuration().set_string("key", "many")
    with pytest.raises(IllegalArgumentError, match="the setting 'key' is 'many'"):
        getattr(found, method)("key", 0)


def test_setters_chain_and_keys_go() -> None:
    found = Configuration().set_integer("n", 1).set_boolean("on", False).set_float("x", 2.0)
    found.set_bytearray("b", bytearray(b"x"))
    assert found.key_set() == {"n", "on", "x", "b"}
    assert found.remove_config("on")
    assert not found.remove_config("on")
    assert not found.contains_key("on")
    with pytest.raises(IllegalArgumentError, match="a key of a Configuration is a text"):
        found.set_string("", "x")


def test_settings_of_others_are_copied() -> None:
    one = Configuration({"a": 1})
    two = Configuration({"b": 2}).add_all(one, "p.")
    one.set_integer("a", 9)
    assert two.to_dict() == {"b": 2, "p.a": 1}
    target = {"c": 3}
    two.add_all_to_dict(target)
    assert target == {"c": 3, "b": 2, "p.a": 1}
    assert two == Configuration({"p.a": 1, "b": 2})
    assert two != Configuration()
    assert repr(Configuration({"a": 1})) == "Configuration({'a': 1})"


def test_how_a_program_is_run() -> None:
    found = ExecutionConfig()
    assert (found.get_parallelism(), found.get_max_parallelism()) == (-1, -1)
    assert found.set_parallelism(3).set_max_parallelism(9).get_parallelism() == 3
    assert found.get_max_parallelism() == 9
    assert found.get_auto_watermark_interval() == 200
    assert found.set_auto_watermark_interval(5).get_auto_watermark_interval() == 5
    assert found.enable_object_reuse().is_object_reuse_enabled()
    assert not found.disable_object_reuse().is_object_reuse_enabled()
    found.set_global_job_parameters({"limit": 3})
    assert found.get_global_job_parameters() == {"limit": "3"}


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("set_parallelism", 0),
        ("set_max_parallelism", 0),
        ("set_max_parallelism", 32769),
        ("set_auto_watermark_interval", -1),
    ],
)
def test_numbers_that_cannot_be(method: str, value: int) -> None:
    with pytest.raises(IllegalArgumentError, match=str(value)):
        getattr(ExecutionConfig(), method)(value)
