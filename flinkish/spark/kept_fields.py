"""Fields of functions that outlive a task: the next micro-batch goes on with changed fields.

In Flink a function object lives as long as its subtask.  In a program over unbounded sources each
micro-batch unpickles and opens functions anew.  When a task ends, it sends the fields that changed
since `open` to the driver, and the next micro-batch's task with that number begins with them.

Only a task that succeeds sends fields, each attempt begins with those before the micro-batch, and a
job that fails or is started again begins with fresh objects, as in Flink.  Fields that ``close``
uses are not kept.  Objects of installed packages, such as clients and models, are not sent: `open`
makes them again.
"""

from __future__ import annotations

import io
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import PurePath
from types import FunctionType
from typing import Any, TypeAlias

from pyspark import AccumulatorParam, SparkContext
from pyspark.sql import functions as F

from flinkish.common.row import Row
from flinkish.operators.function_fields import closing_names, fields_of, is_plain, users_own
from flinkish.spark.internals import Pickler
from flinkish.spark.mapped_frame import Batches, MappedFrame

__all__ = ["FieldStore", "KeptFields", "OpenFields", "in_subtasks", "subtask_of_rows"]

# The number of a row's task within its own branch of the plan: Spark numbers the tasks of a union
# consecutively across branches.
SUBTASK = "__flinkish_subtask"

# By operator and subtask: the pickled fields, and the names of those that cannot be pickled.
Given: TypeAlias = dict[tuple[str, int], tuple[bytes, tuple[str, ...]]]

_INSTALLED = {"site-packages", "dist-packages"}
_LOST = (
    "the function of operator {0!r} set its field {1}, which cannot be pickled, so it does not "
    "outlive the micro-batch: make it in open(), or keep its content in plain values"
)


class _LastGiven(AccumulatorParam[Given]):
    """The last fields of each subtask."""

    def zero(self, value: Given) -> Given:
        """No fields."""
        return {}

    def addInPlace(self, value1: Given, value2: Given) -> Given:
        """The union of both; fields of the second replace those of the first."""
        return {**value1, **value2}


class FieldStore:
    """The fields of all operators of a running job, on the driver.

    Threading: one round reads at a time; Spark's accumulator thread adds fields in between.
    """

    def __init__(self, context: SparkContext) -> None:
        self._given = context.accumulator({}, _LastGiven())
        self._said: set[tuple[str, str]] = set()

    def of(self, operator: str) -> KeptFields:
        """The fields of an operator so far; warns once of each that cannot be kept."""
        kept = {}
        for (name, subtask), (data, lost) in self._given.value.items():
            if name == operator:
                kept[subtask] = data
                for field in lost:
                    self._warn(operator, field)
        return KeptFields(operator, kept, self._given.add)

    def _warn(self, operator: str, field: str) -> None:
        if (operator, field) not in self._said:
            self._said.add((operator, field))
            warnings.warn(_LOST.format(operator, field), stacklevel=1)


@dataclass(frozen=True)
class KeptFields:
    """The fields of an operator's functions by subtask, as they are sent to its tasks.

    ``give`` sends a task's fields to the driver when it ends.
    """

    operator: str
    kept: Mapping[int, bytes]
    give: Callable[[Given], None]


