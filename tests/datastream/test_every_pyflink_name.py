"""Every public name of PyFlink 2.3 is here and has PyFlink's parameters, or says what to take.

`pyflink_2_3.json` has PyFlink's modules, names, and methods of classes with their parameters (None
for what is no method), without what belongs to its Java objects.
"""

import inspect
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

PYFLINK: dict[str, dict[str, dict[str, str | None]]] = json.loads(
    Path(__file__).with_name("pyflink_2_3.json").read_text()
)
MODULES = list(PYFLINK)


def taken(module: str, name: str) -> Any:
    """The object of a name; None if an ImportError refuses it and says what to do."""
    found = import_module(f"flinkish.{module}")
    try:
        return getattr(found, name)
    except ImportError as error:
        refusal = str(error)
    assert refusal.startswith(f"{name} is not in flinkish: ")
    return None


@pytest.mark.parametrize("module", MODULES)
def test_each_name_is_here_or_says_why_not(module: str) -> None:
    for name in PYFLINK[module]:
        taken(module, name)


@pytest.mark.parametrize("module", MODULES)
def test_each_method_has_the_parameters_of_pyflink(module: str) -> None:
    wrong = []
    for name, methods in PYFLINK[module].items():
        cls = taken(module, name) if methods else None
        if cls is None:
            continue
        for method, parameters in methods.items():
            there = inspect.getattr_static(cls, method, None)
            if there is None:
                wrong.append(f"{name}.{method} is missing")
                continue
            wanted = (parameters or "").split()
            names = parameters_of(getattr(cls, method))
            known = names is not None and "args" not in wanted
            if known and names[: len(wanted)] != wanted:
                wrong.append(f"{name}.{method}({', '.join(names)}): PyFlink has {wanted}")
    assert not wrong


def parameters_of(method: Any) -> list[str] | None:
    """The parameters besides self; None for compiled methods and those that take any."""
    try:
        found = list(inspect.signature(method).parameters.values())
    except (TypeError, ValueError):
        return None
    if any(one.name == "args" for one in found):
        return None
    return [one.name for one in found if one.name not in ("self", "cls")]


def test_a_name_that_pyflink_does_not_have_is_no_name_here() -> None:
    module = import_module("flinkish.common.job_client")
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = module.Nothing
