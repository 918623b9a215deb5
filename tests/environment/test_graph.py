"""Programs before anything runs: their nodes, settings, and what is refused at the call."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from flinkish.common import (
    Configuration,
    OutputTag,
    Row,
    SimpleStringSchema,
    Types,
    WatermarkStrategy,
)
from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.datastream import (
    CheckpointConfig,
    CheckpointingMode,
    DataStream,
    StreamExecutionEnvironment,
)
from flinkish.datastream.connectors.base import DeliveryGuarantee
from flinkish.datastream.connectors.file_system import FileSource, StreamFormat
from flinkish.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from flinkish.datastream.connectors.number_seq import NumberSequenceSource
from flinkish.environment.collected import CloseableIterator
from flinkish.environment.connectors.formats import (
    CsvRowSerializationSchema,
    JsonRowDeserializationSchema,
)
from tests.processes import LONGEST_S

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])

_PROGRAM = """
import sys
from flinkish.common import Types
from flinkish.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection([1, 2], Types.LONG()).map(lambda value: value + 1)
stream.key_by(lambda value: value).reduce(max).print()
assert "pyspark" not in sys.modules
"""


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1)], PAIR)


def test_a_program_is_built_without_spark() -> None:
    subprocess.run([sys.executable, "-c", _PROGRAM], check=True, timeout=LONGEST_S)


def test_the_plan_has_the_nodes_in_their_order() -> None:
    env = environment()
    stream = pairs(env).map(lambda pair: pair, PAIR).name("same")
    stream.key_by(lambda pair: pair[0]).sum(1).uid("sums").print("x")
    nodes = json.loads(env.get_execution_plan())["nodes"]
    assert [node["type"] for node in nodes] == ["Collection", "same", "Rolling sum", "Print"]
    before = [[(one["id"], one["ship_strategy"]) for one in node["predecessors"]] for node in nodes]
    assert before == [[], [(1, "FORWARD")], [(2, "HASH")], [(3, "FORWARD")]]
    pacts = [node["pact"] for node in nodes]
    assert pacts == ["Data Source", "Operator", "Operator", "Data Sink"]
    assert [node["uid"] for node in nodes] == ["collection-1", "same-2", "sums", "print-4"]
    env.close()
    pairs(env)
    assert [node["id"] for node in json.loads(env.get_execution_plan())["nodes"]] == [5]


def test_the_plan_says_how_elements_are_shipped() -> None:
    env = environment().set_parallelism(8)
    first, second = pairs(env), pairs(env).force_non_parallel()
    united = first.union(second.rebalance()).map(lambda pair: pair).set_parallelism(3)
    for ship in ("shuffle", "rescale", "forward", "broadcast"):
        getattr(united, ship)().map(lambda pair: pair)
    first.project(0)
    nodes = {node["id"]: node for node in json.loads(env.get_execution_plan())["nodes"]}
    assert [node["parallelism"] for node in nodes.values()][:3] == [8, 1, 3]
    ships = [
        [one["ship_strategy"] for one in node["predecessors"]] for node in [*nodes.values()][2:]
    ]
    strategies = [["SHUFFLE"], ["RESCALE"], ["FORWARD"], ["BROADCAST"], ["FORWARD"]]
    assert ships == [["FORWARD", "REBALANCE"], *strategies]
    assert [*nodes.values()][-1]["type"] == "Projection"


@pytest.mark.parametrize("method", ["name", "uid", "shuffle", "broadcast", "set_parallelism"])
def test_a_keyed_stream_is_no_operator(method: str) -> None:
    keyed = pairs(environment()).key_by(lambda pair: pair[0])
    with pytest.raises(UnsupportedOperationError, match=f"{method} is for operators"):
        getattr(keyed, method)(*(["a"] if method != "broadcast" else []))


def test_settings_are_kept() -> None:
    env = environment().set_parallelism(3).set_max_parallelism(7).set_buffer_timeout(5)
    assert (env.get_parallelism(), env.get_max_parallelism(), env.get_buffer_timeout()) == (3, 7, 5)
    assert env.is_chaining_enabled()
    assert not env.disable_operator_chaining().is_chaining_enabled()
    env.enable_checkpointing(500, CheckpointingMode.AT_LEAST_ONCE)
    assert env.get_checkpoint_interval() == 500
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    env.set_default_savepoint_directory("here")
    assert env.get_default_savepoint_directory() == "here"
    env.configure(Configuration({"parallelism.default": "4", "execution.runtime-mode": "batch"}))
    assert env.get_parallelism() == 4
    with pytest.raises(IllegalArgumentError, match="must be one of STREAMING, BATCH, AUTOMATIC"):
        env.configure(Configuration({"execution.runtime-mode": "both"}))
    sink = pairs(env).print().name("out").uid("u").set_parallelism(1).disable_chaining()
    assert sink.get_name() == "out"


def test_checkpoints_have_settings() -> None:
    found = CheckpointConfig()
    assert (found.get_checkpoint_interval(), found.is_checkpointing_enabled()) == (-1, False)
    assert found.set_checkpoint_interval(10).is_checkpointing_enabled()
    assert found.enable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert not found.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()
    assert found.set_checkpoint_timeout(7).get_checkpoint_timeout() == 7
    assert found.set_max_concurrent_checkpoints(2).get_max_concurrent_checkpoints() == 2
    for call in (
        lambda: found.set_checkpoint_interval(9),
        lambda: found.set_checkpoint_timeout(0),
        lambda: found.set_min_pause_between_checkpoints(-1),
        lambda: found.set_tolerable_checkpoint_failure_number(-1),
        lambda: found.set_checkpoint_storage_dir(""),
    ):
        with pytest.raises(IllegalArgumentError):
            call()


def test_types_of_streams() -> None:
    env = environment()
    assert pairs(env).get_type() == PAIR
    assert pairs(env).map(lambda pair: pair).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert pairs(env).project(1, 0).get_type() == Types.TUPLE([Types.LONG(), Types.STRING()])
    assert pairs(env).key_by(lambda pair: pair[0]).sum(1).get_type() == PAIR
    none = WatermarkStrategy.no_watermarks()
    assert env.from_source(NumberSequenceSource(1, 2), none, "n").get_type() == Types.LONG()


REFUSED: list[tuple[str, Callable[[Any], Any]]] = [
    ("not 'text'", lambda env: env.from_collection("text")),
    ("takes a Source", lambda env: env.from_source(3, WatermarkStrategy.no_watermarks(), "n")),
    ("takes a SourceFunction", lambda env: env.add_source(3)),
    ("is a RuntimeExecutionMode", lambda env: env.set_runtime_mode("BATCH")),
    ("parallelism must be 1 or more, not 0", lambda env: env.set_parallelism(0)),
    ("must be 1 or more, not 0", lambda env: pairs(env).set_parallelism(0)),
    ("a uid must have characters", lambda env: pairs(env).uid("")),
    ("from 1 to 32768, not 0", lambda env: pairs(env).set_max_parallelism(0)),
    ("positions from 0 to 1", lambda env: pairs(env).project(2)),
    ("positions from 0 to 1, not none", lambda env: pairs(env).project()),
    ("project takes fields", lambda env: pairs(env).map(str).project(0)),
    ("has no side outputs", lambda env: pairs(env).map(str).get_side_output(OutputTag("x"))),
    ("by its OutputTag, not 'x'", lambda env: pairs(env).get_side_output("x")),
    ("key_by takes a function", lambda env: pairs(env).key_by(3)),
    ("union takes streams", lambda env: pairs(env).union(3)),
    ("connect takes a DataStream", lambda env: pairs(env).connect(3)),
    ("takes MapStateDescriptors", lambda env: pairs(env).broadcast(3)),
    ("takes a Partitioner", lambda env: pairs(env).partition_custom(3, 4)),
    ("takes a SinkFunction", lambda env: pairs(env).add_sink(print)),
    ("sink_to takes a Sink", lambda env: pairs(env).sink_to(print)),
    (
        "use key_by on both",
        lambda env: pairs(env).key_by(len).connect(pairs(env)).process(object()),
    ),
    ("must not end at 1, before 2", lambda env: NumberSequenceSource(2, 1)),
    ("needs set_bootstrap_servers and set_topics", lambda env: KafkaSource.builder().build()),
    ("needs set_bootstrap_servers", lambda env: KafkaSink.builder().build()),
    ("a FileSource needs a path", lambda env: FileSource.for_record_stream_format(LINES)),
    ("of rows, so it needs type", lambda env: JsonRowDeserializationSchema.builder().build()),
    ("a charset is a name", lambda env: SimpleStringSchema("x'y")),
    ("SimpleStringSchema writes texts", lambda env: SimpleStringSchema().expression(["a", "b"])),
    (
        "declare the same type for both",
        lambda env: CsvRowSerializationSchema.Builder(ROW).build().encoder(PAIR),
    ),
]
LINES = StreamFormat.text_line_format()
ROW = Types.ROW_NAMED(["a"], [Types.LONG()])


@pytest.mark.parametrize(("message", "call"), REFUSED, ids=[one[0] for one in REFUSED])
def test_arguments_that_are_refused(message: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(IllegalArgumentError, match=message):
        call(environment())


def test_what_spark_cannot_do_says_what_it_can() -> None:
    with pytest.raises(UnsupportedOperationError, match="add_python_archive"):
        environment().set_python_requirements("requirements.txt")
    with pytest.raises(UnsupportedOperationError, match="at least once"):
        KafkaSink.builder().set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)


def test_offsets_are_sparks() -> None:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers("localhost:1")
        .set_topics("a", "b")
        .set_property("isolation.level", "read_committed")
        .set_group_id("g")
        .set_starting_offsets(KafkaOffsetsInitializer.offsets({KafkaTopicPartition("a", 1): 5}))
        .set_bounded(KafkaOffsetsInitializer.timestamp(7))
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    assert source.input().options == {  # type: ignore[attr-defined]
        "kafka.bootstrap.servers": "localhost:1",
        "subscribe": "a,b",
        "kafka.isolation.level": "read_committed",
        "groupIdPrefix": "g",
        "startingOffsets": '{"a": {"1": 5}}',
        "endingTimestamp": "7",
    }


def test_an_iterator_closes_once() -> None:
    closed: list[int] = []
    found = CloseableIterator(iter([1, 2]), lambda: closed.append(1))
    assert found.next() == 1
    assert list(found) == [2]
    assert closed == [1]
    with CloseableIterator(iter([1, 2]), lambda: closed.append(2)) as other:
        assert next(other) == 1
    assert closed == [1, 2]
    other.close()
    assert list(other) == []
    assert closed == [1, 2]


def test_rows_are_no_texts() -> None:
    with pytest.raises(ArgumentTypeError):
        environment().from_collection(3)  # type: ignore[arg-type]
    assert environment().from_collection([Row(1)]).get_type() == Types.PICKLED_BYTE_ARRAY()
