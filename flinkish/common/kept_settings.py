"""Settings of Flink without an effect on Spark: a program may set them, and gets a warning.

A class lists its settings in a table, and `keeps` adds the methods for them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any, TypeVar

__all__ = ["Flag", "Kept", "keeps"]

_C = TypeVar("_C", bound=type)


@dataclass(frozen=True)
class Kept:
    """A setting with a value: the names of its setter and getter, and its default.

    ``why`` says what Spark does instead.
    """

    setter: str
    parameter: str
    getter: str
    default: Any
    why: str


@dataclass(frozen=True)
class Flag:
    """A switch: the names of the methods that enable, disable and get it, and its default."""

    enable: str
    disable: str
    getter: str
    default: bool
    why: str


def keeps(settings: Sequence[Kept | Flag]) -> Callable[[_C], _C]:
    """A class decorator that adds these settings' methods; setters warn and return the object."""

    def decorate(cls: _C) -> _C:
        for setting in settings:
            getter = setting.getter
            _attach(cls, getter, _getter(getter, setting.default))
            if isinstance(setting, Flag):
                _attach(cls, setting.enable, _switch(getter, True, setting.why))
                _attach(cls, setting.disable, _switch(getter, False, setting.why))
            else:
                setter = _setter(getter, setting.parameter, setting.why)
                _attach(cls, setting.setter, setter)
        return cls

    return decorate


def _attach(cls: type, name: str, method: Any) -> None:
    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    setattr(cls, name, method)


def _getter(name: str, default: Any) -> Callable[[Any], Any]:
    def get(self: Any) -> Any:
        return vars(self).get(f"_kept_{name}", default)

    get.__doc__ = "The value that was set, else Flink's default; it has no effect on Spark."
    return get


def _switch(getter: str, value: bool, why: str) -> Callable[[Any], Any]:
    def switch(self: Any) -> Any:
        return _keep(self, getter, value, why)

    switch.__doc__ = f"Keep the setting, with a warning: {why}."
    return switch


def _setter(getter: str, parameter: str, why: str) -> Callable[..., Any]:
    signature = Signature(
        [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("self", parameter)]
    )

    def set_value(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        return _keep(given["self"], getter, given[parameter], why)

    set_value.__doc__ = f"Keep the value, with a warning: {why}."
    set_value.__signature__ = signature  # type: ignore[attr-defined]
    return set_value


def _keep(self: Any, getter: str, value: Any, why: str) -> Any:
    warnings.warn(f"this setting has no effect on Spark: {why}", stacklevel=3)
    setattr(self, f"_kept_{getter}", value)
    return self
