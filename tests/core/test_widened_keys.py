"""Columns of keys that were ints before they were longs."""

import pyarrow as pa
import pytest

from flinkish._core.keys.key_groups import assign_to_key_group, assign_to_key_groups


@pytest.mark.parametrize("kind", [pa.int16(), pa.int32(), pa.int64(), pa.uint32(), pa.uint64()])
def test_a_widened_int_hashes_as_one_where_32_bits_hold_it(kind: pa.DataType) -> None:
    numbers = [0, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**40, -1, -(2**31), -(2**31) - 1, -(2**40)]
    low, high = (-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1)
    if pa.types.is_unsigned_integer(kind):
        low, high = 0, 2**kind.bit_width - 1
    numbers = [n for n in numbers if low <= n <= high]
    wanted = [
        assign_to_key_group(n, 1000, "int" if -(2**31) <= n < 2**31 else "long") for n in numbers
    ]
    column = pa.array([*numbers, None], kind)
    found = assign_to_key_groups(column, 1000, "int|long", nulls="mark")
    assert found.tolist() == [*wanted, -1]
    assert [assign_to_key_group(n, 1000, "int|long") for n in numbers] == wanted
    pairs = assign_to_key_groups([column, column], 1000, ["int|long", "long"], nulls="mark")
    assert pairs.tolist()[:-1] == [
        assign_to_key_group((n, n), 1000, ("int|long", "long")) for n in numbers
    ]
    with pytest.raises(ValueError, match="64 bits"):
        assign_to_key_groups(pa.array([2**63], pa.uint64()), 1000, "int|long")
    with pytest.raises(TypeError, match=r"cannot be hashed as 'int\|long'"):
        assign_to_key_groups(pa.array(["a"]), 1000, "int|long")
