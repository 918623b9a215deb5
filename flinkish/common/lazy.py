"""Names of a package whose modules load when a name is first asked for (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from flinkish.common.pyflink_names import has_pyflink_name, pyflink_name

__all__ = ["lazy_names", "refused_names"]

_EXTRAS = {"pyarrow": "arrow", "pyspark": "spark", "py4j": "spark", "pandas": "spark"}


def lazy_names(
    package: str,
    modules: Mapping[str, Iterable[str]],
    refused: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package that has these names from these modules.

    The package imports the same names under ``TYPE_CHECKING``, since type checkers and editors
    read source text alone, and calls this in the ``else``, since they would take a
    ``__getattr__`` to have any name at all.

    Any number of threads may ask for a name first.  The lock of a module's import lets one of
    them run the module; the others wait and store the same object under the same name once more.

    If a module needs a package that is not installed, access to a name of that module raises a
    MissingDependencyError, which says which extra of flinkish installs the package.

    ``refused`` are modules that refuse names of the package, too, with those names in one text.

    No name may be that of a submodule: the import of a submodule binds its name in the package,
    after which nothing asks here.
    """
    homes = {name: module for module, names in modules.items() for name in names}
    refusing = {name: module for module, names in (refused or {}).items() for name in names.split()}
    bound = vars(sys.modules[package])

    def __getattr__(name: str) -> Any:
        if name in refusing:
            return getattr(import_module(refusing[name]), name)
        if name not in homes and has_pyflink_name(package, name):
            return pyflink_name(package, name)
        if name not in homes:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}",
                name=name,
                obj=sys.modules[package],
            )
        try:
            value = bound[name] = getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in _EXTRAS:
                raise
            # Not at the top: the package of the errors uses this module itself.
            from flinkish.common.errors import MissingDependencyError

            raise MissingDependencyError.of(
                missing, feature=f"{package}.{name}", extra=_EXTRAS[missing]
            ) from error
        return value

    def __dir__() -> list[str]:
        return sorted({*bound, *homes})

    return __getattr__, __dir__


def refused_names(module: str, names: str, why: str) -> Callable[[str], Any]:
    """``__getattr__`` of a module in whose place PyFlink has these names, which are not here.

    An import of one fails with an ImportError that says why, and what to take.
    """
    refused = frozenset(names.split())

    def __getattr__(name: str) -> Any:
        if name in refused:
            raise ImportError(f"{name} is not in flinkish: {why}", name=module)
        return pyflink_name(module, name)

    return __getattr__
