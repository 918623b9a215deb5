"""Type information of values with parts: rows, tuples, lists, arrays, maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flinkish._core.values.row import Row, rows_of
from flinkish.common._basic_types import BasicType, BasicTypeInfo, TypeInformation, wrong
from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.names import quote_name
from flinkish.common.type_variables import K, T, V

_PRIMITIVES = frozenset(
    (
        BasicType.BOOLEAN,
        BasicType.BYTE,
        BasicType.SHORT,
        BasicType.INT,
        BasicType.LONG,
        BasicType.FLOAT,
        BasicType.DOUBLE,
        BasicType.CHAR,
    )
)


# What to take for a class of Python, by its name.
_TYPES_OF_PYTHON = {
    "int": "LONG()",
    "float": "DOUBLE()",
    "str": "STRING()",
    "bool": "BOOLEAN()",
    "bytes": "PRIMITIVE_ARRAY(Types.BYTE())",
    "Decimal": "BIG_DEC()",
    "date": "SQL_DATE()",
    "datetime": "SQL_TIMESTAMP()",
    "time": "SQL_TIME()",
    "list": "LIST(...)",
    "tuple": "TUPLE([...])",
    "dict": "MAP(..., ...)",
    "object": "PICKLED_BYTE_ARRAY()",
}


def require_type(type_info: Any, what: str) -> TypeInformation:
    """``type_info`` if it is one; ArgumentTypeError that knows the usual slip otherwise."""
    if isinstance(type_info, TypeInformation):
        return type_info
    slip = ""
    if isinstance(type_info, type) and type_info.__name__ in _TYPES_OF_PYTHON:
        slip = f": use Types.{_TYPES_OF_PYTHON[type_info.__name__]}"
    elif callable(type_info):
        slip = f": call it, {getattr(type_info, '__qualname__', type_info)}()"
    raise ArgumentTypeError(f"{what} must be a TypeInformation, not {type_info!r}{slip}")


def _require_types(types: Iterable[Any], what: str) -> tuple[TypeInformation, ...]:
    if isinstance(types, (str, TypeInformation)) or not isinstance(types, Iterable):
        raise ArgumentTypeError(f"{what} must be a list of TypeInformation, not {types!r}")
    return tuple(require_type(one, f"{what}, item {at},") for at, one in enumerate(types))


def _check_fields(
    types: Sequence[TypeInformation], names: Sequence[str], values: Sequence[Any]
) -> str | None:
    if len(values) != len(types):
        return f"{wrong(values, f'a row of {len(types)} fields')}: it has {len(values)}"
    for name, field_type, value in zip(names, types, values, strict=True):
        error = field_type.check(value)
        if error is not None:
            return f"field {name}: {error}"
    return None


@dataclass(frozen=True, slots=True, repr=False, init=False)
class RowTypeInfo(TypeInformation[Row]):
    """A row of fields, with names or with positions only (then ``f0``, ``f1``, … in columns).

    Takes a :class:`Row`, tuple or list with the fields in order, or a Row or dict with exactly
    the names; a column is a struct.
    """

    field_types: tuple[TypeInformation, ...]
    field_names: tuple[str, ...] | None

    def __init__(
        self, field_types: Iterable[TypeInformation], field_names: Iterable[str] | None = None
    ) -> None:
        types = _require_types(field_types, "field_types")
        names = None
        if field_names is not None:
            names = tuple(field_names)
            if len(names) != len(types):
                raise IllegalArgumentError(
                    f"{len(names)} field names for {len(types)} field types: give one name a type"
                )
            if len(set(names)) != len(names):
                raise IllegalArgumentError(f"field names must differ: {', '.join(names)}")
        object.__setattr__(self, "field_types", types)
        object.__setattr__(self, "field_names", names)

    def get_field_types(self) -> list[TypeInformation]:
        """The types in their order."""
        return list(self.field_types)

    def get_field_names(self) -> list[str]:
        """The names in their order; ``f0``, ``f1``, … where none were given."""
        return list(self.field_names or (f"f{at}" for at in range(len(self.field_types))))

    def get_field_index(self, field_name: str) -> int:
        """Position of a name, or -1."""
        names = self.get_field_names()
        return names.index(field_name) if field_name in names else -1

    def _values(self, value: Any) -> Sequence[Any] | str:
        """The field values in order, or the text of an error."""
        named: Mapping[str, Any] | None = None
        if isinstance(value, Row):
            if self.field_names is None or value.get_field_names() is None:
                return list(value)
            named = value.as_dict()
        elif isinstance(value, Mapping):
            named = value
        if named is not None:
            names = self.get_field_names()
            if set(named) != set(names):
                return f"{wrong(value, f'a row with the fields {names}')}: its names differ"
            return [named[name] for name in names]
        if isinstance(value, (tuple, list)):
            return value
        return wrong(value, "a Row, tuple, list or dict")

    def check(self, value: Any) -> str | None:
        if value is None:
            return None
        values = self._values(value)
        if isinstance(values, str):
            return values
        return _check_fields(self.field_types, self.get_field_names(), values)

    def to_ddl(self) -> str:
        fields = zip(self.get_field_names(), self.field_types, strict=True)
        return f"struct<{','.join(f'{quote_name(n)}:{t.to_ddl()}' for n, t in fields)}>"

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        if obj is None:
            return None
        values = self._values(obj)
        if isinstance(values, str):
            raise IllegalArgumentError(values)
        return tuple(t.to_internal_type(v) for t, v in zip(self.field_types, values, strict=True))

    def from_internal_type(self, obj: Any) -> Row | None:
        if obj is None:
            return None
        values = tuple(t.from_internal_type(v) for t, v in zip(self.field_types, obj, strict=True))
        return rows_of(self.field_names, [values])[0]

    def __repr__(self) -> str:
        if self.field_names is None:
            return f"RowTypeInfo({', '.join(map(str, self.field_types))})"
        fields = (f"{n}: {t}" for n, t in zip(self.field_names, self.field_types, strict=True))
        return f"RowTypeInfo({', '.join(fields)})"


@dataclass(frozen=True, slots=True, repr=False, init=False)
class TupleTypeInfo(TypeInformation[tuple[Any, ...]]):
    """A tuple of fixed types; a column is a struct with fields ``f0``, ``f1``, … in it."""

    field_types: tuple[TypeInformation, ...]

    def __init__(self, field_types: Iterable[TypeInformation]) -> None:
        object.__setattr__(self, "field_types", _require_types(field_types, "field_types"))

    def get_field_types(self) -> list[TypeInformation]:
        """The types in their order."""
        return list(self.field_types)

    def check(self, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, (tuple, list, Row)):
            return wrong(value, "a tuple")
        names = [f"f{at}" for at in range(len(self.field_types))]
        return _check_fields(self.field_types, names, list(value))

    def to_ddl(self) -> str:
        return RowTypeInfo(self.field_types).to_ddl()

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        if obj is None:
            return None
        return tuple(t.to_internal_type(v) for t, v in zip(self.field_types, obj, strict=True))

    def from_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        if obj is None:
            return None
        return tuple(t.from_internal_type(v) for t, v in zip(self.field_types, obj, strict=True))

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(str, self.field_types))})"


def _check_elements(element: TypeInformation, value: Any, nulls: bool, needed: str) -> str | None:
    # NumPy arrays and array.array are told by their tolist.
    if not isinstance(value, (list, tuple)) and not hasattr(value, "tolist"):
        return wrong(value, needed)
    for at, item in enumerate(value):
        error = element.check(item)
        if error is None and item is None and not nulls:
            error = "None in an array of primitives"
        if error is not None:
            return f"element {at}: {error}"
    return None


@dataclass(frozen=True, slots=True, repr=False)
class _ElementsTypeInfo(TypeInformation[list[T]]):
    """Values of one type in a row: tuples and NumPy arrays pass, lists come back."""

    elem_type: TypeInformation[T]

    def __post_init__(self) -> None:
        require_type(self.elem_type, f"elem_type of {type(self).__name__}")

    def check(self, value: Any) -> str | None:
        return None if value is None else _check_elements(self.elem_type, value, True, "a list")

    def to_ddl(self) -> str:
        return f"array<{self.elem_type.to_ddl()}>"

    def need_conversion(self) -> bool:
        return self.elem_type.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        return None if obj is None else [self.elem_type.to_internal_type(item) for item in obj]

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else [self.elem_type.from_internal_type(item) for item in obj]

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self.elem_type}>"


@dataclass(frozen=True, slots=True, repr=False)
class ListTypeInfo(_ElementsTypeInfo[T]):
    """A list of values of one type."""


@dataclass(frozen=True, slots=True, repr=False)
class ObjectArrayTypeInfo(_ElementsTypeInfo[T]):
    """Flink's array of objects: here a list."""


