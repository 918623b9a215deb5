"""Importing any room but `spark` starts no thread and loads neither Spark nor pandas."""

import importlib
import pkgutil
import sys
import threading

import flinkish

HEAVY = ("pyspark", "py4j", "pandas", "google.protobuf", "grpc")

for module in pkgutil.walk_packages(flinkish.__path__, "flinkish."):
    if module.name.startswith(("flinkish.spark", "flinkish.cli")):
        continue
    importlib.import_module(module.name)
    loaded = [name for name in HEAVY if name in sys.modules]
    assert not loaded, f"importing {module.name} also loads {', '.join(loaded)}"

assert threading.active_count() == 1, f"an import started {threading.enumerate()}"
