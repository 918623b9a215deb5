"""Functions of the row as keys, with a type and without, as PyFlink takes them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

import flinkish.spark as fs
from flinkish.common import Types
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.functions import KeyedCoProcessFunction, KeyedProcessFunction, KeySelector
from flinkish.spark.keyed.key_widening import KEY_FUNCTION
from flinkish.spark.keyed.packing import keyed_batch
from flinkish.spark.streams.chosen_keys import chosen_keys
from flinkish.time import assign_to_key_group
from tests.spark.fake_spark import plan
from tests.spark.support import raises


class Keys(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield str(ctx.get_current_key()), value.n


class Both(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield f"1 {ctx.get_current_key()}", value.n

    process_element2 = process_element1


class Negated(KeySelector):
    def get_key(self, value: Any) -> int:
        return -int(value.n)


OUT = "key string, n bigint"


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    return spark.range(1, 9, 1, 2).withColumnRenamed("id", "n")


@pytest.mark.parametrize(
    "by",
    [
        lambda stream: stream.key_by(lambda row: -row.n, Types.LONG()),
        lambda stream: stream.key_by(lambda row: -row.n, key_type=Types.LONG()),
        lambda stream: stream.key_by(Negated(), Types.LONG()),
        lambda stream: stream.key_by(Negated()),
    ],
)
def test_a_key_type_by_place_and_by_name(rows: DataFrame, by: Callable[[Any], Any]) -> None:
    found = by(fs.DataStream(rows)).process(Keys(), schema=OUT).to_df().collect()
    assert {tuple(row) for row in found} == {(str(-n), n) for n in range(1, 9)}


def test_the_type_says_how_a_key_hashes(rows: DataFrame, tmp_path: Path) -> None:
    """B.20: a negative int has another key group as Flink's LONG than as its INT."""
    numbers = list(range(1, 9))
    times = pa.array([1000] * len(numbers), pa.timestamp("us", "UTC"))
    table = pa.table({"n": numbers, "ts": times})
    for kind, said in ((Types.LONG(), " to bigint"), (Types.INT(), " to int"), (None, "")):
        keys = chosen_keys(rows, (Negated(),), key_type=kind)
        assert keys.described == KEY_FUNCTION + said, "a checkpoint knows the type"
        operator = plan(
            Keys(),
            pa.schema([("key", pa.string()), ("n", pa.int64())]),
            tmp_path,
            schema=table.schema,
            max_parallelism=1024,
            key_columns=keys.columns,
            key_selector=keys.selector,
            key_types=keys.types,
        )
        _, groups, _ = keyed_batch(operator, table)
        assert groups.tolist() == [assign_to_key_group(-n, 1024, kind) for n in numbers]


def test_a_key_of_another_type_is_refused_with_its_row(rows: DataFrame) -> None:
    stream = fs.DataStream(rows).key_by(lambda row: f"k{row.n}", Types.INT())
    with raises(PythonException, match=r"the key selector of operator .* failed on Row\(n="):
        stream.process(Keys(), schema=OUT).to_df().collect()


def test_two_streams(rows: DataFrame) -> None:
    one, other = fs.DataStream(rows), fs.DataStream(rows.where("n > 4"))
    keyed = one.connect(other).key_by(Negated(), lambda row: -row.n, Types.LONG())
    found = keyed.process(Both(), schema=OUT).to_df().collect()
    assert len(found) == 12
    with pytest.raises(ArgumentTypeError, match=r"are a function of the row to bigint, .* to int;"):
        one.key_by(Negated(), Types.LONG()).connect(other.key_by(Negated(), Types.INT())).process(
            Both(), schema=OUT
        )


@pytest.mark.parametrize(
    ("keys", "options", "error", "said"),
    [
        (("n",), {"key_type": Types.LONG()}, IllegalArgumentError, "columns have their types"),
        (("n", Types.LONG()), {}, IllegalArgumentError, "columns have their types"),
        (
            (Negated(), Types.INT()),
            {"key_type": Types.INT()},
            IllegalArgumentError,
            "two key types",
        ),
        ((Negated(),), {"key_type": int}, ArgumentTypeError, "one of Types, such as"),
        ((Negated(),), {"key_type": Types.BIG_INT()}, IllegalArgumentError, "BIG_INT cannot be"),
        ((3,), {}, ArgumentTypeError, "column names or one function of the row, not 3"),
    ],
)
def test_what_cannot_be_keys(
    rows: DataFrame, keys: tuple[Any, ...], options: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        fs.DataStream(rows).key_by(*keys, **options)
