"""PyFlink's user-defined functions for tables: of rows, of groups, and functions that return rows.

Spark passes whole columns as Arrow data to its Python workers, and these call a function row by
row, unless it takes pandas Series.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from itertools import count
from types import MappingProxyType
from typing import Any

from flinkish.common.errors import (
    ArgumentTypeError,
    IllegalArgumentError,
)
from flinkish.common.names import in_backticks
from flinkish.common.typeinfo import RowTypeInfo, TypeInformation, Types
from flinkish.table.expression import Aggregate, Expression, composed
from flinkish.table.function_calls import (
    GroupCalls,
    ListCalls,
    NoArgumentCalls,
    RowCalls,
    SeriesCalls,
    SeriesListCalls,
)
from flinkish.table.function_classes import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunctionClass,
)
from flinkish.table.type_texts import type_of
from flinkish.table.types import DataType

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedFunction",
    "call_of",
    "called",
    "columns_of_value",
    "functions_in",
    "table_call",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]


_NUMBERS = count()
_NAME = re.compile(r"\bflinkish_function_\d+\b")
_KNOWN: dict[str, UserDefinedFunction] = {}


@dataclass(frozen=True)
class UserDefinedFunction:
    """A user's function for Spark's SQL; a call with expressions returns an expression.

    ``form`` is SCALAR, TABLE, AGGREGATE or TABLE_AGGREGATE; ``series`` says whether its arguments
    are pandas Series; ``kind`` is the type of its results, a row type if they are rows.
    """

    function: Any
    form: str
    kind: TypeInformation
    series: bool
    deterministic: bool
    title: str
    name: str = field(default_factory=lambda: f"flinkish_function_{next(_NUMBERS)}")

    def __post_init__(self) -> None:
        _KNOWN[self.name] = self

    def __call__(self, *args: Any) -> Expression[Any]:
        """The expression of the function with arguments."""
        return called(self, args)

    @property
    def takes_nothing(self) -> bool:
        """Whether it is a scalar function without parameters."""
        return self.form == "SCALAR" and not self.series and _takes_nothing(self.function)

    @property
    def row_names(self) -> list[str] | None:
        """The names of the columns, if results are rows."""
        return self.kind.get_field_names() if isinstance(self.kind, RowTypeInfo) else None

    def register(
        self,
        spark: Any,
        name: str | None = None,
        parameters: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Register the function with a Spark session under a name in SQL, by default its own.

        ``parameters`` are the job parameters that the function's context returns.
        """
        from flinkish.spark.jobs.functions import SqlFunction, register

        rows = self.form.startswith("TABLE")
        by_group = self.form.endswith("AGGREGATE")
        facts = (self.function, self.title, dict(parameters))
        calls: Any = SeriesListCalls(*facts) if by_group and name is None else SeriesCalls(*facts)
        if not self.series:
            width = len(self.row_names or ("f0",)) if rows else None
            # Expressions pass the list of a group's rows to an aggregate, as otherwise Spark has no
            # row for an empty group; SQL texts pass columns.
            groups = ListCalls if name is None else GroupCalls
            calls = (groups if by_group else RowCalls)(*facts, width)
            if self.takes_nothing:
                calls = NoArgumentCalls(*facts)
        function = SqlFunction(
            self.title,
            calls,
            Types.LIST(self.kind) if rows else self.kind,
            by_group=by_group and name is not None,
            series=self.series and not (by_group and name is None),
            deterministic=self.deterministic,
        )
        register(spark, name or self.name, function)


def called(function: UserDefinedFunction, args: Sequence[Any]) -> Expression[Any]:
    """The expression of a function with arguments."""
    if not function.form.endswith("AGGREGATE"):
        # A dummy column tells a function without arguments how many values to return.
        made = composed(f"{function.name}({{*}})", "", *(args or (True,)))
    else:
        made = composed(f"{function.name}(array_agg(struct({{*}})))", "", *args)
    if function.form != "AGGREGATE":
        return made
    argument = ", ".join(one.sql if isinstance(one, Expression) else str(one) for one in args)
    return Expression(made.sql, aggregates=(Aggregate(function.name, argument, made.sql),))


def columns_of_value(call: Expression[Any], value: str) -> str:
    """The columns that a call's value becomes, once it is a column called ``value``.

    Those are the fields of a row that a function returns, under their names or those of alias; any
    other value is one column, f0 without an alias.  IllegalArgumentError for an alias with more or
    fewer names than there are columns.
    """
    known = functions_in(call.sql)
    fields = known[0].row_names if known and call.sql.startswith(known[0].name) else None
    if fields is None:
        name = call.name or "f0"
        return Expression(value, name, extra_names=call.extra_names).selected
    names = fields if call.name is None else [call.name, *call.extra_names]
    if len(names) != len(fields):
        raise IllegalArgumentError(
            f"{known[0].title} returns rows of {len(fields)} fields, {', '.join(fields)}, and "
            f"alias has {len(names)} names: {', '.join(names)}"
        )
    pairs = zip(fields, names, strict=True)
    return ", ".join(f"{value}.{in_backticks(old)} AS {in_backticks(new)}" for old, new in pairs)


def table_call(given: Any, columns: RowTypeInfo) -> tuple[Expression[Any], list[str]]:
    """The call of a table function, and the names of its columns: from alias, else its own.

    ArgumentTypeError if it is not a table function.
    """
    call = call_of(given, columns)
    known = functions_in(call.sql)
    if not known or known[0].form != "TABLE":
        raise ArgumentTypeError(
            f"a call of a function made with udtf(...) is needed, not {call.sql}"
        )
    if call.name is not None:
        return call, [call.name, *call.extra_names]
    return call, known[0].row_names or ["f0"]


