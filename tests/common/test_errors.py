import pickle

import pytest

from flinkish.common import errors
from flinkish.common.errors import (
    ArgumentTypeError,
    CorruptStateError,
    FencingTokenError,
    FlinkishError,
    IllegalArgumentError,
    IllegalStateError,
    IncompatibleStateError,
    MissingDependencyError,
    NullKeyError,
    SchemaMismatchError,
    SerializationError,
    StateError,
    StateMigrationError,
    UnknownColumnError,
    UserFunctionError,
)

EXAMPLES = [
    IllegalStateError("m"),
    ArgumentTypeError("m"),
    UnknownColumnError("m", column="a", available=["b", "c"]),
    NullKeyError("m", value={"a": None}, column="a"),
    SchemaMismatchError("m", value=(1,), schema="a string"),
    SerializationError("m", path="F.client"),
    IncompatibleStateError("m", setting="max_parallelism", was=128, now=64),
    StateMigrationError("m", setting="count", was="Long", now="String"),
    CorruptStateError("m", version=3, key_group=7, checksum=0xBEEF),
    UserFunctionError("m", function="F", method="on_timer", key="k"),
    MissingDependencyError.of("pyspark", feature="flinkish.spark", extra="spark"),
    FencingTokenError("m", expected=2, found=1),
]


def test_all_errors_are_in_one_tree() -> None:
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, FlinkishError)
        assert name.endswith("Error")
        assert kind.__module__ == "flinkish.common.errors"
        assert kind.__doc__


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_cross_processes_with_their_figures(error: FlinkishError) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert vars(back) == vars(error)


def test_a_wrong_argument_is_also_pythons_error() -> None:
    assert issubclass(IllegalArgumentError, ValueError)
    assert not issubclass(IllegalArgumentError, TypeError)
    assert issubclass(ArgumentTypeError, TypeError)
    assert issubclass(ArgumentTypeError, IllegalArgumentError)
    assert issubclass(IllegalStateError, RuntimeError)
    assert issubclass(MissingDependencyError, ImportError)
    assert issubclass(StateMigrationError, IncompatibleStateError)
    assert issubclass(CorruptStateError, StateError)


def test_damaged_state_is_named() -> None:
    error = CorruptStateError("the checksum does not match", version=3, key_group=7, checksum=255)
    text = "the checksum does not match (format version 3, key group 7, checksum 0x000000ff)"
    assert str(error) == text
    assert (error.version, error.key_group, error.checksum) == (3, 7, 255)
    assert str(CorruptStateError("not ours")) == "not ours"
    assert str(CorruptStateError("not ours", key_group=0)) == "not ours (key group 0)"


def test_a_missing_package_says_how_to_install_it() -> None:
    assert str(MissingDependencyError.of("google.protobuf", feature="state on Spark")) == (
        "state on Spark needs the package google.protobuf, which cannot be imported: "
        "pip install google.protobuf"
    )
    error = MissingDependencyError.of("pyspark", feature="flinkish.spark", extra="spark")
    assert "pip install 'flinkish[spark]'" in str(error)
    assert (error.module, error.extra) == ("pyspark", "spark")
