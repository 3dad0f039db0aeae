# SPDX-License-Identifier: Apache-2.0
"""Functions of expressions give what pylance gives."""

import datetime as dt
import math

import lance
import leman
import pyarrow as pa
import pytest

ROWS = pa.table(
    {
        "i": pa.array([1, 2, None, -7, 30], pa.int64()),
        "f": pa.array([1.5, -0.25, None, math.nan, 0.0], pa.float64()),
        "s": pa.array(["abc", "a,b,,c", None, "", "héé llo"]),
        "b": pa.array([b"ab", b"", None, b"\xff", b"x"]),
        "l": pa.array([[1, 2, 3, 2], [], None, [None, 2], [5, 5, 5]], pa.list_(pa.int64())),
        "ls": pa.array([["a", "b"], [], None, [None, "x"], ["a", "a"]], pa.list_(pa.string())),
        "lf": pa.array([[1.0, 2.0], [], None, [None, 2.5], [3.0, 4.0]], pa.list_(pa.float64())),
        "ll": pa.array(
            [[[1], [2, 3]], [], None, [None, [2]], [[5], []]], pa.list_(pa.list_(pa.int64()))
        ),
        "t": pa.array(
            [
                dt.datetime(2024, 1, 31, 12, 34, 56, 789012),
                dt.datetime(1969, 12, 31, 23, 59, 59),
                None,
                dt.datetime(2020, 2, 29),
                dt.datetime(2023, 1, 1, 0, 5, 6),
            ],
            pa.timestamp("us"),
        ),
        "d": pa.array([19753, -1, None, 18321, 19358], pa.date32()),
        "n": pa.array([{"x": 1, "y": "p"}, {"x": 2}, None, {"y": "q"}, {"x": 5, "y": "r"}]),
    }
)

LISTS = """
string_to_array(s, ',')
string_to_array(s, ',', '')
string_to_array(s, null)
string_to_list(s, '')
string_to_array(s, s)
array_to_string(ll, ',')
array_to_string(lf, ',')
array_to_string(l, null)
array_to_string(l, '-', null)
list_to_string(l, '-', 'N')
array_to_string([true, i > 1], ',')
array_to_string([d, null], ',')
array_to_string([t], ',')
array_join(ls, s)
list_join(ls, '')
array_replace(l, null, 7)
array_replace(l, 2, null)
list_replace(l, i, 100)
array_replace_all(l, null, 7)
array_replace_n(l, 5, 9, i)
array_replace_n(l, 5, 9, -1)
array_remove_n(l, 5, i)
array_remove_n(l, null, 2)
array_positions(l, null)
array_positions(l, i)
array_resize(l, 0)
array_resize(l, null)
array_resize(l, 5, i)
array_resize(ll, 3)
array_repeat(null, i)
array_repeat(s, -1)
array_repeat(l, 2)
array_repeat(3, i)
array_repeat(i > 1, 3000)
flatten(l)
flatten(ll)
flatten(array_repeat(ll, 1))
array_compact(ls)
array_compact(ll)
array_dims(l)
array_dims(ll)
array_ndims(ll)
array_distance([f, 1.0], [2.0, 3.0])
array_distance([i, 1], [2, 3])
cosine_distance([f, 1.0], [2.0, 3.0])
cosine_distance([f * 0, 0.0], [2.0, 3.0])
inner_product([f, 1.0], [2.0, 3.0])
dot_product([f, 1.0], [2.0, 3.0])
array_normalize([f, 0.0])
array_normalize(lf)
range(i)
range(1, i)
range(5, i, -3)
range(i, 5, i)
generate_series(1, i)
generate_series(5, i, -3)
generate_series(d, d + interval '2 days', interval '1 day')
range(d, d + interval '2 days', interval '1 day')
generate_series(d, d + interval '2 months', interval '1 month')
array_position([1, 2, 3, 2, i], 2, 3)
array_any_value([null, i])
list_any_value(ls)
arrays_overlap(l, [null])
array_indexof(l, 2)
array_slice([1, 2, 3, 4, 5, i], 1, 6, 2)
array_slice([1, 2, 3, 4, 5, i], 6, 1, -2)
array_slice([1, 2, 3, 4, 5, i], -1, 1, -1)
array_slice(l, 3, 1, -1)
"""

