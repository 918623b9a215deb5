"""Outputs of a run, taken from its engine: encoded, or to be encoded with those of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import pyarrow as pa

from flinkish._core.operators.key_group_tables import KeyGroupTables
from flinkish._core.operators.keyed_process import KeyedProcess
from flinkish.common.errors import IllegalStateError
from flinkish.common.notes import add_note, shortened, spell_out_notes
from flinkish.common.output_tag import OutputTag
from flinkish.common.typeinfo import TypeInformation
from flinkish.spark.encoders import RowEncoder
from flinkish.spark.internals import arrow_schema
from flinkish.spark.keyed.output_pieces import MOST_OUTPUTS, Outputs, cut
from flinkish.spark.keyed.plan import MAIN, OperatorPlan
from flinkish.spark.keyed.result_rows import Result
from flinkish.spark.type_mapping import row_schema

__all__ = ["RunOutputs"]

# Values of the main output up to a number, their key group, and the table's row of the key that
# was last.
End: TypeAlias = tuple[int, int, int]


class RunOutputs:
    """The main output of a run, and side outputs as they come up.

    ``where`` names the operator, for messages.
    """

    open_tables: KeyGroupTables | None = None
    """The tables of key groups that are open at once; results then have `Outputs`, no columns."""

    def __init__(self, plan: OperatorPlan, where: str) -> None:
        self._plan = plan
        self._where = where
        self._main = self._encoder("main output", plan.output, plan.output_type)
        self._sides: dict[str, RowEncoder] = {}

    def take(self, engine: KeyedProcess, key_group: int, phase: int) -> Iterator[Result]:
        """The outputs since the last call, made for a key group in this phase of the batch."""
        values, times, sides = engine.take_output()
        outputs = [(MAIN, self._main, values, times)] if values else []
        outputs += [(tag.tag_id, self.side(tag), *found) for tag, found in sides.items()]
        ends: list[End] = []
        if self.open_tables is not None:
            ends = self.open_tables.take_ends() or [(MOST_OUTPUTS, key_group, engine.last)]
        for tag, encoder, values, times in outputs:
            if self.open_tables is None:
                # One call of a function may have given any number.
                made = Outputs(values, times, encoder)
                for batch, limit in made.pieces(engine.output_limit):
                    engine.output_limit = limit
                    for piece in cut(batch):
                        yield Result(key_group, phase, tag, piece)
            else:
                # They count values of the main output.
                own = ends if tag == MAIN or len(ends) == 1 else []
                explain = partial(self._explain, own)
                made = Outputs(values, times, encoder, explain)
                yield Result(key_group, phase, tag, outputs=made)

    def _explain(self, ends: list[End], error: BaseException, number: int | None) -> None:
        """Note on an error of a value, by its number, of which key it was, if that is known."""
        if len(ends) > 1:
            ends = [one for one in ends if number is not None and number < one[0]]
        where = f"raised in {self._where}"
        if ends and self.open_tables is not None:
            _, key_group, row = ends[0]
            where += f", key group {key_group}"
            with suppress(ValueError, IllegalStateError):  # no key may have been current at the end
                self.open_tables.use(key_group)
                key = shortened(self.open_tables.table.key_of(row))
                where += f", for the key {key}, or before it"
        add_note(error, where)
        spell_out_notes(error)

    def side(self, tag: OutputTag) -> RowEncoder:
        """The encoder of a side output's values."""
        found = self._sides.get(tag.tag_id)
        if found is None:
            schema = arrow_schema(row_schema(tag.type_info))
            found = self._encoder(f"side output {tag.tag_id!r}", schema, tag.type_info)
            self._sides[tag.tag_id] = found
        return found

    def _encoder(self, what: str, schema: pa.Schema, kind: TypeInformation | None) -> RowEncoder:
        plan = self._plan
        return RowEncoder(f"the {what} of operator {plan.uid!r}", schema, kind, plan.time_zone)
