"""What travels through Spark's shuffle, as `mapInArrow` makes it."""

from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa

from flinkish._core.values.codec import unpack_payload
from flinkish.spark.keyed.packing import NULL_KEY_GROUP, SETTINGS_GROUP, packer
from flinkish.spark.keyed.placement import group_at
from tests.spark.fake_spark import SCHEMA, plan

OUT = pa.schema([("key", pa.string())])
AT = datetime(2013, 1, 1, tzinfo=timezone.utc)


def test_rows_without_a_key_are_packed_as_the_others(tmp_path: Path) -> None:
    operator = plan(None, OUT, tmp_path, null_keys="drop")
    rows = pa.record_batch([["a", None, "b", None], [1, 2, 3, 4], [AT] * 4], schema=SCHEMA)
    found: dict[int, list[tuple[str | None, int]]] = {}
    settings: list[bytes] = []
    for packed in packer(operator)(iter([rows])):
        for slot, payload in zip(
            packed.column("slot").to_pylist(), packed.column("payload").to_pylist(), strict=True
        ):
            if group_at(slot) == SETTINGS_GROUP:
                settings.append(payload)
                continue
            batch = unpack_payload(payload, operator.packed_schema)
            pairs = zip(batch["key"].to_pylist(), batch["n"].to_pylist(), strict=True)
            found.setdefault(group_at(slot), []).extend(pairs)
    assert settings == [b""]
    assert found.pop(NULL_KEY_GROUP) == [(None, 2), (None, 4)]
    assert sorted(pair for pairs in found.values() for pair in pairs) == [("a", 1), ("b", 3)]
    assert all(0 <= group < operator.max_parallelism for group in found)
