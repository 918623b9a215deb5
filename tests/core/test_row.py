"""Rows: PyFlink 2.3's semantics, and what is our own (shared names, fields before methods)."""

import copy
import gc
import pickle
import weakref
from sys import intern

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flinkish._core.columns.records import RecordReader
from flinkish._core.values.row import FieldNameError, Row, RowKind, rows_of

NAMES = st.lists(st.text(min_size=1, max_size=5), max_size=6, unique=True)


def test_positions() -> None:
    row = Row(1, "a", None)
    assert (row[0], row[1], row[-1]) == (1, "a", None)
    assert row[0:2] == [1, "a"]
    assert list(row) == [1, "a", None]
    assert len(row) == 3
    assert row.get_field_names() is None
    assert repr(row) == "<Row(1, 'a', None)>"


def test_names() -> None:
    row = Row(name="a", id=1)
    assert row.get_field_names() == ("name", "id")
    assert (row.id, row["id"], row[1]) == (1, 1, 1)
    assert repr(row) == "Row(name='a', id=1)"
    assert row.as_dict() == {"name": "a", "id": 1}


def test_values_or_names_but_not_both() -> None:
    with pytest.raises(ValueError, match="not both"):
        Row(1, name="a")


def test_a_name_made_at_run_time_finds_its_field() -> None:
    row = Row(departure=5)
    name = "".join(["depart", "ure"])
    assert name is not intern("departure")
    assert getattr(row, name) == 5
    assert row[name] == 5


def test_a_row_of_names_makes_rows() -> None:
    person = Row("name", "age")
    assert "age" in person
    assert person("Ann", 41) == Row(name="Ann", age=41)
    assert person("Ann").get_field_names() == ("name",)
    with pytest.raises(ValueError, match="3 values for the 2 names"):
        person("Ann", 41, 1.7)


@pytest.mark.parametrize("kind", [KeyError, ValueError, FieldNameError])
def test_an_unknown_name_is_an_error_that_shows_the_names(kind: type[Exception]) -> None:
    with pytest.raises(kind, match="no field 'c': this row has a, b"):
        Row(a=1, b=2)["c"]
    with pytest.raises(kind, match="no field 'c'"):
        Row(a=1, b=2)["c"] = 3


def test_an_unknown_attribute_is_an_error_that_shows_the_names() -> None:
    with pytest.raises(AttributeError, match="no field 'c': this row has a, b"):
        _ = Row(a=1, b=2).c
    with pytest.raises(AttributeError, match="2 positions and no names"):
        _ = Row(1, 2).c
    with pytest.raises(AttributeError, match="no field 'c'"):
        Row(a=1).c = 2
    assert not hasattr(Row(a=1), "__array__")


def test_a_position_out_of_range() -> None:
    for position in (2, -3, 1 << 70):
        with pytest.raises(IndexError):
            Row(1, 2)[position]
    with pytest.raises(TypeError):
        Row(1, 2)[1.0]


def test_writing() -> None:
    row = Row(a=1, b=2, c=3)
    row.a = 10
    row["b"] = 20
    row[-1] = 30
    assert list(row) == [10, 20, 30]
    row[0:2] = [5, 6]
    assert list(row) == [5, 6, 30]
    with pytest.raises(ValueError, match="from 3 to 2"):
        row[0:2] = [5]


def test_fields_hide_methods_and_methods_work_otherwise() -> None:
    row = Row(as_dict=1, get_row_kind=2, get_fields_by_names=3)
    assert row.as_dict == 1
    assert row["get_row_kind"] == 2
    assert Row(nested=row, other=4).as_dict(True)["nested"]["as_dict"] == 1
    assert hash(row) == hash(pickle.loads(pickle.dumps(row)))
    assert Row(a=1).as_dict() == {"a": 1}


def test_dunder_names_stay_pythons() -> None:
    row = Row(__class__=1, __reduce_ex__=2, _id=3, __=4)
    assert type(row) is Row
    assert row.__class__ is Row
    assert row["__class__"] == 1
    assert row._id == 3
    assert row.__ == 4
    assert pickle.loads(pickle.dumps(row)) == row


def test_set_field_names() -> None:
    row = Row(1, 2)
    row.set_field_names(["x", "y"])
    assert row.y == 2
    with pytest.raises(ValueError, match="1 names"):
        row.set_field_names(["x"])
    with pytest.raises(ValueError, match="differ, but x"):
        row.set_field_names(["x", "x"])
    with pytest.raises(TypeError, match="not the str"):
        row.set_field_names("xy")
    with pytest.raises(TypeError, match="must be a str"):
        row.set_field_names(["x", 1])
    assert row.get_field_names() == ("x", "y")


def test_get_fields_by_names() -> None:
    assert Row(a=1, b=2, c=3).get_fields_by_names(["c", "a"]) == [3, 1]
    assert Row(1, 2).get_fields_by_names(["a", "b"]) == [1, 2]
    with pytest.raises(FieldNameError, match="no field 'd'"):
        Row(a=1).get_fields_by_names(["a", "d"])


def test_as_dict_goes_into_lists_and_dicts_when_asked() -> None:
    inner = Row(x=1)
    row = Row(a=inner, b=[inner], c={"k": inner}, d=(inner,))
    assert row.as_dict()["a"] is inner
    assert row.as_dict(recursive=True) == {
        "a": {"x": 1},
        "b": [{"x": 1}],
        "c": {"k": {"x": 1}},
        "d": (inner,),
    }
    with pytest.raises(TypeError, match="set_field_names"):
        Row(1).as_dict()


