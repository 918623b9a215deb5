"""The lines that matter of a failed query."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from flinkish.common.errors import UnknownColumnError
from flinkish.datastream.functions import KeyedProcessFunction
from flinkish.spark import DataStream, ProcessedStream, async_map, explain_error
from tests.spark.async_functions import picky
from tests.spark.explained_functions import Divides, Misfits, Unopened, helped
from tests.spark.support import Source, raises, run, start, timed

OUT = "key string, n bigint"
WHERE = "for the key 'a', timestamp 1000 (1970-01-01 00:00:01+00:00), element Row(key='a', n=0, ts="


def source(path: Path, spark: SparkSession) -> Source:
    found = Source(spark, path / "in", "key string, n bigint, ts timestamp")
    found.add([{"key": "a", "n": 0, "ts": "1970-01-01T00:00:01Z"}])
    return found


def outputs(rows: DataFrame, function: KeyedProcessFunction) -> ProcessedStream:
    return timed(rows).key_by("key").process(function, OUT, uid="shares", max_parallelism=1)


def explained(call: Callable[[], object]) -> list[str]:
    with raises(PySparkException) as failed:
        call()
    assert len(str(failed.value).splitlines()) > 8, "there was nothing to make short"
    return explain_error(failed.value).splitlines()


def assert_it_divided(lines: list[str]) -> None:
    code = [line for line in lines if not re.fullmatch(r"[ ^~]+", line)]
    outer, called, inner, divided, said, note = code
    assert re.fullmatch(r'  File ".*explained_functions.py", line \d+, in process_element', outer)
    assert called == "    yield value.key, helped(value.n)"
    assert re.fullmatch(r'  File ".*explained_functions.py", line \d+, in helped', inner)
    assert divided == "    return 1 // n"
    assert said.startswith("ZeroDivisionError: ")
    assert note.startswith("raised in operator 'shares' (Divides), ")
    assert WHERE in note


def test_a_batch(tmp_path: Path, spark: SparkSession) -> None:
    frame = source(tmp_path, spark).frame()
    assert_it_divided(explained(lambda: outputs(frame, Divides()).to_df().collect()))


def test_a_stream(tmp_path: Path, spark: SparkSession) -> None:
    stream = outputs(source(tmp_path, spark).stream(), Divides())
    writer = stream.to_df().writeStream.format("noop").trigger(availableNow=True)
    queries: list[StreamingQuery] = []
    located = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    assert_it_divided(explained(lambda: start(located, begun=queries.append)))
    assert_it_divided((stream.error(queries[-1]) or "").splitlines())


def test_what_foreach_batch_raises(tmp_path: Path, spark: SparkSession) -> None:
    stream = outputs(source(tmp_path, spark).stream(), Divides())
    assert_it_divided(explained(lambda: run(stream, tmp_path / "checkpoint")))


def test_a_writer_of_the_user(tmp_path: Path, spark: SparkSession) -> None:
    def write(frame: DataFrame, batch: int) -> None:
        helped(0)

    writer = source(tmp_path, spark).stream().writeStream.foreachBatch(write)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    with raises(StreamingQueryException) as failed:
        query.awaitTermination()
    lines = explain_error(failed.value).splitlines()
    assert lines[0].endswith(", in write")
    assert lines[-2].startswith("ZeroDivisionError")
    assert lines[-1] == "no operator or task of flinkish raised this"


def test_a_function_that_does_not_open(tmp_path: Path, spark: SparkSession) -> None:
    frame = source(tmp_path, spark).frame()
    *_, said, note = explained(lambda: outputs(frame, Unopened()).to_df().collect())
    assert said == "OSError: no such service"
    assert note == "raised in operator 'shares' (Unopened), as it was opened"


def test_an_output_that_does_not_fit(tmp_path: Path, spark: SparkSession) -> None:
    frame = source(tmp_path, spark).frame()
    said, time, note = explained(lambda: outputs(frame, Misfits()).to_df().collect())
    assert said.startswith("flinkish.common.errors.SchemaMismatchError: the main output of oper")
    assert time == "the row that does not fit has the event time 1000 (1970-01-01 00:00:01+00:00)"
    assert note == "raised in operator 'shares' (Misfits), for the key 'a', or before it"


def test_a_key_selector(tmp_path: Path, spark: SparkSession) -> None:
    stream = DataStream(source(tmp_path, spark).frame()).key_by(lambda row: helped(row.n))
    lines = explained(lambda: stream.process(Divides(), OUT).to_df().collect())
    assert "    return 1 // n" in lines, lines
    assert "flinkish.common.errors.UserFunctionError" in "\n".join(lines)


def test_a_call(spark: SparkSession) -> None:
    numbers = spark.range(3, 4).withColumnRenamed("id", "n")
    called = async_map(numbers, picky, "n bigint, m bigint", name="calls")
    lines = explained(called.collect)
    assert lines[0].startswith('  File "')
    assert ", in picky" in lines[0]
    notes = lines[-2:]
    assert notes[0].startswith("raised in picky for Row(n=3) of timestamp None, attempt 1")
    assert notes[1].startswith("raised in task 'calls', partition ")


def test_errors_that_no_worker_raised(spark: SparkSession) -> None:
    with pytest.raises(AnalysisException) as analysed:
        spark.sql("select nothing from nowhere")
    said, whose = explain_error(analysed.value).splitlines()
    assert said.startswith("AnalysisException: [TABLE_OR_VIEW_NOT_FOUND] The table or view `nowher")
    assert whose == "no operator or task of flinkish raised this"
    assert explain_error(ValueError()).splitlines() == ["ValueError: ", whose]
    with pytest.raises(UnknownColumnError) as unknown:
        DataStream(spark.range(1)).key_by("ix")
    frame, call, *_, said = explain_error(unknown.value).splitlines()
    assert frame.startswith(f'  File "{__file__}"')
    assert call == '    DataStream(spark.range(1)).key_by("ix")'
    assert said.startswith("flinkish.common.errors.UnknownColumnError: ")


def test_a_cause_of_the_users_own(tmp_path: Path, spark: SparkSession) -> None:
    frame = source(tmp_path, spark).frame()

    def collect() -> None:
        try:
            outputs(frame, Divides()).to_df().collect()
        except PySparkException as error:
            raise RuntimeError("no shares today") from error

    with pytest.raises(RuntimeError) as failed:
        collect()
    assert_it_divided(explain_error(failed.value).splitlines())


def test_a_query_that_runs_well(tmp_path: Path, spark: SparkSession) -> None:
    stream = DataStream(source(tmp_path, spark).stream())
    writer = stream.to_df().writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    assert stream.error(query) is None