NUMBERS = """
acosh(f + 2)
asinh(f)
atanh(f)
cosh(f)
sinh(f)
tanh(f)
factorial(i * 0 + 5)
gcd(i, 6)
gcd(i, 0)
lcm(i, 6)
lcm(i, 0)
iszero(f)
nanvl(f, i)
trunc(f, 1)
trunc(f, 0)
trunc(f * 1000, -2)
trunc(f * 1000, i)
nvl2(s, 'x', 'y')
nvl2(i, 1, 2)
"""

TEXTS = """
chr(i + 64)
chr(i * 0 + 128512)
find_in_set(s, 'a,abc,b')
find_in_set('', s)
find_in_set('b', s)
levenshtein(s, 'abd')
levenshtein(s, s || 'é')
overlay(s, 'ZZ', 2, 1)
overlay(s, 'ZZ', 2)
overlay(s, 'ZZ', 2, 0)
overlay(s, 'ZZ', 3, -2)
position(s, 'b')
substr_index(s, ',', 2)
substring_index(s, ',', -1)
substr_index(s, ',', 0)
substr_index(s, '', 2)
substr_index(s, ',', -3)
substr_index(s, ',', -4)
translate(s, 'abc', 'xy')
translate(s, 'aé', 'éx')
translate(s, 'aa', 'xy')
encode(b, 'base64pad')
decode(upper(encode(s, 'hex')), 'hex')
decode(encode(b, 'base64'), 'base64')
decode(encode(b, 'base64pad'), 'base64pad')
"""

TIMES = """
make_time(i * 0 + 1, 2, 3)
to_time(substr(to_char(t, '%H:%M:%S%.f'), 1, 8))
to_date(to_char(t, '%d.%m.%Y'), '%d.%m.%Y')
to_timestamp(to_char(t, '%d.%m.%Y %H:%M:%S'), '%d.%m.%Y %H:%M:%S')
to_timestamp(to_char(t, '%d.%m.%Y %H:%M:%S%.f'), '%d.%m.%Y %H:%M:%S%.f')
to_timestamp(to_char(t, '%d.%m.%Y %H:%M:%S.%f'), '%d.%m.%Y %H:%M:%S.%f')
to_timestamp(to_char(t, '%d.%m.%Y'), '%Y', '%d.%m.%Y')
to_timestamp(to_char(t, '%Y-%j %T'), '%Y-%j %T')
to_timestamp_millis(to_char(t, '%d/%b/%y %I:%M %p'), '%d/%b/%y %I:%M %p')
to_timestamp_micros(to_char(t, '%c'), '%c')
to_unixtime(to_char(t, '%d.%m.%Y'), '%d.%m.%Y')
to_timestamp(to_char(t, '%F %T') || ' +0200', '%Y-%m-%d %H:%M:%S %z')
to_char(t, '%-d|%_d|%e|%k|%l|%-m|%-H|%P|%q|%V|%G|%g|%u|%w|%C|%n|%t|%%|%s|%U|%W|%h')
to_char(t, '%c|%x|%X|%r|%v|%D|%R')
to_char(t, '%.f|%.3f|%.6f|%.9f|%3f|%6f|%9f|%f|%_H|%0e|%-I|%_m|%-j|%-M|%-S|%-y|%0k|%_Y')
to_char(arrow_cast(t, 'Timestamp(Second, Some("Europe/Paris"))'), '%z|%:z|%Z|%+|%c|%s')
to_char(arrow_cast(t, 'Timestamp(Second, Some("-03:30"))'), '%z|%:z|%::z|%:::z|%Z|%+|%c|%s')
to_char(d, '%s %c %q')
date_part('isoyear', d)
to_local_time(arrow_cast(t, 'Timestamp(Second, Some("+02:00"))'))
arrow_cast(t, 'Time64(Nanosecond)')
arrow_cast(t, 'Time32(Second)')
arrow_cast(i, 'Duration(Second)')
"""