def call_of(given: Any, columns: RowTypeInfo) -> Expression[Any]:
    """An expression as it is; a function without arguments is called with the whole row."""
    if isinstance(given, UserDefinedFunction):
        pairs = ", ".join(f"'{name}', {in_backticks(name)}" for name in columns.get_field_names())
        return given(Expression(f"named_struct({pairs})"))
    if not isinstance(given, Expression):
        raise ArgumentTypeError(
            f"a function with arguments is needed, as in function(col('a')), not {given!r}"
        )
    return given


def functions_in(text: str) -> list[UserDefinedFunction]:
    """The functions of programs that a text of SQL names."""
    return [_KNOWN[name] for name in dict.fromkeys(_NAME.findall(text)) if name in _KNOWN]


def _takes_nothing(function: Any) -> bool:
    try:
        return not signature(getattr(function, "eval", function)).parameters
    except (TypeError, ValueError):  # a function of C
        return False


# --- makers, which are decorators as well


def udf(
    f: Any = None,
    input_types: Any = None,
    result_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """A function that returns a value for each row: a Python function, or a ScalarFunction.

    Args:
        f: the function, a ScalarFunction or its class; without it this is a decorator.
        input_types: kept for PyFlink's sake; the columns say the types.
        result_type: the type of the values.
        deterministic: False if equal arguments may give different results; Spark then calls it for
        each row.
        name: a name for messages.
        func_type: ``general``, or ``pandas`` for a function that takes and returns Series.

    Raises:
        IllegalArgumentError: no ``result_type``, or another ``func_type``.
        ArgumentTypeError: ``f`` is not a function.
    """

    def make(function: Any) -> UserDefinedFunction:
        return _made(function, "SCALAR", result_type, deterministic, name, func_type)

    return make if f is None else make(f)


def udtf(
    f: Any = None,
    input_types: Any = None,
    result_types: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """A function that returns rows for each row: a Python function, or a TableFunction.

    ``result_types`` are the types of the columns, called f0, f1 and so on, or a ROW with names;
    the other parameters and errors are those of `udf`.
    """

    def make(function: Any) -> UserDefinedFunction:
        return _made(function, "TABLE", _rows(result_types), deterministic, name, "general")

    return make if f is None else make(f)


def udaf(
    f: Any = None,
    input_types: Any = None,
    result_type: DataType | str | None = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """An aggregate: an AggregateFunction, or with ``func_type='pandas'`` a function of Series.

    The parameters and errors are those of `udf`; accumulators may be any objects.
    """

    def make(function: Any) -> UserDefinedFunction:
        return _made(function, "AGGREGATE", result_type, deterministic, name, func_type)

    return make if f is None else make(f)


def udtaf(
    f: Any = None,
    input_types: Any = None,
    result_type: DataType | str | None = None,
    accumulator_type: Any = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """A function that returns rows for each group: a TableAggregateFunction.

    The parameters and errors are those of `udf`; ``result_type`` is a ROW, or one column's type.
    """

    def make(function: Any) -> UserDefinedFunction:
        return _made(function, "TABLE_AGGREGATE", result_type, deterministic, name, func_type)

    return make if f is None else make(f)


_BASES = {
    "SCALAR": (ScalarFunction, AsyncScalarFunction),
    "TABLE": (TableFunction,),
    "AGGREGATE": (AggregateFunction,),
    "TABLE_AGGREGATE": (TableAggregateFunction,),
}


def _made(
    function: Any,
    form: str,
    result_type: Any,
    deterministic: bool | None,
    name: str | None,
    func_type: str,
) -> UserDefinedFunction:
    if func_type not in ("general", "pandas"):
        raise IllegalArgumentError(f"func_type is 'general' or 'pandas', not {func_type!r}")
    if isinstance(function, type) and issubclass(function, UserDefinedFunctionClass):
        function = function()
    known = isinstance(function, _BASES[form])
    needs_class = form in ("AGGREGATE", "TABLE_AGGREGATE") and func_type == "general"
    if not known and (
        needs_class or isinstance(function, UserDefinedFunctionClass) or not callable(function)
    ):
        wanted = " or ".join(base.__name__ for base in _BASES[form])
        raise ArgumentTypeError(
            f"{'a' if needs_class else 'a function or a'} {wanted} is needed, not {function!r}"
        )
    title = str(name or getattr(function, "__name__", type(function).__name__))
    if result_type is None and isinstance(function, ImperativeAggregateFunction):
        result_type = function.get_result_type()
    if result_type is None:
        raise IllegalArgumentError(
            f"{title} needs the type of its results, as in result_type=DataTypes.BIGINT()"
        )
    kind = type_of(result_type).kind
    if form in ("TABLE", "TABLE_AGGREGATE") and not isinstance(kind, RowTypeInfo):
        kind = RowTypeInfo([kind], ["f0"])
    if deterministic is None:
        deterministic = (
            function.is_deterministic() if isinstance(function, UserDefinedFunctionClass) else True
        )
    return UserDefinedFunction(function, form, kind, func_type == "pandas", deterministic, title)


def _rows(result_types: Any) -> Any:
    """The row type of these columns; a single type stays as it is."""
    if not isinstance(result_types, (list, tuple)):
        return result_types
    kinds = [type_of(one).kind for one in result_types]
    return DataType("ROW", RowTypeInfo(kinds, [f"f{place}" for place in range(len(kinds))]))