@dataclass(frozen=True, slots=True, repr=False)
class BasicArrayTypeInfo(_ElementsTypeInfo[T]):
    """Flink's array of boxed numbers, truth values or strings: here a list."""

    def __post_init__(self) -> None:
        kind = require_type(self.elem_type, f"elem_type of {type(self).__name__}")
        if not isinstance(kind, BasicTypeInfo) or (
            kind.basic_type not in _PRIMITIVES and kind.basic_type is not BasicType.STRING
        ):
            raise ArgumentTypeError(
                f"a basic array holds numbers, truth values or strings, not {kind}: "
                "use Types.OBJECT_ARRAY"
            )


@dataclass(frozen=True, slots=True, repr=False)
class PrimitiveArrayTypeInfo(_ElementsTypeInfo[Any]):
    """Flink's array of primitives: a list, tuple or array without None; of BYTE, also ``bytes``.

    A column of bytes is ``binary``.
    """

    def __post_init__(self) -> None:
        kind = require_type(self.elem_type, f"elem_type of {type(self).__name__}")
        if not isinstance(kind, BasicTypeInfo) or kind.basic_type not in _PRIMITIVES:
            raise ArgumentTypeError(
                f"a primitive array holds numbers, truth values or characters, not {kind}: "
                "use Types.BASIC_ARRAY or Types.OBJECT_ARRAY"
            )

    def _is_binary(self) -> bool:
        return self.elem_type == BasicTypeInfo(BasicType.BYTE)

    def check(self, value: Any) -> str | None:
        if value is None or (self._is_binary() and isinstance(value, (bytes, bytearray))):
            return None
        return _check_elements(self.elem_type, value, False, "a list or an array")

    def to_ddl(self) -> str:
        return "binary" if self._is_binary() else _ElementsTypeInfo.to_ddl(self)

    def need_conversion(self) -> bool:
        return self._is_binary()

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None or not self._is_binary():
            return None if obj is None else list(obj)
        if isinstance(obj, (bytes, bytearray)):
            return bytes(obj)
        return bytes(item & 0xFF for item in obj)

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None or not self._is_binary():
            return None if obj is None else list(obj)
        return bytes(obj)


