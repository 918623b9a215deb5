"""Sinks to Kafka by Spark's own connector, under PyFlink's names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
    UnsupportedOperationError,
)
from flinkish.common.names import in_backticks
from flinkish.common.serialization import SerializationSchema
from flinkish.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from flinkish.environment.connectors.base import DeliveryGuarantee, Sink
from flinkish.environment.nodes import Act

__all__ = [
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaTopicSelector",
]

_TOPIC = "__flinkish_topic"
_RECORD = "__flinkish_record_"  # and the part of the record that a function makes


class KafkaTopicSelector(ABC):
    """Chooses the topic of an element."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The topic of an element."""


class KafkaRecordSerializationSchema:
    """How elements become records of a topic; `builder` makes it."""

    def __init__(
        self,
        topic: str | Callable[[Any], str],
        value: SerializationSchema,
        key: SerializationSchema | None,
    ) -> None:
        self.topic = topic
        self.value = value
        self.key = key

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """Begin with no settings."""
        return KafkaRecordSerializationSchemaBuilder()


class KafkaRecordSerializationSchemaBuilder:
    """The settings of a `KafkaRecordSerializationSchema`."""

    def __init__(self) -> None:
        self._topic: str | Callable[[Any], str] | None = None
        self._value: SerializationSchema | None = None
        self._key: SerializationSchema | None = None

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """Set the topic."""
        self._topic = topic
        return self

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set what gives the topic of each element: a KafkaTopicSelector or a function."""
        if isinstance(topic_selector, KafkaTopicSelector):
            self._topic = topic_selector.apply
        elif callable(topic_selector):
            self._topic = topic_selector
        else:
            raise ArgumentTypeError(
                "set_topic_selector takes a KafkaTopicSelector or a function of an element, not "
                f"{topic_selector!r}"
            )
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the format of values."""
        self._value = value_serialization_schema
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the format of keys, of the whole element."""
        self._key = key_serialization_schema
        return self

    def build(self) -> KafkaRecordSerializationSchema:
        """Make it; IllegalArgumentError if topic or format are missing."""
        if self._topic is None or self._value is None:
            raise IllegalArgumentError(
                "records of Kafka need set_topic or set_topic_selector, and "
                "set_value_serialization_schema"
            )
        return KafkaRecordSerializationSchema(self._topic, self._value, self._key)


class KafkaSink(Sink):
    """Writes elements as records of a topic; `builder` makes it.

    Spark's connector writes at least once: a task that fails, and a micro-batch that runs again,
    writes its records again.
    """

    def __init__(
        self, options: Mapping[str, str], serializer: KafkaRecordSerializationSchema
    ) -> None:
        self._options = dict(options)
        self._serializer = serializer

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """Begin with no settings."""
        return KafkaSinkBuilder()

    def writer(self, kind: TypeInformation | None) -> Act:
        """The function that writes the records of a round."""
        options, serializer = self._options, self._serializer
        topic = serializer.topic
        functions: dict[str, tuple[Callable[[Any], Any], TypeInformation]] = {}
        if not isinstance(topic, str):
            functions[_TOPIC] = (topic, Types.STRING())
        parts = {"value": serializer.value, "key": serializer.key}
        formats = {name: schema for name, schema in parts.items() if schema is not None}
        for name, schema in formats.items():
            encode = schema.encoder(kind)
            if encode is not None:
                functions[f"{_RECORD}{name}"] = (encode, Types.PRIMITIVE_ARRAY(Types.BYTE()))
        if functions and kind is None:
            raise ArgumentTypeError(
                "the elements have no declared type: give the operator before a KafkaSink with a "
                "topic selector an output_type"
            )

        columned = any(f"{_RECORD}{name}" not in functions for name in formats)

        def act(this: Any, stream: Any) -> None:
            frame = _with_functions(this, stream, functions, kind if columned else None)
            names = [name for name in frame.columns if name not in functions]
            columns = [
                f"{schema.expression(names)} AS {name}"
                if f"{_RECORD}{name}" not in functions
                else f"{_RECORD}{name} AS {name}"
                for name, schema in formats.items()
            ]
            if not isinstance(topic, str):
                columns.append(f"{_TOPIC} AS topic")
            writer = frame.selectExpr(*columns).write.format("kafka").options(**options)
            if isinstance(topic, str):
                writer = writer.option("topic", topic)
            writer.save()

        return act


class KafkaSinkBuilder:
    """The settings of a `KafkaSink`."""

    def __init__(self) -> None:
        self._options: dict[str, str] = {}
        self._serializer: KafkaRecordSerializationSchema | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Set the brokers: ``host:port``, several with commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_record_serializer(
        self, record_serializer: KafkaRecordSerializationSchema
    ) -> KafkaSinkBuilder:
        """Set the topic and the format of records."""
        self._serializer = record_serializer
        return self

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Ask for a guarantee; UnsupportedOperationError for EXACTLY_ONCE."""
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise UnsupportedOperationError(
                "Spark's Kafka connector has no transactions, so it writes at least once: take "
                "AT_LEAST_ONCE, and let readers drop records that they have seen, by a key"
            )
        return self

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Take the names of transactions, of which there are none."""
        return self

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """Set a property of Kafka's producers."""
        self._options[f"kafka.{key}"] = str(value)
        return self

    def build(self) -> KafkaSink:
        """Make the sink; IllegalArgumentError if brokers or format are missing."""
        if self._serializer is None or "kafka.bootstrap.servers" not in self._options:
            raise IllegalArgumentError(
                "a KafkaSink needs set_bootstrap_servers and set_record_serializer"
            )
        return KafkaSink(self._options, self._serializer)


def _with_functions(
    this: Any,
    stream: Any,
    functions: Mapping[str, tuple[Callable[[Any], Any], TypeInformation]],
    kind: Any,
) -> Any:
    """The columns of functions of the elements, by their names, and those of elements of a type."""
    if not functions:
        return this.columns_of(stream)
    calls = [function for function, _ in functions.values()]
    types = [type_ for _, type_ in functions.values()]
    if kind is not None:
        calls.append(_same)
        types.append(kind)
    results = stream.map(lambda value: tuple([call(value) for call in calls]), Types.TUPLE(types))
    frame = this.columns_of(results)
    columns = list(map(in_backticks, frame.columns))
    named = [f"{column} AS {name}" for column, name in zip(columns, functions)]  # noqa: B905
    if kind is not None:
        is_row = isinstance(kind, (RowTypeInfo, TupleTypeInfo))
        named.append(f"{columns[-1]}.*" if is_row else columns[-1])
    return frame.selectExpr(*named)


def _same(value: Any) -> Any:
    return value
