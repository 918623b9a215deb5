"""The functions of a program by name, and the parts of Flink's catalogs that Spark lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flinkish.common.errors import ArgumentTypeError, IllegalArgumentError
from flinkish.common.refusals import refuses
from flinkish.table.planner import Planner
from flinkish.table.statements import name_of
from flinkish.table.udf import UserDefinedFunction

__all__ = ["Registered"]

_CATALOGS = "a program has one catalog; tables of others are in Spark's: spark.sql('USE ...')"
_MODELS = "Spark's SQL has no models: call yours in a function, udf(...) or fs.async_map"
_PLANS = "Spark plans a query when its job runs: keep the statement, and run it again"
_MODULES = "the functions of SQL are Spark's; add yours with create_temporary_function"
_JAVA = "functions in Java are registered with Spark: spark.udf.registerJavaFunction(...)"


@refuses(
    {
        "create_catalog register_catalog get_catalog use_catalog use_database": _CATALOGS,
        "load_module unload_module use_modules list_modules list_full_modules": _MODULES,
        "create_model create_temporary_model drop_model drop_temporary_model": _MODELS,
        "load_plan compile_plan_sql execute_plan": _PLANS,
        "create_java_function create_java_temporary_function "
        "create_java_temporary_system_function": _JAVA,
        "explain_sql": "a query is planned when its job runs, and Spark's page of the job shows it",
    }
)
class Registered:
    """The functions of a program, which SQL finds by name."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the methods that are refused

    _planner: Planner

    def create_temporary_function(self, path: str, function: UserDefinedFunction) -> None:
        """Register a function under a name in SQL.

        Raises:
            ArgumentTypeError: the function was not made by udf, udtf or udaf.
            IllegalArgumentError: another function has this name.
        """
        if not isinstance(function, UserDefinedFunction):
            raise ArgumentTypeError(
                f"{path!r} is to be a function made by udf, udtf or udaf, not {function!r}"
            )
        name = name_of(path)
        if name.lower() in self._planner.functions:
            raise IllegalArgumentError(
                f"there is a function {name!r} already: drop_temporary_function({name!r})"
            )
        self._planner.functions[name.lower()] = function

    def create_temporary_system_function(self, name: str, function: UserDefinedFunction) -> None:
        """The same as `create_temporary_function`: a program has one set of functions."""
        self.create_temporary_function(name, function)

    def drop_temporary_function(self, path: str) -> bool:
        """Forget a function; gives whether there was one."""
        return self._planner.functions.pop(name_of(path).lower(), None) is not None

    def drop_temporary_system_function(self, name: str) -> bool:
        """Forget a function; gives whether there was one."""
        return self.drop_temporary_function(name)

    def drop_function(self, path: str) -> bool:
        """Forget a function; gives whether there was one."""
        return self.drop_temporary_function(path)

    def list_user_defined_functions(self) -> list[str]:
        """The names of the program's functions."""
        return sorted(self._planner.functions)

    def list_functions(self) -> list[str]:
        """The names of the program's functions, and of Spark's."""
        spark = self._planner.environment._session()
        known = {row[0] for row in spark.sql("SHOW FUNCTIONS").collect()}
        own = {name for name in known if name.startswith("flinkish_function_")}
        return sorted((known - own) | set(self._planner.functions))

    # --- catalogs

    def get_current_catalog(self) -> str:
        """The name of the program's catalog."""
        return "default_catalog"

    def get_current_database(self) -> str:
        """The name of the program's database."""
        return "default_database"

    def list_catalogs(self) -> list[str]:
        """The name of the program's catalog."""
        return [self.get_current_catalog()]

    def list_databases(self) -> list[str]:
        """The name of the program's database."""
        return [self.get_current_database()]

    def list_materialized_tables(self) -> list[str]:
        """The names of materialized tables, of which there are none."""
        return []

    def list_models(self) -> list[str]:
        """The names of models, of which there are none."""
        return []

    def list_temporary_models(self) -> list[str]:
        """The names of models, of which there are none."""
        return []

    # --- needs of workers

    def add_python_file(self, file_path: str) -> None:
        """Send a Python file, a zip or an egg to the workers, where it can be imported."""
        self._planner.environment.add_python_file(file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Send an archive to the workers, which unpack it as ``target_dir``."""
        self._planner.environment.add_python_archive(archive_path, target_dir)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Refused: workers have the packages of their own Python."""
        self._planner.environment.set_python_requirements(
            requirements_file_path, requirements_cache_dir
        )