MATCHES = r"""
regexp_match(s, '')
regexp_match(s, '(x)?(b)')
regexp_match(s, '(?i)A(b)')
regexp_match(s, 'a')
regexp_match(s, 'A', 'i')
regexp_match(s, '(?<n>a)(,)?')
regexp_match(s, '(?P<q>l+)(o)')
regexp_match(s, '(é+)')
regexp_match(s, '(a)(b)?(,)?(c)?')
regexp_like(s, '(?i:A)b')
regexp_like(s, '(?i:A)B')
regexp_like(s, '(?i)A(?-i)B')
regexp_like(s, '(?s)a.b')
regexp_like(replace(s, ',', chr(10)), '(?m)^b$')
regexp_like(replace(s, ',', chr(10)), '^b$')
regexp_like(replace(s, ',', chr(10)), '^b$', 'm')
regexp_like(s, '[[:alpha:]]')
regexp_like(s, '[^[:alpha:],]')
regexp_like(s, '\x61')
regexp_like(s, '\x{e9}')
regexp_like(s, '\Aa')
regexp_like(s, 'c\z')
regexp_like(s, 'A', 'im')
regexp_replace(s, '(?P<n>a)', '<${n}>')
regexp_replace(s, '(?<n>a)(?<m>.)', '$m$n$x-')
regexp_count(coalesce(s, ''), 'b', 2)
regexp_count(coalesce(s, ''), 'b|c|l', 3)
regexp_count(coalesce(s, ''), 'B|c|L', 1, 'i')
regexp_instr(s, 'b|c|l', 3)
regexp_instr(s, 'b|c|l', 1, 2)
regexp_instr(s, 'L', 1, 1, 'i')
regexp_instr(s, 'a(.)(b)', 1, 1, 'i', 2)
regexp_instr(s, 'b')
regexp_replace(s || '🐍。ab１２ ـ٣ ａ，', '\w+', '<$0>', 'g')
regexp_replace(s || '🐍é。１x٣', '\W', '-', 'g')
regexp_replace(s || '１2٣', '\d', '#', 'g')
regexp_replace(s || ' 　 ​x', '\s', '_', 'g')
regexp_like('🐍cat。' || s, '\bcat\b')
regexp_like('🐍é。' || s, '^\W\w\w\W')
regexp_like('１２' || s, '^\d\d[^\d]*$')
regexp_like('日本' || s, '^[\w.]+\z')
regexp_like('日本' || s, '(?i)^[日月]本a?B?')
"""

TYPES = """
arrow_typeof(l)
arrow_typeof(t)
arrow_typeof(n)
arrow_typeof(ls)
arrow_typeof(b)
arrow_typeof(i > 1)
arrow_typeof(arrow_cast(t, 'Timestamp(Second, Some("UTC"))'))
arrow_typeof(t - t)
arrow_typeof(arrow_cast(i, 'Decimal128(10, 2)'))
arrow_typeof([1.5, f])
arrow_typeof(arrow_cast(t, 'Time64(Nanosecond)'))
arrow_typeof(named_struct('a', i))
named_struct('a', i, 'b', s)
struct(i, s)
row(i)
named_struct('a', i, 'b', named_struct('c', s))
named_struct('a', i)['a']
named_struct('a', l, 'b', [i, 2])
array_repeat(named_struct('a', i), 2)
get_field(n, 'y')
make_list(i, 2)
"""


def lines(*texts):
    return [line for text in texts for line in text.splitlines() if line]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    return lance.write_dataset(ROWS, tmp_path_factory.mktemp("functions") / "rows.lance")


@pytest.mark.parametrize("text", lines(LISTS, NUMBERS, TEXTS, TIMES, MATCHES, TYPES))
def test_values_are_those_of_pylance(theirs, text):
    expected = theirs.to_table(columns={"value": text})["value"].to_pylist()
    assert repr(leman.evaluate(text, ROWS.to_batches()[0]).to_pylist()) == repr(expected)


