"""The order of the rooms and the rules of the floor, read off the source text.

A room imports and cimports only from rooms above it in ``ROOMS``; the package's own
``__init__`` may take from all of them.
"""

import ast
import graphlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.checkout import ROOT, of_each

PACKAGE = ROOT / "flinkish"
ROOMS = [
    *("_core", "common", "metrics", "mailbox", "time", "state", "purgatory", "rpc"),
    *(
        "functions",
        "windowing",
        "operators",
        "task",
        "spark",
        "environment",
        "table",
        "datastream",
        "table",
        "testing",
        "cli",
    ),
]
FLOOR = [
    *("memory", "values", "columns", "keys", "timers", "wheel", "state", "operators", "windows"),
    *("windows/panes", "windows/elements", "mailbox", "rpc", "purgatory", "testing"),
]
SPARK = [  # the rooms of `spark`; what lies beside them comes first
    *("", "control_plane", "limits", "results", "tables", "versions", "keyed", "real_time"),
    *("tasks", "calls"),
    "chains",
    "sources",
    "streams",
    "moves",
    "jobs",
]
STRANGERS = [("rpc", "purgatory"), ("rpc", "operators"), ("purgatory", "operators")]
LONGEST = 420  # lines: "about 400"
OWN = ("flinkish", "tests", "asv_bench/benchmarks", "ci", "examples")