@dataclass(frozen=True, slots=True, repr=False)
class MapTypeInfo(TypeInformation[dict[K, V]]):
    """A dict with keys of one type, never None, and values of another."""

    key_type_info: TypeInformation[K]
    value_type_info: TypeInformation[V]

    def __post_init__(self) -> None:
        require_type(self.key_type_info, "the key type of a map")
        require_type(self.value_type_info, "the value type of a map")

    def check(self, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            return wrong(value, "a dict")
        for key, item in value.items():
            if key is None:
                return "a key is None"
            error = self.key_type_info.check(key)
            if error is not None:
                return f"key {key!r}: {error}"
            error = self.value_type_info.check(item)
            if error is not None:
                return f"value of key {key!r}: {error}"
        return None

    def to_ddl(self) -> str:
        return f"map<{self.key_type_info.to_ddl()},{self.value_type_info.to_ddl()}>"

    def need_conversion(self) -> bool:
        return self.key_type_info.need_conversion() or self.value_type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> dict[Any, Any] | None:
        if obj is None:
            return None
        key, value = self.key_type_info.to_internal_type, self.value_type_info.to_internal_type
        return {key(k): value(v) for k, v in obj.items()}

    def from_internal_type(self, obj: Any) -> dict[Any, Any] | None:
        if obj is None:
            return None
        key, value = self.key_type_info.from_internal_type, self.value_type_info.from_internal_type
        return {key(k): value(v) for k, v in obj.items()}

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self.key_type_info}, {self.value_type_info}>"
