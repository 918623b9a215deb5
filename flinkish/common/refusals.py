"""Methods of PyFlink's classes that are refused here, each with the way that works."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from flinkish.common.errors import UnsupportedOperationError

__all__ = ["refuses"]

_C = TypeVar("_C", bound=type)


def refuses(methods: Mapping[str, str]) -> Callable[[_C], _C]:
    """A class decorator that adds methods that raise UnsupportedOperationError.

    ``methods`` maps names of methods, separated by spaces, to the reason and the way that works.
    """

    def decorate(cls: _C) -> _C:
        for names, why in methods.items():
            for name in names.split():
                setattr(cls, name, _refusal(cls, name, why))
        return cls

    return decorate


def _refusal(cls: type, name: str, why: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedOperationError(f"{cls.__name__}.{name} is not in flinkish: {why}")

    refuse.__name__, refuse.__qualname__ = name, f"{cls.__qualname__}.{name}"
    refuse.__doc__ = f"Refused, since {why}."
    return refuse
