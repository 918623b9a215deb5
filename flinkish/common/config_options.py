"""PyFlink's options of configurations: a key, the type of its values, and a default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.pyflink_names import pyflink_names

if not TYPE_CHECKING:
    __getattr__ = pyflink_names(__name__)

__all__ = ["ConfigOption", "ConfigOptions"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class ConfigOption(Generic[_T]):
    """A key of a `Configuration`, and its default value, None if it has none."""

    key: str
    type_: type[Any]
    default_value: _T | None = None


class ConfigOptions:
    """Makes options: ``ConfigOptions.key("retries").int_type().default_value(3)``."""

    @staticmethod
    def key(key: str) -> OptionBuilder:
        """Begin an option; IllegalArgumentError for an empty key."""
        if not key:
            raise IllegalArgumentError("the key of an option must have characters")
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """A key whose type of values is still to be said."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> TypedConfigOptionBuilder[bool]:
            """Values are True or False."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, bool)

        def int_type(self) -> TypedConfigOptionBuilder[int]:
            """Values are integers."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def long_type(self) -> TypedConfigOptionBuilder[int]:
            """Values are integers."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def float_type(self) -> TypedConfigOptionBuilder[float]:
            """Values are floats."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def double_type(self) -> TypedConfigOptionBuilder[float]:
            """Values are floats."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def string_type(self) -> TypedConfigOptionBuilder[str]:
            """Values are texts."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, str)

    class TypedConfigOptionBuilder(Generic[_T]):
        """A key and the type of its values, still without a default."""

        def __init__(self, key: str, type_: type[Any]) -> None:
            self._key = key
            self._type = type_

        def default_value(self, value: _T) -> ConfigOption[_T]:
            """The option with a default; ArgumentTypeError for a value of another type."""
            fits = isinstance(value, (int, float) if self._type is float else self._type)
            if not fits or (isinstance(value, bool) and self._type is not bool):
                raise ArgumentTypeError(
                    f"the default of {self._key!r} must be of type {self._type.__name__}, not "
                    f"{value!r}"
                )
            return ConfigOption(self._key, self._type, value)

        def no_default_value(self) -> ConfigOption[_T]:
            """The option without a default."""
            return ConfigOption(self._key, self._type)


OptionBuilder = ConfigOptions.OptionBuilder
TypedConfigOptionBuilder = ConfigOptions.TypedConfigOptionBuilder
