"""State of a key group: a log in Spark's state store, a table on the worker's disk.

Spark's state holds, for each key group, a map: a head (which log pieces there are, and the nonce
of the state that they add up to) and the pieces: first the whole state, then what each batch
changed.  They commit with Spark's batch, and only they count.  The table is the same state
laid out for use (see `tables`); when it is not on this disk it is built from the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from pyspark.sql.types import BinaryType, BooleanType, LongType, StructField, StructType

from flinkish._core.state import log as state_log
from flinkish._core.values.codec import CorruptFrame, NewerFrame, seal, seal_parts, unseal
from flinkish.common.durations import to_millis
from flinkish.common.errors import CorruptStateError, IncompatibleStateError
from flinkish.common.formats import newer_format, writer
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.spark.keyed.result_rows import GAUGES, REPORTS
from flinkish.spark.tables import PrivateTable, TableFiles, new_nonce, state_name
from flinkish.state.backend import KeyedStateBackend, StateDeclaration

__all__ = [
    "HEAD",
    "NOTHING_HELD",
    "PIECE_SCHEMA",
    "SEQUENCE_SCHEMA",
    "GroupState",
    "Head",
    "corrupt_state",
    "open_tables",
    "read_head",
    "stored_head",
]

# One map for head and pieces, and schemas that nobody has to parse: each declaration is work for
# Spark in every task.
SEQUENCE_SCHEMA = StructType([StructField("sequence", LongType())])
PIECE_SCHEMA = StructType([StructField("piece", BinaryType()), StructField("more", BooleanType())])

HEAD = (-1,)

KIND_LOG = 1
LOG_FORMAT = 1
KIND_HEAD = 2
HEAD_FORMAT = 2
# Larger frames are cut, so that no single value of Spark's state is too large for its protocol.
PIECE_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Head:
    """The record of a key group; kept as a sealed JSON object of the fields, and the writer.

    Format 1 was a list of the fields in this order, without ``generation``.  ``keys`` and what
    follows say what the state holds; they are not known of a head that an older flinkish wrote.
    """

    nonce: str
    first: int
    next: int
    whole_bytes: int
    change_bytes: int
    timer: int | None
    watermark: int
    states: str
    generation: str = ""
    flinkish: str = ""
    keys: int | None = None
    event_timers: int = 0
    processing_timers: int = 0
    table_bytes: int = 0
    whole_pieces: int = 0

    def encode(self, key_group: int) -> bytes:
        """The head as a piece of Spark's state."""
        named = {one.name: getattr(self, one.name) for one in fields(self)} | writer()
        return seal(KIND_HEAD, HEAD_FORMAT, key_group, json.dumps(named).encode())

    @classmethod
    def decode(cls, piece: bytes, key_group: int) -> Head:
        """Read the bytes of `encode`; CorruptFrame if they are anything else, or NewerFrame."""
        found = json.loads(bytes(unseal(piece, KIND_HEAD, key_group, version=HEAD_FORMAT)))
        if isinstance(found, list):
            return cls(*found)
        # A field that older readers may do without comes without a new format.
        return cls(**{one.name: found[one.name] for one in fields(cls) if one.name in found})

    @property
    def declarations(self) -> list[StateDeclaration]:
        """The states whose cells the log names, in the order of the cells."""
        return [StateDeclaration(**fields) for fields in json.loads(self.states)]

    @property
    def gauges(self) -> dict[str, int]:
        """The gauges of the key group, to be reported."""
        return dict.fromkeys(GAUGES, 0) | {
            REPORTS: 1,
            "key_groups": 1,
            "keys": self.keys or 0,
            "event_timers": self.event_timers,
            "processing_timers": self.processing_timers,
            "log_bytes": self.whole_bytes + self.change_bytes,
            "table_bytes": self.table_bytes,
        }


NOTHING_HELD = dict.fromkeys(GAUGES, 0) | {REPORTS: 1}


def stored_head(log: Any) -> Any:
    """The head in a map of Spark's state, or None; Spark warns of a `getValue` that finds nothing.

    Asking first is one more call.  An iterator says both in one, but holds all pieces.
    """
    return log.getValue(HEAD) if log.containsKey(HEAD) else None


def corrupt_state(
    plan: OperatorPlan, reason: str, version: int, key_group: int | None
) -> CorruptStateError:
    """The error for an operator's state that cannot be read."""
    return CorruptStateError(
        f"the state of operator {plan.uid!r} cannot be read: {reason}",
        version=version,
        key_group=key_group,
    )


