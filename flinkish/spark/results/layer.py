"""The ledger around the calls of a task: a row whose result is written down needs no call.

Invariants:
  Y1  Results are written in the order in which calls end, at most `_SOON_S` after that, by the
      thread that makes the last of them wait; the file has one writer at a time.
  Y2  A result that is to be tried again is not written down, and no error is.  One that was final
      when it was written and is to be tried again now is not given.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timezone, tzinfo
from itertools import accumulate
from typing import Any

import pyarrow as pa

from flinkish.common.errors import SchemaMismatchError
from flinkish.common.typeinfo import TypeInformation
from flinkish.functions import RuntimeContext
from flinkish.operators.async_calls import results_of
from flinkish.spark.encoders import RowEncoder
from flinkish.spark.results.keys import row_key
from flinkish.spark.results.ledger import ResumeLedger
from flinkish.spark.type_mapping import restorer

__all__ = ["LedgerLayer"]

_SOON_S = 0.02  # for how long a result may wait for others to be written with


class LedgerLayer:
    """A `CallLayer`.  ``is_final(results)`` says whether results are not to be tried again.

    ``output_type`` and ``time_zone`` are those with which output rows become columns for Spark.
    It can be pickled until it is opened.
    """

    def __init__(
        self,
        ledger: ResumeLedger,
        is_final: Callable[[Any], bool] | None = None,
        output_type: TypeInformation | None = None,
        time_zone: tzinfo = timezone.utc,
    ) -> None:
        self._ledger = ledger
        self._is_final = is_final
        self._output_type = output_type
        self._time_zone = time_zone
        self._thread: threading.Thread | None = None

    def open(self, context: RuntimeContext, on_free: Callable[[], object]) -> None:
        """Read what the ledger has, and begin to write results of this task to it."""
        self._encoder = RowEncoder(
            self._ledger.function, self._ledger.schema, self._output_type, self._time_zone
        )
        self._restore = None if self._output_type is None else restorer(self._output_type)
        self._index = self._ledger.index()
        self._near = self._index.place.local
        self._saved_before = self._index.saved
        task = context.get_index_of_this_subtask()
        self._writer = self._ledger.writer(f"{task}-{context.get_attempt_number()}")
        self._reading = threading.Lock()
        self._changed = threading.Condition(threading.Lock())
        self._waiting: list[tuple[bytes, list[Any]]] = []
        self._closed = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name="flinkish-ledger", daemon=True)
        self._thread.start()

    def num_saved(self) -> int:
        """How many results this task has read from the ledger instead of calling the function."""
        return self._index.saved - self._saved_before

    def num_waiting(self) -> int:
        """How many calls wait in this layer: none ever."""
        return 0

    async def call(self, function: Callable[[Any], Awaitable[Any]], row: Any) -> Any:
        """The results that the ledger has for ``row``; else those of ``function``, kept."""
        key = row_key(row)
        known = self._get(key) if self._near else await self._get_from_afar(key)
        if known is not None:
            return known
        results = await function(row)
        return self._keep(key, results)

    def call_blocking(self, function: Callable[[Any], Any], row: Any) -> Any:
        """The same for a function that blocks."""
        key = row_key(row)
        known = self._get(key)
        if known is not None:
            return known
        return self._keep(key, function(row))

    def close(self) -> None:
        """Write what is left; an error of writing is raised here unless it was raised before."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        with self._changed:
            self._closed = True
            self._changed.notify()
        thread.join()
        if self._error is not None:
            raise self._error

    def _get(self, key: bytes) -> list[Any] | None:
        with self._reading:
            return self._look_up(key)

    async def _get_from_afar(self, key: bytes) -> list[Any] | None:
        """The same where a read may take long: on another thread, for the loop has others."""
        if self._reading.acquire(blocking=False):
            try:
                if not self._index.must_read(key):
                    return self._look_up(key)
            finally:
                self._reading.release()
        return await asyncio.to_thread(self._get, key)

    def _look_up(self, key: bytes) -> list[Any] | None:
        if self._error is not None:
            raise self._error
        rows = self._index.get(key, self._counts)
        return None if rows is None else self._restored(rows)

    def _counts(self, rows: list[tuple[Any, ...]]) -> bool:
        return self._is_final is None or self._is_final(self._restored(rows))

    def _restored(self, rows: list[Any]) -> list[Any]:
        """The result of the call, from the values of its columns."""
        return rows if self._restore is None else [self._restore(row) for row in rows]

    def _keep(self, key: bytes, results: Any) -> Any:
        """Have results written, unless they are not final."""
        kept = results_of(results, self._ledger.function)
        if self._is_final is None or self._is_final(kept):
            with self._changed:
                if not self._waiting:
                    self._changed.notify()
                self._waiting.append((key, kept))
        return kept

    # --- the thread that writes

    def _write(self) -> None:
        try:
            while True:
                with self._changed:
                    while not self._waiting and not self._closed:
                        self._changed.wait(1.0)
                        self._writer.flush_if_old()
                    if not self._closed:
                        self._changed.wait(_SOON_S)
                    waiting, self._waiting = self._waiting, []
                    last = self._closed
                if waiting:
                    self._append(waiting)
                if last:
                    self._writer.close()
                    return
        except BaseException as error:
            self._error = error

    def _append(self, waiting: list[tuple[bytes, list[Any]]]) -> None:
        try:
            self._writer.append([key for key, _ in waiting], self._lists(waiting))
        except SchemaMismatchError:  # of one of them, which is told where it becomes output
            if len(waiting) > 1:
                for one in waiting:
                    self._append([one])

    def _lists(self, waiting: list[tuple[bytes, list[Any]]]) -> pa.ListArray:
        rows = [row for _, rows in waiting for row in rows]
        offsets = accumulate((len(rows) for _, rows in waiting), initial=0)
        if rows:
            batch = self._encoder.encode(rows)
            structs = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
        else:
            structs = pa.array([], pa.struct(list(self._encoder.schema)))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)
