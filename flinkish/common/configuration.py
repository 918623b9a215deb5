"""PyFlink's Configuration: settings by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from flinkish.common.errors import IllegalArgumentError

__all__ = ["Configuration"]

T = TypeVar("T")

_TRUTH = {"true": True, "false": False}


class Configuration:
    """Settings by key; values are kept as they were given, and read as the caller asks."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = dict(values or {})

    @classmethod
    def from_dict(cls, map: Mapping[str, str]) -> Configuration:
        """The settings of a dict."""
        return cls(map)

    @staticmethod
    def parse_list_value(value: str | None) -> list[str]:
        """The parts of a list in a text: ``a;b``, or in YAML ``[a, b]``; a part may be quoted."""
        text = (value or "").strip()
        separator = ";"
        if text.startswith("[") and text.endswith("]"):
            text, separator = text[1:-1], ","
        parts = (part.strip().strip("'\"") for part in text.split(separator))
        return [part for part in parts if part]

    def get_string(self, key: str, default_value: str | None = None) -> Any:
        """The text of a key, or the default."""
        return self._read(key, default_value, str, "a text")

    def set_string(self, key: str, value: str) -> Configuration:
        """Set a text."""
        return self._set(key, str(value))

    def get_integer(self, key: str, default_value: int) -> int:
        """The integer of a key, or the default; IllegalArgumentError for what is none."""
        return self._read(key, default_value, int, "an integer")

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set an integer."""
        return self._set(key, int(value))

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """The truth value of a key, or the default; IllegalArgumentError for what is none."""
        return self._read(key, default_value, _truth, "true or false")

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set a truth value."""
        return self._set(key, bool(value))

    def get_float(self, key: str, default_value: float) -> float:
        """The number of a key, or the default; IllegalArgumentError for what is none."""
        return self._read(key, default_value, float, "a number")

    def set_float(self, key: str, value: float) -> Configuration:
        """Set a number."""
        return self._set(key, float(value))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The bytes of a key, or the default."""
        return self._read(key, default_value, bytearray, "bytes")

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set a value of bytes."""
        return self._set(key, bytearray(value))

    def key_set(self) -> set[str]:
        """The keys that are set."""
        return set(self._values)

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Write all settings into a dict."""
        target_dict.update(self._values)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Take over the settings of another, with a prefix before each key if one is given."""
        for key, value in other.to_dict().items():
            self._values[f"{prefix or ''}{key}"] = value
        return self

    def contains_key(self, key: str) -> bool:
        """Whether a key is set."""
        return key in self._values

    def remove_config(self, key: str) -> bool:
        """Forget a key; whether it was set."""
        return self._values.pop(key, None) is not None

    def to_dict(self) -> dict[str, Any]:
        """The settings, in a dict of its own."""
        return dict(self._values)

    def _set(self, key: str, value: Any) -> Configuration:
        if not isinstance(key, str) or not key:
            raise IllegalArgumentError(f"a key of a Configuration is a text, not {key!r}")
        self._values[key] = value
        return self

    def _read(self, key: str, default: T, convert: Callable[[Any], Any], wanted: str) -> T:
        if key not in self._values:
            return default
        value = self._values[key]
        try:
            found: T = convert(value)
        except (TypeError, ValueError):
            raise IllegalArgumentError(
                f"the setting {key!r} is {value!r}, and {wanted} is needed"
            ) from None
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and other._values == self._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values))

    def __repr__(self) -> str:
        return f"Configuration({self._values!r})"


def _truth(value: Any) -> bool:
    if isinstance(value, (bool, int)):
        return bool(value)
    found = _TRUTH.get(str(value).lower())
    if found is None:
        raise ValueError(value)
    return found
