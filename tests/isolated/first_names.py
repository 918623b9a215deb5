"""Every public name works whichever is asked for first in a process.

This process imports none of flinkish but its root, and forks a child for each name: the child
imports it as a user's module does, alone, as a bare alias, an annotation of a variable and of a
function, evaluated at once and later, and with parameters if it is generic.
"""

import ast
import gc
import os
import sys
import traceback
import typing
from pathlib import Path

import msgspec  # noqa: F401 - what others wrote is imported once, so that children are cheap
import numpy as np  # noqa: F401

import flinkish

try:
    import pandas as pd  # noqa: F401
    import pyarrow.fs  # noqa: F401
    import pyspark.sql.streaming
except ImportError:
    pyspark = None  # type: ignore[assignment]

ROOT = Path(flinkish.__file__).parent
USE = """
from {module} import {name}

Alias = {name}
variable: {name}

def function(argument: {name}) -> {name}: ...
"""
WITH_PARAMETERS = """
Alias = {name}[{parameters}]
variable: {name}[{parameters}]

def function(argument: {name}[{parameters}]) -> {name}[{parameters}]: ...
"""
GATEWAY = """
import concurrent.futures
from flinkish.rpc import RpcGateway

class Gateway(RpcGateway):
    def ask(self) -> {name}[int]: ...

try:
    {name}().result(0)  # it reads a clock and makes an error
except concurrent.futures.TimeoutError:
    pass
"""
LATER = "from __future__ import annotations\n"


def names() -> list[tuple[str, str]]:
    """Modules and their public names, read off the sources."""
    found = []
    for path in sorted(ROOT.rglob("__init__.py")):
        parts = path.parent.relative_to(ROOT).parts
        if any(part.startswith("_") for part in parts) or (parts[:1] == ("spark",) and not pyspark):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                module = ".".join(["flinkish", *parts])
                found += [(module, name) for name in ast.literal_eval(node.value)]
    return found


def use(module: str, name: str) -> None:
    for first_line in ("", LATER):
        space: dict[str, object] = {"__name__": "program"}
        exec(compile(first_line + USE.format(module=module, name=name), "program", "exec"), space)
        parameters = ", ".join(["int"] * parameters_of(space[name]))
        if parameters:
            text = WITH_PARAMETERS.format(name=name, parameters=parameters)
            text += GATEWAY.format(name=name) if name == "RpcFuture" else ""
            exec(compile(first_line + text, "program", "exec"), space)
        if isinstance(space[name], type):
            typing.get_type_hints(space["function"])


def parameters_of(value: object) -> int:
    """How many types a generic class takes; 0 of any other value."""
    if not isinstance(value, type) or issubclass(value, (dict, list, tuple)):
        return 0
    if issubclass(value, typing.Generic):  # type: ignore[arg-type]
        return len(getattr(value, "__parameters__", ()))
    return int(hasattr(value, "__class_getitem__"))


def child(module: str, name: str) -> None:
    try:
        use(module, name)
    except BaseException:
        print(f"from {module} import {name}, first of all:", file=sys.stderr)
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


everything = names()
assert len(everything) > 300, len(everything)
assert not [name for name in sys.modules if name.startswith("flinkish.")]
failed = []
gc.disable()  # children share the memory of this process
gc.freeze()
for module, name in everything:
    pid = os.fork()
    if pid == 0:
        child(module, name)
    if os.waitpid(pid, 0)[1] != 0:
        failed.append(f"{module}.{name}")
assert not failed, failed
