"""The states of one operator: who may use which cells of the table, and under what name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flinkish._core.state import log as state_log
from flinkish._core.state.keyed_state import (
    AggregatingCell,
    ListCell,
    MapCell,
    ReducingCell,
    StateHandle,
    ValueCell,
    sweep,
)
from flinkish._core.state.table import StateTable
from flinkish.common.durations import to_millis
from flinkish.common.errors import CorruptStateError, IllegalArgumentError, StateMigrationError
from flinkish.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    PickledBytesTypeInfo,
    TypeInformation,
)
from flinkish.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)

if TYPE_CHECKING:
    from flinkish.state.ttl import StateTtlConfig

__all__ = ["KeyedStateBackend", "StateDeclaration"]

_CODINGS = {
    BasicType.LONG: "int64",
    BasicType.INT: "int32",
    BasicType.SHORT: "int16",
    BasicType.BYTE: "int8",
    BasicType.DOUBLE: "float64",
    BasicType.FLOAT: "float64",
    BasicType.BOOLEAN: "boolean",
    BasicType.STRING: "string",
}
_KINDS: dict[type[StateDescriptor], str] = {
    ValueStateDescriptor: "value",
    ListStateDescriptor: "list",
    MapStateDescriptor: "map",
    ReducingStateDescriptor: "reducing",
    AggregatingStateDescriptor: "aggregating",
}


@dataclass(frozen=True, slots=True)
class StateDeclaration:
    """A checkpoint's record of a state: enough to refuse another one of its name."""

    name: str
    kind: str
    type: str
    ttl: bool

    @property
    def cells(self) -> int:
        """Cells of the table that it takes: single values with a time to live take two."""
        return 2 if self.ttl and self.kind not in ("list", "map") else 1

    @classmethod
    def of(cls, descriptor: StateDescriptor) -> StateDeclaration:
        """The declaration that a descriptor makes."""
        kind = _KINDS.get(type(descriptor))
        if kind is None:
            raise IllegalArgumentError(
                f"{descriptor!r} is of type {type(descriptor).__name__}; a state is described by "
                + ", ".join(known.__name__ for known in _KINDS)
            )
        ttl = descriptor.ttl_config
        return cls(
            descriptor.get_name(),
            kind,
            str(descriptor.type_info),
            ttl is not None and ttl.is_enabled(),
        )

    def to_dict(self) -> dict[str, Any]:
        """The declaration as plain data."""
        return {"name": self.name, "kind": self.kind, "type": self.type, "ttl": self.ttl}

    def __str__(self) -> str:
        return f"{self.kind} of {self.type}{' with a time to live' if self.ttl else ''}"