def read_head(plan: OperatorPlan, log: Any, key_group: int) -> Head | None:
    """The head of a key group in its map of Spark's state; None when it has no state."""
    stored = stored_head(log)
    if stored is None:
        return None
    try:
        return Head.decode(stored[0], key_group)
    except CorruptFrame as error:
        raise corrupt_state(plan, str(error), HEAD_FORMAT, key_group) from error
    except NewerFrame as error:
        raise _newer(plan, error, key_group) from error


def _newer(
    plan: OperatorPlan, error: NewerFrame, key_group: int, written_by: str | None = None
) -> IncompatibleStateError:
    what = f"the state of key group {key_group} of operator {plan.uid!r}"
    return newer_format(error, what, written_by)


def open_tables(plan: OperatorPlan, query: str) -> TableFiles:
    """The table files of an operator on this worker, after those nobody needs have gone."""
    state = plan.state
    files = TableFiles(
        query,
        plan.uid,
        state.table_dir,
        keep_s=to_millis(state.table_keep, "table_keep") / 1000,
        most_bytes=state.table_bytes,
    )
    files.collect()
    return files


class GroupState:
    """The state of one key group at a time, under the current key of Spark's handle.

    `open`, then `commit` or `abandon`; then the next key group.
    """

    def __init__(
        self, plan: OperatorPlan, backend: KeyedStateBackend, log: Any, files: TableFiles
    ) -> None:
        self._plan = plan
        self._backend = backend
        self._log_state = log
        self._files = files
        self._private: PrivateTable | None = None
        self._head: Head | None = None
        self.dropped: Head | None = None
        self._stale = False
        self.counters: dict[str, int] = {}
        self.gauges = NOTHING_HELD

    # --- open

    def open(self, key_group: int) -> Head | None:
        """Lay the table over this key group's state; its head, or None when it has no state.

        State of another generation is none: it goes, and ``dropped`` is the head that it had.
        """
        head = read_head(self._plan, self._log_state, key_group)
        self.counters = {
            "table_misses": 0,
            "tables_in_memory": 0,
            "compactions": 0,
            "checkpoint_bytes": 0,
        }
        self.dropped = None
        if head is not None and head.generation != self._plan.state.generation:
            self._drop(head)
            head = None
        self._head = head
        cells = self._backend.reconcile(head.declarations) if head else []
        # A program that asks for its states in another order than the log has them reads the
        # log with its cells renamed, and writes a whole new one.
        self._stale = cells != list(range(len(cells)))
        if head is None:
            self._map(self._files.create(key_group))
        elif self._stale or not self._map_claimed(head, key_group):
            self.counters["table_misses"] = 1
            self._rebuild(head, cells, key_group)
        return head

    def _drop(self, head: Head) -> None:
        for sequence in range(head.first, head.next):
            self._log_state.removeKey((sequence,))
        self._log_state.removeKey(HEAD)
        self.dropped = head
        self.counters["groups_dropped"] = 1

    def _map(self, private: PrivateTable, *, state: bytes | None = None) -> None:
        self._private = private
        create = state is None
        files = private.open(create=create)
        self._backend.table.map(files, private.key_group, create=create, state=state)

    def _map_claimed(self, head: Head, key_group: int) -> bool:
        private = self._files.claim(key_group, head.nonce)
        if private is None:
            return False
        try:
            self._map(private, state=state_name(head.nonce))
        except (ValueError, OSError):
            self.abandon()
            return False
        return True

    def _rebuild(self, head: Head, cells: list[int], key_group: int) -> None:
        self._map(self._files.create(key_group, head.whole_bytes + head.change_bytes))
        try:
            state_log.replay(self._backend.table, self._contents(head, key_group), cells, key_group)
        except (CorruptFrame, state_log.DamagedLog) as error:
            raise corrupt_state(self._plan, str(error), LOG_FORMAT, key_group) from error
        except NewerFrame as error:
            raise _newer(self._plan, error, key_group, head.flinkish) from error

    def _contents(self, head: Head, key_group: int) -> Iterator[Any]:
        """The unsealed pieces of the log, in order."""
        parts: list[bytes] = []
        for sequence in range(head.first, head.next):
            stored = self._log_state.getValue((sequence,))
            if stored is None:
                reason = f"piece {sequence} of the log is missing"
                raise corrupt_state(self._plan, reason, LOG_FORMAT, key_group)
            parts.append(bytes(stored[0]))
            if not stored[1]:
                frame = parts[0] if len(parts) == 1 else b"".join(parts)
                parts.clear()
                yield unseal(frame, KIND_LOG, key_group, version=LOG_FORMAT)
                del frame  # not held while the next is fetched

    # --- commit

    def commit(self, timer: int | None, watermark: int) -> None:
        """Write what changed to Spark's state and give the table its new name.

        ``timer`` is the Spark timer that is now registered for the key group, ``watermark``
        (Flink's, in ms) what it has seen.
        """
        table = self._backend.table
        private = self._private
        assert private is not None
        changes = state_log.commit(table)
        head = self._head
        if not changes and not self._stale:
            if head is None:
                self.gauges = NOTHING_HELD
                self.abandon()
                return
            if head.timer == timer and head.keys is not None:
                self.gauges = head.gauges
                self._publish(private, head.nonce)
                return
        generation = self._plan.state.generation
        old = head or Head("", 0, 0, 0, 0, None, watermark, "[]", generation)
        new = replace(
            old,
            nonce=new_nonce(old.nonce),
            timer=timer,
            watermark=watermark,
            states=self._states(),
        )
        if changes or self._stale:
            new = self._append(new, changes, private.key_group)
        new = replace(
            new,
            keys=table.number_of_keys,
            event_timers=table.number_of_event_timers,
            processing_timers=table.number_of_processing_timers,
            table_bytes=table.memory_bytes,
        )
        self.gauges = new.gauges
        self._publish(private, new.nonce)
        self._log_state.updateValue(HEAD, (new.encode(private.key_group), False))

    def _append(self, head: Head, changes: bytes, key_group: int) -> Head:
        if self._stale or head.next == head.first:
            return self._rewrite(head, key_group)
        header, body = seal_parts(KIND_LOG, LOG_FORMAT, key_group, changes)
        size = len(header) + len(body)
        settings = self._plan.state
        # Groups fill alike; different thresholds keep them from compacting in the same batch.
        factor = settings.compact_factor * (1 + key_group / self._plan.max_parallelism)
        limit = max(head.whole_bytes, settings.compact_bytes) * factor
        pieces = settings.compact_pieces * (1 + key_group / self._plan.max_parallelism)
        # Pieces cost by their number only while they are small: full ones do not count.
        full = head.whole_pieces + head.change_bytes // PIECE_BYTES
        if head.change_bytes + size > limit or head.next - head.first - full >= pieces:
            self.counters["compactions"] = 1
            return self._rewrite(head, key_group)
        self.counters["checkpoint_bytes"] = size
        return replace(
            head,
            next=self._write(header, body, head.next),
            change_bytes=head.change_bytes + size,
        )

    def _rewrite(self, head: Head, key_group: int) -> Head:
        """Replace the log by the whole state, of which no more than a piece is held as bytes."""
        if self._backend.expire():
            state_log.commit(self._backend.table)
        for sequence in range(head.first, head.next):
            self._log_state.removeKey((sequence,))
        sequence, size = head.next, 0

        def write(contents: bytes) -> None:
            nonlocal sequence, size
            header, body = seal_parts(KIND_LOG, LOG_FORMAT, key_group, contents)
            size += len(header) + len(body)
            sequence = self._write(header, body, sequence)

        # The sizes are estimates; half leaves room, so that no short piece follows a full one.
        state_log.dump_pieces(self._backend.table, key_group, PIECE_BYTES // 2, write)
        self.counters["checkpoint_bytes"] = size
        return replace(
            head,
            first=head.next,
            next=sequence,
            whole_bytes=size,
            whole_pieces=sequence - head.next,
            change_bytes=0,
        )

    def _write(self, header: bytes, body: memoryview, sequence: int) -> int:
        """Write a frame from this sequence number on; the number after its last piece.

        It is never put together: each piece is a copy of its own, gone before the next.
        """
        for start in range(-len(header), len(body), PIECE_BYTES):
            stop = start + PIECE_BYTES
            piece = bytes(body[max(start, 0) : stop])
            if start < 0:
                piece = header + piece
            self._log_state.updateValue((sequence,), (piece, stop < len(body)))
            sequence += 1
        return sequence

    def _states(self) -> str:
        return json.dumps([declaration.to_dict() for declaration in self._backend.declarations])

    # --- the end

    def _publish(self, private: PrivateTable, nonce: str) -> None:
        """Close the table and have it found as this state, if all of it is on the disk."""
        table = self._backend.table
        if not table.in_files:
            self.counters["tables_in_memory"] = 1
            self.abandon()
            return
        table.seal(state_name(nonce))
        self._close()
        self._files.publish(private, nonce)

    def _close(self) -> None:
        self._backend.table.close()
        self._private = None

    def abandon(self) -> None:
        """Throw the table away: the call failed, and what it changed must not be seen."""
        private = self._private
        self._close()
        if private is not None:
            private.discard()
