"""Seeded rows for streaming tests, and what the model makes of them."""

import random
from typing import Any

from flinkish.common import Row
from flinkish.common.timestamps import MIN_TIMESTAMP
from tests.models.keyed_process import KeyedProcessModel
from tests.spark.support import Outcome, Source, by_key, iso, watermarks

SCHEMA = "key string, n bigint, ts timestamp"
OUT = "key string, what string, n bigint, at bigint"


def random_batches(seed: int, batches: int, rows: int, keys: int) -> list[list[dict[str, Any]]]:
    """Rows whose time wanders onward, some of them late."""
    chance = random.Random(seed)
    return [
        [
            {
                "key": f"k{chance.randrange(keys)}",
                "n": chance.randrange(2000),
                "at": 20_000 + batch * 4000 + chance.randrange(-6000, 6000),
            }
            for _ in range(rows)
        ]
        for batch in range(batches)
    ]


def feed(source: Source, batches: list[list[dict[str, Any]]]) -> None:
    for rows in batches:
        source.add({**row, "ts": iso(row["at"])} for row in rows)


def expected(
    function: Any, batches: list[list[dict[str, Any]]], bound: int = 0, *, sort: bool = False
) -> tuple[KeyedProcessModel, list[list[Any]]]:
    """What the model gives for each batch and for the trailing one."""
    model = KeyedProcessModel(function, lambda row: row.key)
    marks = watermarks([[row["at"] for row in rows] for rows in batches], bound)
    given = []
    for rows, mark in zip([*batches, []], marks, strict=True):
        if sort:
            rows = sorted(rows, key=lambda row: row["at"])
        elements = [(Row(key=row["key"], n=row["n"]), row["at"]) for row in rows]
        given.append(model.batch(elements, MIN_TIMESTAMP if mark is None else mark))
    return model, given


def check(outcome: Outcome, given: list[list[Any]], *tags: str) -> None:
    assert sorted(outcome.batches) == list(range(len(given)))
    for batch, outputs in enumerate(given):
        for tag in ("", *tags):
            wanted = by_key(value for name, value, _ in outputs if name == tag)
            assert by_key(outcome.batches[batch][tag]) == wanted, f"batch {batch}, output {tag!r}"