class KeyedStateBackend:
    """Names of states to cells of a table, and the table's snapshots.

    Life cycle: states may be asked for at any time; the same name gives the same state.
    """

    def __init__(self, table: StateTable) -> None:
        self.table = table
        self._declared: dict[str, tuple[StateDeclaration, int]] = {}
        self._asked_for: set[str] = set()  # of those, by this program
        self._handles: dict[tuple[str, bool], StateHandle] = {}
        self._kept_until_read: set[str] = set()

    @property
    def declarations(self) -> list[StateDeclaration]:
        """All states known, in the order of their cells."""
        return [declaration for declaration, _ in self._declared.values()]

    def state(self, descriptor: StateDescriptor, *, of_key: bool = False) -> Any:
        """The state that a descriptor describes: of the current row, or of the key of that row.

        The two differ where the current row is a key within a namespace, such as a window.
        StateMigrationError when a state of its name has another kind, type or expiry.
        """
        cell = self.cell_of(descriptor)
        handle = self._handles.get((descriptor.get_name(), of_key))
        if handle is None:
            handle = self._make(descriptor, cell, of_key)
            self._handles[descriptor.get_name(), of_key] = handle
            ttl = descriptor.ttl_config
            if ttl is not None and not ttl.get_cleanup_strategies().is_cleanup_in_background():
                self._kept_until_read.add(descriptor.get_name())
        return handle

    def cell_of(self, descriptor: StateDescriptor) -> int:
        """The first cell of the state that a descriptor describes."""
        cell = self._declare(StateDeclaration.of(descriptor), stored=False)
        self._asked_for.add(descriptor.get_name())
        return cell

    @property
    def asked_for(self) -> list[StateDeclaration]:
        """The states that this program has asked for so far."""
        return [one for one in self.declarations if one.name in self._asked_for]

    def compare(self, declarations: Iterable[StateDeclaration]) -> None:
        """Compare the states asked for so far with a checkpoint's; StateMigrationError.

        Unlike `reconcile` it gives no cells to what the program has not asked for.
        """
        known = {one.name: one for one in self.asked_for}
        for was in declarations:
            now = known.get(was.name, was)
            if now != was:
                raise _changed(was, now, in_checkpoint=True)

    def reconcile(self, declarations: Iterable[StateDeclaration]) -> list[int]:
        """Where the cells of a checkpoint with these declarations are in this table.

        States that this program has not asked for keep their cells, so that nothing is lost.
        """
        cells: list[int] = []
        for declaration in declarations:
            first = self._declare(declaration, stored=True)
            cells.extend(range(first, first + declaration.cells))
        return cells

    def _declare(self, declaration: StateDeclaration, *, stored: bool) -> int:
        """The first cell of a state; ``stored`` if a checkpoint declares it."""
        known = self._declared.get(declaration.name)
        if known is None:
            first = len(self.table.cells)
            for _ in range(declaration.cells):
                self.table.add_cell(declaration)
            self._declared[declaration.name] = (declaration, first)
            return first
        if known[0] != declaration:
            was, now = (declaration, known[0]) if stored else (known[0], declaration)
            raise _changed(was, now, stored or declaration.name not in self._asked_for)
        return known[1]

    def _make(self, descriptor: StateDescriptor, cell: int, of_key: bool) -> StateHandle:
        name = descriptor.get_name()
        settings = {"of_key": of_key, **_expiry(descriptor.ttl_config)}
        if isinstance(descriptor, ListStateDescriptor):
            return ListCell(
                self.table, cell, name, **settings, **_checks(descriptor.elem_type_info)
            )
        if isinstance(descriptor, MapStateDescriptor):
            checks = _checks(descriptor.value_type_info)
            of_keys = {f"key_{one}": by for one, by in _checks(descriptor.key_type_info).items()}
            return MapCell(self.table, cell, name, **settings, **checks, **of_keys)
        # Accumulators may be anything that can be pickled.
        if not isinstance(descriptor, AggregatingStateDescriptor):
            settings |= _checks(descriptor.type_info)
        if isinstance(descriptor, ReducingStateDescriptor):
            reduce = descriptor.get_reduce_function()
            return ReducingCell(
                self.table, cell, name, getattr(reduce, "reduce", reduce), **settings
            )
        if isinstance(descriptor, AggregatingStateDescriptor):
            return AggregatingCell(
                self.table, cell, name, descriptor.get_agg_function(), **settings
            )
        return ValueCell(self.table, cell, name, **settings)

    def snapshot(self) -> dict[int, bytes]:
        """Everything held, by key group that holds anything; ends the interval of changes."""
        state_log.commit(self.table)
        return state_log.dump_all(self.table)

    def restore(
        self, groups: Mapping[int, bytes], declarations: Iterable[StateDeclaration]
    ) -> None:
        """Add what `snapshot` gave; `declarations` are those of the snapshot."""
        cells = self.reconcile(declarations)
        for group, whole in groups.items():
            try:
                state_log.load(self.table, whole, cells, group)
            except state_log.DamagedLog as error:
                raise CorruptStateError(str(error), key_group=group) from error

    def expire(self) -> int:
        """Remove everything that has outlived its time; how many values and entries it was.

        Only of states whose descriptors this program has given, and that do not forbid it
        (`disable_cleanup_in_background`).
        """
        expiries = set()
        for (name, _), handle in self._handles.items():
            declaration, cell = self._declared[name]
            if handle.ttl and name not in self._kept_until_read:
                expiries.add((cell, declaration.kind in ("list", "map"), handle.ttl))
        return sweep(self.table, sorted(expiries)) if expiries else 0

    def number_of_entries(self) -> int:
        """Keys with something in a state, summed over all states."""
        return sum(self.table.number_of_entries(first) for _, first in self._declared.values())


def _checks(type_info: TypeInformation) -> dict[str, Any]:
    """How the compiled floor checks values of a type: itself, or by asking the type."""
    if isinstance(type_info, PickledBytesTypeInfo):
        return {}
    if isinstance(type_info, BasicTypeInfo) and type_info.basic_type in _CODINGS:
        return {"coding": _CODINGS[type_info.basic_type]}
    return {"check": type_info.check}


def _changed(
    was: StateDeclaration, now: StateDeclaration, in_checkpoint: bool
) -> StateMigrationError:
    """The error for a state that is declared in two ways."""
    if in_checkpoint:
        where, remedy = "in the checkpoint", "or start from an empty checkpoint"
    else:
        where, remedy = "earlier in this program", "or declare it once"
    return StateMigrationError(
        f"the state {now.name!r} was declared as {was} {where}, and this program declares it as "
        f"{now}; give the new state another name, {remedy}",
        setting=now.name,
        was=was.to_dict(),
        now=now.to_dict(),
    )


def _expiry(config: StateTtlConfig | None) -> dict[str, Any]:
    if config is None or not config.is_enabled():
        return {}
    return {
        "ttl": to_millis(config.get_ttl()),
        "renew_on_read": config.get_update_type() is config.UpdateType.OnReadAndWrite,
        "show_expired": config.get_state_visibility()
        is config.StateVisibility.ReturnExpiredIfNotCleanedUp,
    }