# Every function in DataFusion's list of scalar functions: one of these, or refused with a reason.
DOCUMENTED = """
abs acos acosh any_match array_add array_any_match array_any_value array_append array_avg array_cat
array_compact array_concat array_contains array_dims array_distance array_distinct array_element
array_empty array_except array_extract array_filter array_first array_has array_has_all
array_has_any array_indexof array_intersect array_join array_length array_max array_min
array_ndims array_normalize array_pop_back array_pop_front array_position array_positions
array_prepend array_product array_push_back array_push_front array_remove array_remove_all
array_remove_n array_repeat array_replace array_replace_all array_replace_n array_resize
array_reverse array_scale array_slice array_sort array_subtract array_sum array_to_string
array_transform array_union arrays_overlap arrays_zip arrow_cast arrow_field arrow_metadata
arrow_try_cast arrow_typeof ascii asin asinh atan atan2 atanh bit_length btrim cardinality
cast_to_type cbrt ceil char_length character_length chr coalesce concat concat_ws contains cos cosh
cosine_distance cot current_date current_time current_timestamp date_bin date_format date_part
date_trunc datepart datetrunc decode degrees digest dot_product element_at empty encode ends_with
exp factorial file_row_index find_in_set flatten floor from_unixtime gcd generate_series get_field
greatest ifnull initcap inner_product input_file_name instr isnan iszero lcm least left length
levenshtein ln log log10 log2 lower lpad ltrim make_date make_time map map_entries map_extract
map_keys map_values md5 named_struct nanvl now nullif nvl nvl2 octet_length overlay pi position pow
power radians rand random range regexp_count regexp_instr regexp_like regexp_match regexp_replace
repeat replace reverse right round row rpad rtrim sha224 sha256 sha384 sha512 signum sin sinh
split_part sqrt starts_with string_to_array string_to_list strpos struct substr substr_index
substring substring_index tan tanh to_char to_date to_hex to_local_time to_time to_timestamp
to_timestamp_micros to_timestamp_millis to_timestamp_nanos to_timestamp_seconds to_unixtime today
translate trim trunc try_cast_to_type union_extract union_tag upper uuid version with_metadata
"""


def complaint(text):
    with pytest.raises(leman.LemanError) as caught:
        leman.evaluate(text, ROWS.to_batches()[0])
    return str(caught.value)


@pytest.mark.parametrize("name", DOCUMENTED.split())
def test_documented_functions_are_known_or_refused_with_a_reason(name):
    text = complaint(f"{name}(" + ", ".join(["1"] * 300) + ")")
    assert f"{name}() takes" in text or f"there is no function {name}(): " in text, text


def test_random_values_are_values_and_no_conditions(tmp_path):
    table = leman.create(tmp_path / "rows.lance", {"n": list(range(5000))})
    table.add_columns({"draw": "random()", "name": "uuid()"})
    rows = table.to_arrow()
    draws, names = rows["draw"].to_pylist(), rows["name"].to_pylist()
    assert len(set(draws)) == len(set(names)) == 5000
    assert all(0 <= draw < 1 for draw in draws) and 0.4 < sum(draws) / 5000 < 0.6
    assert {(len(name), name[14], name[19] in "89ab") for name in names} == {(36, "4", True)}
    with pytest.raises(
        leman.LemanError, match=r"random\(\) in a condition would choose other rows"
    ):
        table.count_rows("random() < 0.5")


def test_structs_are_columns(tmp_path):
    table = leman.create(tmp_path / "rows.lance", {"n": [1, 2], "s": ["a", None]})
    table.add_columns({"pair": "named_struct('n', n, 's', s)"})
    assert lance.dataset(tmp_path / "rows.lance").to_table(["pair"])["pair"].to_pylist() == [
        {"n": 1, "s": "a"},
        {"n": 2, "s": None},
    ]
    assert table.count_rows("pair.n = 2 and pair['s'] is null") == 1
