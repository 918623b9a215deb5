"""PyFlink's tables are here, under its module names and with its parameters."""

import inspect
import re

import pytest

import flinkish.table
from flinkish.table import expressions
from tests.datastream.test_pyflink_names import found, parameters_of
from tests.table.pyflink_tables import TABLES

METHODS = [
    (module, cls, method)
    for module, classes in TABLES.items()
    for cls, methods in classes.items()
    for method in methods.split("; ")
]


@pytest.mark.parametrize(("module", "cls", "method"), METHODS)
def test_a_method_is_as_in_pyflink(module: str, cls: str, method: str) -> None:
    taken = re.fullmatch(r"([\w.]+)(?:\((.*)\))?", method)
    assert taken is not None
    name, listed = taken.groups()
    owner, _, last = f"{cls}.{name}".rpartition(".")
    assert found(module, f"{cls}.{name}") is not None
    if listed:
        assert parameters_of(found(module, owner), last) == listed.split(", ")


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (expressions.col, ["name"]),
        (expressions.lit, ["v", "data_type"]),
        (expressions.call_sql, ["sql_expression"]),
    ],
)
def test_a_function_is_as_in_pyflink(function: object, parameters: list[str]) -> None:
    assert list(inspect.signature(function).parameters) == parameters  # type: ignore[arg-type]


def test_the_package_has_the_names_that_programs_import() -> None:
    for name in flinkish.table.__all__:
        assert getattr(flinkish.table, name).__name__ in (name, "Row", "RowKind")