class OpenFields:
    """The fields of the functions that a task has opened."""

    def __init__(self, plan: KeptFields, functions: Any, subtask: int) -> None:
        self._plan = plan
        self._subtask = subtask
        self._owners = users_own(functions)
        self._closed = [closing_names(owner) for owner in self._owners]
        self._names: list[set[str]] = [set() for _ in self._owners]
        if data := plan.kept.get(subtask):
            self._restore(data)
        self._before = [dict(self._fields(number)) for number in range(len(self._owners))]
        self._marks = [
            {name: self._mark(value) for name, value in fields.items() if _may_change(value)}
            for fields in self._before
        ]
        self._given: Given = {}

    def _restore(self, data: bytes) -> None:
        for number, (values, gone) in enumerate(_unpacked(data, self._owners)):
            owner = self._owners[number]
            for name, value in values.items():
                _set(owner, name, value)
            for name in gone:
                if name in fields_of(owner):
                    delattr(owner, name)
            self._names[number] |= {*values, *gone}

    def collect(self) -> None:
        """Copy the fields, before `close`."""
        lost: list[str] = []
        changed = False
        for number in range(len(self._owners)):
            for name in self._changes(number, lost):
                self._names[number].add(name)
                changed = True
        if changed or lost:
            parts = []
            for number, names in enumerate(self._names):
                values = {name: one for name, one in self._fields(number) if name in names}
                parts.append((values, names - values.keys()))
            data = _packed(parts, self._owners)
            assert data is not None  # each of them could be pickled before
            self._given = {(self._plan.operator, self._subtask): (data, tuple(lost))}

    def give(self) -> None:
        """Send the fields to the driver; the task has succeeded."""
        if self._given:
            self._plan.give(self._given)

    def _fields(self, number: int) -> Iterator[tuple[str, Any]]:
        closed = self._closed[number]
        for name, value in fields_of(self._owners[number]).items():
            if name not in closed:
                yield name, value

    def _changes(self, number: int, lost: list[str]) -> Iterator[str]:
        """The names whose values have changed; those that cannot be pickled go into ``lost``."""
        before, marks = self._before[number], self._marks[number]
        now = dict(self._fields(number))
        yield from before.keys() - now.keys()
        for name, value in now.items():
            same = name in before and value is before[name]
            if same and not _may_change(value):
                continue
            mark = self._mark(value)
            if same and mark == marks[name]:
                continue
            if mark is not None:
                yield name
            elif not same or marks[name] is not None:
                lost.append(f"{type(self._owners[number]).__name__}.{name}")

    def _mark(self, value: Any) -> bytes | None:
        """A digest of the value's present state; None for a value that cannot be pickled."""
        data = _packed(value, self._owners)
        return None if data is None else blake2b(data, digest_size=16).digest()


def in_subtasks(mapped: MappedFrame, tasks: int | None) -> MappedFrame:
    """The same rows in at most so many tasks, whose numbers `subtask_of_rows` then returns."""
    base = mapped.base if tasks is None else mapped.base.coalesce(tasks)
    function = _noting if mapped.function is None else _after_noting(mapped.function)
    base = base.withColumn(SUBTASK, F.spark_partition_id())
    return replace(mapped, base=base, function=function)


_rows_are_of = 0  # the subtask of this worker's task; a worker runs one task at a time


def subtask_of_rows() -> int:
    """The subtask whose rows this worker has."""
    return _rows_are_of


def _noting(batches: Batches) -> Batches:
    global _rows_are_of
    for batch in batches:
        if batch.num_rows:
            _rows_are_of = batch.column(SUBTASK)[0].as_py()
            yield batch.drop_columns([SUBTASK])


def _after_noting(function: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    def both(batches: Batches) -> Batches:
        return function(_noting(batches))

    both.__name__ = function.__name__  # in Spark's plans
    return both


def _set(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, FunctionType):
        cells = owner.__closure__ or ()
        cells[owner.__code__.co_freevars.index(name)].cell_contents = value
    else:
        object.__setattr__(owner, name, value)


def _may_change(value: Any) -> bool:
    """Whether a value may change inside, and is not remade by `open` for each task."""
    if is_plain(value) or isinstance(value, FunctionType):
        return False
    module = type(value).__module__
    top = module.partition(".")[0]
    if top in ("flinkish", "pyspark"):
        return isinstance(value, Row)
    file = getattr(sys.modules.get(module), "__file__", None)
    return top == "numpy" or file is None or not _INSTALLED.intersection(PurePath(file).parts)


class _Packer(Pickler):  # type: ignore[misc]
    """Pickles fields, with references in place of the functions themselves."""

    def __init__(self, file: io.BytesIO, owners: Sequence[Any]) -> None:
        super().__init__(file)
        self._numbers = {id(owner): number for number, owner in enumerate(owners)}

    def persistent_id(self, value: Any) -> int | None:
        return self._numbers.get(id(value))


class _Unpacker(pickle.Unpickler):
    def __init__(self, data: bytes, owners: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._owners = owners

    def persistent_load(self, number: int) -> Any:
        return self._owners[number]


def _packed(value: Any, owners: Sequence[Any]) -> bytes | None:
    file = io.BytesIO()
    try:
        _Packer(file, owners).dump(value)
    except Exception:  # a user's class may raise anything: the value cannot be pickled
        return None
    return file.getvalue()


def _unpacked(data: bytes, owners: Sequence[Any]) -> list[tuple[dict[str, Any], set[str]]]:
    found: list[tuple[dict[str, Any], set[str]]] = _Unpacker(data, owners).load()
    return found
