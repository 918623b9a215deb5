"""Packages whose modules load on demand say the same to Python, to type checkers and to `*`."""

import ast
import pickle
import sys
import threading
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tests.checkout import ROOT

LAZY = sorted(
    path
    for path in (ROOT / "flinkish").rglob("*.py")
    if "lazy_names(" in path.read_text() and path.name != "lazy.py"
)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def shown(path: Path) -> dict[str, str]:
    """Names to modules as a type checker reads them, under TYPE_CHECKING."""
    checks = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.If)]
    (check,) = (node for node in checks if ast.unparse(node.test) == "TYPE_CHECKING")
    return {
        alias.name: node.module or ""
        for node in check.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def given(path: Path) -> dict[str, str]:
    """Names to modules as `lazy_names` is told."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    (call,) = (node for node in calls if ast.unparse(node.func) == "lazy_names")
    modules: dict[str, tuple[str, ...]] = ast.literal_eval(call.args[1])
    return {name: module for module, names in modules.items() for name in names}


def test_there_are_some() -> None:
    assert len(LAZY) > 15


@pytest.mark.parametrize("path", LAZY, ids=module_of)
def test_type_checkers_and_python_see_the_same(path: Path) -> None:
    assert shown(path) == given(path)
    submodules = {file.stem for file in path.parent.glob("*.py")}
    submodules |= {file.parent.name for file in path.parent.glob("*/__init__.py")}
    if path.name == "__init__.py":
        assert not submodules & set(given(path)), "a submodule would take the place of the name"


@pytest.mark.parametrize("path", LAZY, ids=module_of)
def test_every_name_is_that_of_its_module(path: Path) -> None:
    package = import_module(module_of(path))
    names = given(path)
    for name, home in names.items():
        value = getattr(package, name)
        assert value is getattr(import_module(home), name)
        assert vars(package)[name] is value, "the next access asks nobody"
        if isinstance(value, type):
            assert pickle.loads(pickle.dumps(value)) is value
    assert set(package.__all__) <= set(names)
    assert set(names) <= set(dir(package))
    starred: dict[str, object] = {}
    exec(f"from {package.__name__} import *", starred)
    assert set(package.__all__) <= set(starred)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package with a lazy name `Thing`, whose module counts how often it runs."""
    folder = tmp_path / "lazily"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from flinkish.common.lazy import lazy_names\n"
        "runs = []\n"
        "__getattr__, __dir__ = lazy_names(__name__, {'lazily.things': ('Thing', 'Missing')})\n"
    )
    (folder / "things.py").write_text(
        "import time\n"
        "import lazily\n"
        "lazily.runs.append(1)\n"
        "time.sleep(0.1)  # others find the module half made\n"
        "class Thing: pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("lazily", "lazily.things"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return import_module("lazily")


def test_threads_that_ask_first_at_once_get_one_object(made: ModuleType) -> None:
    threads = 8
    together = threading.Barrier(threads)
    found: list[object] = []

    def ask() -> None:
        together.wait()
        found.append(made.Thing)

    asking = [threading.Thread(target=ask) for _ in range(threads)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert len(found) == threads
    assert len(set(map(id, found))) == 1
    assert made.runs == [1]


def test_names_that_are_not_there(made: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'lazily' has no attribute 'Thin'") as missing:
        made.Thin  # noqa: B018
    assert (missing.value.name, missing.value.obj) == ("Thin", made)
    with pytest.raises(ImportError, match="cannot import name 'Thin' from 'lazily'"):
        exec("from lazily import Thin")
    assert made.runs == [], "nothing was loaded to find that out"
    with pytest.raises(AttributeError, match=r"'lazily\.things' has no attribute 'Missing'"):
        made.Missing  # noqa: B018


def test_dir_loads_nothing(made: ModuleType) -> None:
    assert {"Thing", "Missing", "runs"} <= set(dir(made))
    assert made.runs == []


def test_what_is_lazy_is_a_package_or_a_module_of_names() -> None:
    """The names are no globals: what was defined beside them could not use them."""
    for path in LAZY:
        defined = [
            node
            for node in ast.parse(path.read_text()).body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        ]
        assert not defined, f"{module_of(path)} defines {defined[0].name}"
