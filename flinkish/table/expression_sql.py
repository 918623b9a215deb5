"""Makes the methods of the class of expressions from the texts in `expression_methods`."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, TypeAlias

from flinkish.common.errors import UnsupportedOperationError
from flinkish.table.expression_methods import AGGREGATES, METHODS, PROPERTIES, REFUSED, UNITS

__all__ = ["attach_sql"]

Compose: TypeAlias = Callable[..., Any]


def attach_sql(cls: Any, compose: Compose, aggregate: Any) -> None:
    """Give a class of expressions its properties and methods.

    ``compose`` makes an expression from a text and its values; ``aggregate`` is the class of the
    aggregates in expressions.
    """
    for name, template in PROPERTIES.items():
        setattr(cls, name, _property(compose, template))
    for name in AGGREGATES:
        setattr(cls, name, _aggregate(cls, aggregate, name))
    for name in UNITS:
        setattr(cls, name, _interval(cls, compose, name))
        setattr(cls, f"{name}s", _interval(cls, compose, name))
    for name in METHODS:
        setattr(cls, name, _method(compose, name))
    for name in REFUSED:
        setattr(cls, name, _refused(name))


def _property(compose: Compose, template: str) -> property:
    def value(self: Any) -> Any:
        return compose(template, self)

    value.__doc__ = f"Spark's SQL ``{template.replace('{0}', 'x')}``."
    return property(value)


def _aggregate(cls: Any, aggregate: Any, name: str) -> property:
    def value(self: Any) -> Any:
        sql = AGGREGATES[name].format(self.sql)
        return cls(sql, aggregates=(aggregate(name, self.sql, sql),))

    value.__doc__ = f"Spark's aggregate ``{AGGREGATES[name].format('x')}``."
    return property(value)


def _interval(cls: Any, compose: Compose, unit: str) -> property:
    template, length = UNITS[unit]

    def value(self: Any) -> Any:
        number = self.literal
        known = length is not None and isinstance(number, int)
        made = compose(template, self)
        return cls(made.sql, interval_ms=number * length if known else None)

    value.__doc__ = f"An interval of so many {unit}s."
    return property(value)


def _method(compose: Compose, name: str) -> Callable[..., Any]:
    listed, templates = METHODS[name]
    kinds = {"*": Parameter.VAR_POSITIONAL}
    signature = Signature(
        [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)]
        + [
            Parameter(
                one.rstrip("?*"),
                kinds.get(one[-1], Parameter.POSITIONAL_OR_KEYWORD),
                default=None if one.endswith("?") else Parameter.empty,
            )
            for one in listed.split()
        ]
    )
    most = len(listed.split())

    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        values = [value for value in (*bound.args, *bound.kwargs.values()) if value is not None]
        texts = len(templates)
        index = texts - 1 - (most - (len(values) - 1)) if texts > 1 else 0
        return compose(templates[index], *values)

    call.__name__, call.__doc__ = name, f"Spark's SQL ``{templates[-1]}``."
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _refused(name: str) -> property:
    def value(self: Any) -> Any:
        raise UnsupportedOperationError(
            f"{name} is not among flinkish's expressions: {REFUSED[name]}"
        )

    value.__doc__ = f"Refused: {REFUSED[name]}."
    return property(value)