def test_contains_means_names_or_values() -> None:
    assert "a" in Row(a="v")
    assert "v" not in Row(a="v")
    assert "v" in Row("v")


def test_kinds() -> None:
    row = Row(1)
    assert row.get_row_kind() is RowKind.INSERT
    row.set_row_kind(RowKind.DELETE)
    assert row.get_row_kind() is RowKind.DELETE
    assert row != Row(1)
    assert row == Row.of_kind(RowKind.DELETE, 1)
    assert Row.of_kind(RowKind.UPDATE_AFTER, a=1).a == 1
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    with pytest.raises(TypeError, match="must be a RowKind"):
        row.set_row_kind(3)
    with pytest.raises(TypeError, match="must be a RowKind"):
        Row.of_kind("INSERT", 1)


def test_equality() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(a=1) != Row(1)
    assert Row(a=1) != Row(b=1)
    assert Row(1, 2) != Row(2, 1)
    assert Row(1) != Row(1, 2)
    assert Row(1) != (1,)
    assert Row() == Row()
    assert rows_of(["a"], [(1,)])[0] == Row(a=1)


def test_unhashable_values_make_an_unhashable_row() -> None:
    with pytest.raises(TypeError):
        hash(Row([]))


def test_rows_of_a_batch_share_names_and_tuples() -> None:
    values = (1, 2)
    first, second = rows_of(["a", "b"], [values, values])
    assert first.get_field_names() is second.get_field_names()
    first.a = 10
    assert (first.a, second.a, values) == (10, 1, (1, 2))


def test_rows_of_keeps_lists() -> None:
    values = [1, 2]
    (row,) = rows_of(None, [values])
    row[0] = 5
    assert values == [5, 2]
    values.pop()
    assert len(row) == 1


def test_a_list_cut_behind_a_rows_back_is_noticed() -> None:
    values = [1, 2]
    (row,) = rows_of(["a", "b"], [values])
    values.clear()
    with pytest.raises(IndexError):
        _ = row.b
    with pytest.raises(IndexError):
        row["b"] = 1


def test_rows_of_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="1 values do not fit the 2 names a, b"):
        rows_of(["a", "b"], [(1,)])
    with pytest.raises(TypeError, match="must be a list or a tuple"):
        rows_of(["a"], [{1}])


def test_a_row_cannot_be_subclassed_or_given_attributes() -> None:
    with pytest.raises(TypeError):
        type("Sub", (Row,), {})
    with pytest.raises(AttributeError):
        del Row(a=1).a


def test_copies() -> None:
    row = Row.of_kind(RowKind.UPDATE_BEFORE, a=[1], b=2)
    shallow, deep = copy.copy(row), copy.deepcopy(row)
    assert shallow == deep == row
    assert shallow.a is row.a
    assert deep.a is not row.a
    shallow.b = 3
    assert row.b == 2


@given(NAMES, st.data())
def test_pickling_keeps_everything(names: list[str], data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(), min_size=len(names), max_size=len(names)))
    row = rows_of(data.draw(st.sampled_from([names, None])), [values])[0]
    row.set_row_kind(data.draw(st.sampled_from(RowKind)))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(row, protocol))
        assert back == row
        assert back.get_field_names() == row.get_field_names()
        assert back.get_row_kind() is row.get_row_kind()


@given(NAMES, st.data())
def test_equal_rows_hash_alike_in_any_order(names: list[str], data: st.DataObject) -> None:
    row = Row(**{name: at for at, name in enumerate(names)})
    other = data.draw(st.permutations(list(row.as_dict().items()))) if names else []
    assert Row(**dict(other)) == row
    assert hash(Row(**dict(other))) == hash(row)


@given(NAMES.filter(bool), st.data())
def test_the_three_ways_to_a_field_agree(names: list[str], data: st.DataObject) -> None:
    row = rows_of(names, [list(range(len(names)))])[0]
    at = data.draw(st.integers(0, len(names) - 1))
    assert row[at] == row["".join(list(names[at]))] == row[at - len(names)] == at
    row[names[at]] = "new"
    assert row[at] == "new"


class Mark:
    """Something that a weak reference can tell the end of."""


@pytest.mark.parametrize("how", ["attribute", "name", "position", "slice"])
def test_a_row_of_scalars_that_takes_a_container_can_be_collected(how: str) -> None:
    batch = pa.RecordBatch.from_pydict({"id": [1], "rest": [2]})
    (row,) = RecordReader(batch).rows()
    assert not gc.is_tracked(row), "rows of scalars cost the collector nothing"
    row.id = 7
    assert not gc.is_tracked(row)
    mark = Mark()
    cycle = [row, mark]
    if how == "attribute":
        row.rest = cycle
    elif how == "slice":
        row[1:] = [cycle]
    else:
        row["rest" if how == "name" else 1] = cycle
    assert gc.is_tracked(row)
    gone = weakref.ref(mark)
    del row, cycle, mark
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("kind", [-1, 4, 2**31 - 1])
def test_a_pickle_with_a_kind_that_there_is_not_is_refused(kind: int) -> None:
    restore, (names, values, _) = Row(a=1).__reduce__()
    with pytest.raises(ValueError, match=f"the kind {kind}, but there are 4"):
        restore(names, values, kind)