PYTHON = sorted(PACKAGE.rglob("*.py")) + sorted(PACKAGE.rglob("*.pyi"))
CYTHON = sorted(PACKAGE.rglob("*.pyx")) + sorted(PACKAGE.rglob("*.pxd"))
COMPILED = sorted(PACKAGE.rglob("*.pyx"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def python_imports(path: Path) -> Iterator[str]:
    """Absolute names of the modules that a Python file imports, wherever in the file."""
    package = [*path.relative_to(ROOT).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def cython_imports(path: Path) -> Iterator[str]:
    """The same for a Cython file, whose grammar ``ast`` does not know."""
    package = [*path.relative_to(ROOT).parent.parts]
    text = re.sub(r"\(([^()]*)\)", lambda found: found[1].replace("\n", " "), path.read_text())
    for found in re.finditer(r"^\s*from\s+(\.*)([\w.]*)\s+c?import\s+(.+)$", text, re.M):
        above = package[: len(package) + 1 - len(found[1])] if found[1] else []
        module = ".".join([*above, *filter(None, [found[2]])])
        for name in found[3].split("#")[0].split(","):
            yield f"{module}.{name.split()[0]}" if name.strip() else module
    for found in re.finditer(r"^\s*c?import\s+(.+)$", text, re.M):
        yield from (name.split()[0] for name in found[1].split("#")[0].split(","))


def imports(path: Path) -> list[str]:
    return list((cython_imports if path in CYTHON else python_imports)(path))


def room_of(path: Path) -> str | None:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else None


def test_every_package_is_a_known_room() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms <= set(ROOMS)
    assert {room_of(path) for path in COMPILED} == {"_core"}


@of_each(PYTHON + CYTHON)
def test_imports_come_from_above(path: Path) -> None:
    room = room_of(path)
    wrong = []
    for imported in imports(path):
        top, *rest = imported.split(".")
        if top in ("pyspark", "py4j") and room != "spark":
            wrong.append(f"{imported}: only the room `spark` knows Spark")
        if top != "flinkish" or room is None:
            continue
        other = rest[0] if rest else ""
        if other == "__version__":
            continue
        if other not in ROOMS:
            wrong.append(f"{imported}: import the room, not the package")
        elif ROOMS.index(other) > ROOMS.index(room):
            wrong.append(f"{imported}: `{other}` stands below `{room}`")
        elif (room, other) in STRANGERS or (other, room) in STRANGERS:
            wrong.append(f"{imported}: `{room}` and `{other}` do not know each other")
    assert not wrong, "\n".join(wrong)


@of_each([path for path in CYTHON if room_of(path) == "_core"])
def test_the_floor_knows_no_world(path: Path) -> None:
    """No thread, socket, clock or log: time is an argument."""
    world = {"threading", "socket", "time", "logging", "asyncio", "subprocess", "multiprocessing"}
    found = sorted(world & {name.split(".")[0] for name in imports(path)})
    found += sorted(name for name in imports(path) if name.startswith(("libc.time", "posix.time")))
    assert not found, f"{name_of(path)} imports {', '.join(found)}"


@of_each(CYTHON)
def test_imports_of_the_floor_come_from_above(path: Path) -> None:
    here = path.parent.relative_to(PACKAGE / "_core").as_posix()
    homes = {name.replace("/", "."): name for name in FLOOR}
    wrong = []
    for imported in imports(path):
        if imported.startswith("flinkish._core."):
            parts = imported.split(".")[2:]
            room = homes.get(".".join(parts[:2])) or homes[parts[0]]
            if FLOOR.index(room) > FLOOR.index(here):
                wrong.append(f"{imported}: `{room}` stands below `{here}`")
    assert not wrong, "\n".join(wrong)


@of_each(sorted((PACKAGE / "spark").rglob("*.py")))
def test_imports_of_the_spark_room_come_from_above(path: Path) -> None:
    """But those of type checkers, and those that a function makes when it runs."""
    if path == PACKAGE / "spark" / "__init__.py":
        return

    def room(parts: Sequence[str]) -> str:
        return parts[0] if parts and parts[0] in SPARK else ""

    here = room(path.parent.relative_to(PACKAGE / "spark").parts)
    wrong = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flinkish.spark."):
            there = room((node.module or "").split(".")[2:])
            if SPARK.index(there) > SPARK.index(here):
                wrong.append(f"{node.module}: `{there}` stands below `{here}`")
    assert not wrong, "\n".join(wrong)


# The classes of one API: a stream has keys, a keyed one has windows, whose results are a stream.
# Two of them are in parts.
STREAMS = {
    f"flinkish.spark.streams.{name}"
    for name in (
        *("broadcast", "connected", "data_stream", "windowed"),
        *("element_wise", "keyed_functions"),
    )
}
# The same in programs; there streams know their environment, which makes the first of them.
PROGRAMS = {
    f"flinkish.environment.{name}"
    for name in ("connected", "environment", "keyed", "streams", "windowed")
}
# The same of tables: a table knows the planner that makes tables of it.
TABLES = {
    f"flinkish.table.{name}" for name in ("planner", "program_tables", "statement_set", "table")
}


def test_modules_import_one_another_in_no_circle() -> None:
    """Not by imports for type checkers either, nor by those that a function makes when it runs."""
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py"
    }

    def node(name: str) -> str:
        if name in PROGRAMS:
            return "programs"
        if name in TABLES:
            return "tables"
        return "streams" if name in STREAMS else name

    graph = graphlib.TopologicalSorter[str]()
    for name, path in names.items():
        for imported in python_imports(path):
            for module in (imported, imported.rpartition(".")[0]):
                if module in names and node(module) != node(name):
                    graph.add(node(name), node(module))
    graph.prepare()


def test_the_rooms_of_the_floor_are_known() -> None:
    core = PACKAGE / "_core"
    folders = {path.parent.relative_to(core).as_posix() for path in CYTHON}
    assert folders == set(FLOOR)
    assert {path.parent for path in core.rglob("__init__.py")} == {core, *(core / f for f in FLOOR)}


CAPTIONED = sorted({*PACKAGE.glob("*/__init__.py"), *(PACKAGE / "_core").rglob("__init__.py")})


@of_each(CAPTIONED)
def test_a_room_opens_with_its_caption(path: Path) -> None:
    caption = ast.get_docstring(ast.parse(path.read_text())) or ""
    missing = [part for part in ("Owns:", "Uses:", "Must not:") if part not in caption]
    assert not missing, f"the docstring of {name_of(path)} lacks {', '.join(missing)}"


INCLUDE = re.compile(r'^include "(\w+)\.(pyx|pxd)"', re.M)
HOSTS = {
    host.parent / f"{part}.{kind}": host
    for host in CYTHON
    for part, kind in INCLUDE.findall(host.read_text())
}


@of_each(COMPILED)
def test_a_compiled_module_has_header_and_stub(path: Path) -> None:
    """A part is described in the stub of the module that includes it.

    A module of C functions alone has nothing for a stub to describe.
    """
    header, stub = path.with_suffix(".pxd"), HOSTS.get(path, path).with_suffix(".pyi")
    assert header.exists(), f"{name_of(path)} has no .pxd"
    assert header.read_text().startswith("#"), f"{name_of(header)} opens without an explanation"
    visible = re.findall(r"^(?:cdef class|class|def|cpdef [\w ]+?) (\w+)", path.read_text(), re.M)
    assert stub.exists() or not visible, f"{name_of(path)} has no .pyi for {', '.join(visible)}"


def test_parts_of_a_module_are_imported_from_it() -> None:
    """A module and its parts are compiled as one, so no part can be found under its own name."""
    headers = {HOSTS[part].with_suffix(".pxd") for part in HOSTS if part.suffix == ".pyx"}
    missing = [name_of(part) for part in HOSTS if part.with_suffix(".pxd") not in HOSTS]
    assert not missing, f"their headers are included nowhere: {', '.join(missing)}"
    for part in HOSTS:
        assert part.suffix == ".pxd" or HOSTS[part.with_suffix(".pxd")] in headers, name_of(part)
    parts = {".".join(part.relative_to(ROOT).with_suffix("").parts) for part in HOSTS}
    wrong = {
        f"{name_of(path)} imports {imported}"
        for path in PYTHON + CYTHON
        for imported in imports(path)
        for part in parts
        if imported == part or imported.startswith(f"{part}.")
    }
    assert not wrong, "\n".join(sorted(wrong))


SIGNATURE = re.compile(
    r"^[ ]*cp?def[ ]+(?:inline[ ]+)?(?P<type>[\w ]+?[ ]*\**)[ ]*\b(?P<name>\w+)"
    r"\((?P<arguments>[^()]*(?:\([^()]*\)[^()]*)*)\)(?P<tail>[^:\n]*)(?::|$)",
    re.M,
)
NUMERIC = re.compile(
    r"^(void|bint|char|short|int|long|float|double|size_t|Py_ssize_t|Py_hash_t|u?int\d+_t"
    r"|unsigned.*|signed.*|const .*|.*\*)$"
)


@of_each(CYTHON)
def test_c_functions_state_their_exceptions(path: Path) -> None:
    silent = [
        found["name"]
        for found in SIGNATURE.finditer(path.read_text())
        if NUMERIC.match(found["type"].strip()) and "except" not in found["tail"]
    ]
    assert not silent, f"say `noexcept` or `except …` on {', '.join(silent)}"


def test_no_file_is_too_long() -> None:
    kinds = {".py", ".pyx", ".pxd", ".pyi", ".sh"}
    files = [path for room in OWN for path in (ROOT / room).rglob("*") if path.suffix in kinds]
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in files}
    long = {name: length for name, length in lengths.items() if length > LONGEST}
    assert not long, f"longer than {LONGEST} lines, so split: {long}"
    assert len((ROOT / "setup.py").read_text().splitlines()) <= 80


EXPORTED = {"pyspark", "pyspark.errors"} | {
    f"pyspark.sql{part}" for part in ("", ".functions", ".types", ".streaming", ".datasource")
}
HIDDEN = re.compile(r"_sc|_jdf|_jvm|_jsc|_jsparkSession|_jconf|_jsdf|_jq|_jc|pythonExec|_session")


def test_what_spark_does_not_promise_is_used_in_one_file() -> None:
    """There each use says on which releases it was run."""
    found = []
    for path in (PACKAGE / "spark").rglob("*.py"):
        if path.name == "internals.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pyspark"):
                names = {alias.name for alias in node.names}
                if node.module not in EXPORTED or "cloudpickle" in names:
                    found.append(f"{name_of(path)}:{node.lineno} imports from {node.module}")
            elif isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
                found += [
                    f"{name_of(path)}:{node.lineno} imports {name}"
                    for name in names
                    if name.split(".")[0] in ("pyspark", "py4j") and name not in EXPORTED
                ]
            attribute = node.attr if isinstance(node, ast.Attribute) else None
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                attribute = node.value  # of getattr
            if attribute is not None and HIDDEN.fullmatch(attribute):
                found.append(f"{name_of(path)}:{node.lineno} names {attribute}")
    assert not found, "belongs into flinkish/spark/internals.py:\n" + "\n".join(found)
