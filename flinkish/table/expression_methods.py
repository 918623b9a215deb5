"""Tables of the methods and properties of expressions that are functions of Spark's SQL.

Braces stand for a value's SQL: ``{0}`` for the expression itself, ``{1}`` and so on for arguments.
Where Spark's function differs from Flink's, the text compensates: ``split_index`` counts from
0 and gives null past the end, ``regexp_extract`` gives null where nothing matches.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["AGGREGATES", "METHODS", "PROPERTIES", "REFUSED", "UNITS"]

# Properties: the text of the value.
PROPERTIES: Mapping[str, str] = {
    # numbers
    "exp": "exp({0})",
    "log10": "log10({0})",
    "log2": "log2({0})",
    "ln": "ln({0})",
    "cosh": "cosh({0})",
    "sinh": "sinh({0})",
    "sin": "sin({0})",
    "cos": "cos({0})",
    "tan": "tan({0})",
    "cot": "cot({0})",
    "asin": "asin({0})",
    "acos": "acos({0})",
    "atan": "atan({0})",
    "tanh": "tanh({0})",
    "degrees": "degrees({0})",
    "radians": "radians({0})",
    "sqrt": "sqrt({0})",
    "abs": "abs({0})",
    "sign": "sign({0})",
    "bin": "bin({0})",
    "hex": "hex({0})",
    "unhex": "unhex({0})",
    # truth
    "is_true": "({0} IS TRUE)",
    "is_false": "({0} IS FALSE)",
    "is_not_true": "({0} IS NOT TRUE)",
    "is_not_false": "({0} IS NOT FALSE)",
    # texts
    "char_length": "char_length({0})",
    "upper_case": "upper({0})",
    "lower_case": "lower({0})",
    "init_cap": "initcap({0})",
    "from_base64": "CAST(unbase64({0}) AS STRING)",
    "to_base64": "base64({0})",
    "ascii": "ascii({0})",
    "chr": "chr({0})",
    "reverse": "reverse({0})",
    "md5": "md5({0})",
    "sha1": "sha1({0})",
    "sha224": "sha2({0}, 224)",
    "sha256": "sha2({0}, 256)",
    "sha384": "sha2({0}, 384)",
    "sha512": "sha2({0}, 512)",
    # times
    "to_date": "CAST({0} AS DATE)",
    "to_timestamp": "CAST({0} AS TIMESTAMP_NTZ)",
    # collections
    "cardinality": "cardinality({0})",
    "element": "CASE WHEN size({0}) <= 1 THEN get({0}, 0) ELSE raise_error('element: the array "
    "has more than one element') END",
    "map_keys": "map_keys({0})",
    "map_values": "map_values({0})",
    "map_entries": "map_entries({0})",
}

# Units of intervals: the property names, singular and plural, and Spark's interval of a number.
UNITS: Mapping[str, tuple[str, int | None]] = {
    "year": ("make_ym_interval(CAST({0} AS INT), 0)", None),
    "quarter": ("make_ym_interval(0, 3 * CAST({0} AS INT))", None),
    "month": ("make_ym_interval(0, CAST({0} AS INT))", None),
    "week": ("make_dt_interval(7 * CAST({0} AS INT))", 604_800_000),
    "day": ("make_dt_interval(CAST({0} AS INT))", 86_400_000),
    "hour": ("make_dt_interval(0, CAST({0} AS INT))", 3_600_000),
    "minute": ("make_dt_interval(0, 0, CAST({0} AS INT))", 60_000),
    "second": ("make_dt_interval(0, 0, 0, {0})", 1000),
    "milli": ("make_dt_interval(0, 0, 0, CAST({0} AS DECIMAL(18, 6)) / 1000)", 1),
}

# Aggregates: the text, and the text of the aggregate of distinct values.
AGGREGATES: Mapping[str, str] = {
    "sum": "sum({0})",
    "sum0": "coalesce(sum({0}), 0)",
    "min": "min({0})",
    "max": "max({0})",
    "count": "count({0})",
    "avg": "avg({0})",
    "first_value": "first_value({0})",
    "last_value": "last_value({0})",
    "stddev_pop": "stddev_pop({0})",
    "stddev_samp": "stddev_samp({0})",
    "var_pop": "var_pop({0})",
    "var_samp": "var_samp({0})",
    "array_agg": "array_agg({0})",
}

# Methods: the parameters (one that ends with ? may be left out, * takes any number), and the text
# by the number of arguments that are given, {*} for all of them with commas.
METHODS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "log": ("base?", ("ln({0})", "log({1}, {0})")),
    "round": ("places", ("round({0}, {1})",)),
    "truncate": (
        "n?",
        (
            "(sign({0}) * floor(abs({0})))",
            "(sign({0}) * floor(abs({0}) * power(10, {1})) / power(10, {1}))",
        ),
    ),
    "between": ("lower_bound upper_bound", ("({0} BETWEEN {1} AND {2})",)),
    "not_between": ("lower_bound upper_bound", ("({0} NOT BETWEEN {1} AND {2})",)),
    "then": ("if_true if_false", ("(CASE WHEN {0} THEN {1} ELSE {2} END)",)),
    "if_null": ("null_replacement", ("coalesce({0}, {1})",)),
    "percentile": ("percentage frequency?", ("percentile({0}, {1})", "percentile({0}, {1}, {2})")),
    # texts
    "concat": ("other", ("({0} || {1})",)),
    "starts_with": ("start_expr", ("startswith({0}, {1})",)),
    "ends_with": ("end_expr", ("endswith({0}, {1})",)),
    "substring": ("begin_index length?", ("substring({0}, {1})", "substring({0}, {1}, {2})")),
    "substr": ("begin_index length?", ("substring({0}, {1})", "substring({0}, {1}, {2})")),
    "trim_leading": ("character?", ("ltrim({0})", "trim(LEADING {1} FROM {0})")),
    "trim_trailing": ("character?", ("rtrim({0})", "trim(TRAILING {1} FROM {0})")),
    "trim": ("character?", ("trim({0})", "trim(BOTH {1} FROM {0})")),
    "ltrim": ("trim_str?", ("ltrim({0})", "trim(LEADING {1} FROM {0})")),
    "rtrim": ("trim_str?", ("rtrim({0})", "trim(TRAILING {1} FROM {0})")),
    "btrim": ("trim_str?", ("trim({0})", "trim(BOTH {1} FROM {0})")),
    "replace": ("search replacement", ("replace({0}, {1}, {2})",)),
    "translate": ("from_str to_str", ("translate({0}, {1}, {2})",)),
    "like": ("pattern escape?", ("({0} LIKE {1})", "({0} LIKE {1} ESCAPE {2})")),
    "position": ("haystack", ("position({0}, {1})",)),
    "lpad": ("length pad", ("lpad({0}, {1}, {2})",)),
    "rpad": ("length pad", ("rpad({0}, {1}, {2})",)),
    "overlay": (
        "new_string starting length?",
        (
            "overlay({0} PLACING {1} FROM {2})",
            "overlay({0} PLACING {1} FROM {2} FOR {3})",
        ),
    ),
    "regexp": ("regex", ("regexp_like({0}, {1})",)),
    "regexp_count": ("regex", ("regexp_count({0}, {1})",)),
    "regexp_replace": ("regex replacement", ("regexp_replace({0}, {1}, {2})",)),
    "regexp_extract": (
        "regex extract_index?",
        (
            "(CASE WHEN regexp_like({0}, {1}) THEN regexp_extract({0}, {1}, 0) END)",
            "(CASE WHEN regexp_like({0}, {1}) THEN regexp_extract({0}, {1}, {2}) END)",
        ),
    ),
    "regexp_extract_all": (
        "regex extract_index?",
        ("regexp_extract_all({0}, {1})", "regexp_extract_all({0}, {1}, {2})"),
    ),
    "regexp_instr": ("regex", ("regexp_instr({0}, {1})",)),
    "regexp_substr": ("regex", ("regexp_substr({0}, {1})",)),
    "decode": ("charset", ("decode({0}, {1})",)),
    "encode": ("charset", ("encode({0}, {1})",)),
    "left": ("length", ("left({0}, {1})",)),
    "right": ("length", ("right({0}, {1})",)),
    "instr": ("s", ("instr({0}, {1})",)),
    "locate": ("s pos?", ("locate({0}, {1})", "locate({0}, {1}, {2})")),
    "url_decode": ("", ("url_decode({0})",)),
    "url_encode": ("", ("url_encode({0})",)),
    "parse_url": (
        "part_to_extract key?",
        ("parse_url({0}, {1})", "parse_url({0}, {1}, {2})"),
    ),
    "printf": ("obj*", ("printf({0}, {*})",)),
    "repeat": ("n", ("repeat({0}, {1})",)),
    "split_index": ("separator index", ("get(split({0}, concat('\\\\Q', {1}, '\\\\E')), {2})",)),
    "str_to_map": (
        "list_delimiter? key_value_delimiter?",
        ("str_to_map({0}, ',', '=')", "str_to_map({0}, {1})", "str_to_map({0}, {1}, {2})"),
    ),
    "elt": ("expr exprs*", ("elt({0}, {*})",)),
    "split": ("delimiter", ("split({0}, concat('\\\\Q', {1}, '\\\\E'))",)),
    "sha2": ("hash_length", ("sha2({0}, {1})",)),
    # collections
    "at": ("index", ("element_at({0}, {1})",)),
    "array_append": ("addition", ("array_append({0}, {1})",)),
    "array_contains": ("needle", ("array_contains({0}, {1})",)),
    "array_distinct": ("", ("array_distinct({0})",)),
    "array_position": ("needle", ("array_position({0}, {1})",)),
    "array_prepend": ("addition", ("array_prepend({0}, {1})",)),
    "array_remove": ("needle", ("array_remove({0}, {1})",)),
    "array_reverse": ("", ("reverse({0})",)),
    "array_union": ("array", ("array_union({0}, {1})",)),
    "array_concat": ("arrays*", ("concat({0}, {*})",)),
    "array_max": ("", ("array_max({0})",)),
    "array_min": ("", ("array_min({0})",)),
    "array_join": (
        "delimiter null_replacement?",
        ("array_join({0}, {1})", "array_join({0}, {1}, {2})"),
    ),
    "array_except": ("array", ("array_except({0}, {1})",)),
    "array_intersect": ("array", ("array_intersect({0}, {1})",)),
    # JSON
    "json_quote": ("", ("to_json({0})",)),
}

_SQL = "write it with call_sql('...') in Spark's SQL"
_BITMAPS = "Spark's bitmaps have another form: write bitmap_count and its like with call_sql('...')"

# Methods and properties of Flink's expressions without an equivalent in Spark's SQL, and what to
# write instead.
REFUSED: Mapping[str, str] = {
    "as_argument": "Spark's functions take their arguments by place",
    "collect": "Spark has no multisets: take array_agg, or a MAP by call_sql('...')",
    "similar": "Spark has no SIMILAR TO: take regexp(...) with a regular expression of Java's",
    "inet_aton": _SQL,
    "inet_ntoa": _SQL,
    "to_time": "Spark's tables have no TIME here: keep it as text, or as milliseconds",
    "flatten": "name the fields: col('row').get('field')",
    "array_slice": "Spark's slice takes a length: call_sql('slice(a, start, length)')",
    "array_sort": "Spark sorts by call_sql('sort_array(a, ascending)'), nulls first if ascending",
    "map_union": "call_sql('map_concat(a, b)'), which refuses a key in both",
    "is_json": _SQL,
    "json_exists": "call_sql(\"get_json_object(j, '$.path') IS NOT NULL\")",
    "json_value": "call_sql(\"get_json_object(j, '$.path')\") gives texts, which can be cast",
    "json_query": "call_sql(\"get_json_object(j, '$.path')\")",
    "json_unquote": "call_sql(\"from_json(j, 'STRING')\")",
    "object_update": "Spark's structs are made anew: call_sql('named_struct(...)')",
    **dict.fromkeys(
        (
            "bitmap_and",
            "bitmap_andnot",
            "bitmap_and_agg",
            "bitmap_and_cardinality_agg",
            "bitmap_build",
            "bitmap_build_agg",
            "bitmap_build_cardinality_agg",
            "bitmap_cardinality",
            "bitmap_from_bytes",
            "bitmap_or",
            "bitmap_or_agg",
            "bitmap_or_cardinality_agg",
            "bitmap_to_array",
            "bitmap_to_bytes",
            "bitmap_to_string",
            "bitmap_xor",
            "bitmap_xor_agg",
            "bitmap_xor_cardinality_agg",
        ),
        _BITMAPS,
    ),
}
