"""Importing any room but `spark` starts no thread and loads neither Spark nor pandas."""

import importlib
import pkgutil
import sys
import threading
from collections.abc import Iterable, Iterator

import flinkish

HEAVY = ("pyspark", "py4j", "pandas", "google.protobuf", "grpc")


def modules(path: Iterable[str], prefix: str) -> Iterator[str]:
    """Names of all modules below; unlike pkgutil's own walk it looks into no room it leaves out."""
    for module in pkgutil.iter_modules(path, prefix):
        if module.name == "flinkish.spark":
            continue
        yield module.name
        if module.ispkg:
            yield from modules(sys.modules[module.name].__path__, f"{module.name}.")


for name in modules(flinkish.__path__, "flinkish."):
    importlib.import_module(name)
    loaded = [heavy for heavy in HEAVY if heavy in sys.modules]
    assert not loaded, f"importing {name} also loads {', '.join(loaded)}"

assert threading.active_count() == 1, f"an import started {threading.enumerate()}"
