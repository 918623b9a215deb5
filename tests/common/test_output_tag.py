import pickle

import pytest

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import Types


def test_types_of_a_tag() -> None:
    assert OutputTag("side").type_info == Types.PICKLED_BYTE_ARRAY()
    assert OutputTag("side", Types.LONG()).type_info == Types.LONG()
    assert OutputTag("row", [Types.STRING(), Types.LONG()]).type_info == Types.ROW(
        [Types.STRING(), Types.LONG()]
    )
    named = Types.ROW_NAMED(["device", "n"], [Types.STRING(), Types.INT()])
    assert OutputTag("late", "device string, n int").type_info == named


def test_a_tag_is_its_id() -> None:
    assert OutputTag("a") == OutputTag("a", Types.LONG())
    assert hash(OutputTag("a")) == hash(OutputTag("a", Types.LONG()))
    assert OutputTag("a") != OutputTag("b")
    assert OutputTag("a") != "a"
    assert pickle.loads(pickle.dumps(OutputTag("a"))) in {OutputTag("a"): 1}
    assert repr(OutputTag("a", "bigint")) == "OutputTag('a', Long)"


def test_a_tag_without_an_id_is_refused() -> None:
    # B.25 [T~ testNullOutputTagRefusal]
    for nothing in ("", None):
        with pytest.raises(IllegalArgumentError, match="id of an OutputTag"):
            OutputTag(nothing)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="must be a str"):
        OutputTag(5)  # type: ignore[arg-type]


def test_a_type_that_is_none_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match=r"type_info of OutputTag 'a' .* call it"):
        OutputTag("a", Types.LONG)  # type: ignore[arg-type]
    with pytest.raises(IllegalArgumentError, match="not a type or schema"):
        OutputTag("a", "device strin")
