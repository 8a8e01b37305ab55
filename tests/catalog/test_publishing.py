"""Files become the content of a version: columns, rows, hashes; and what is rejected."""

from __future__ import annotations

import gzip
import hashlib
import os
import sqlite3
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.services.postgres import USER, Postgres

from millstream.catalog.model import Column, DataFormat, Dataset, Table, TemporalMode
from millstream.catalog.publishing.prepare import prepare
from millstream.errors import CatalogError

RATES = (Column("currency", "string"), Column("rate", "decimal(18,6)"))
FX = Dataset(uuid4(), "fx", Table("rates", RATES))
CSV = "currency,rate\nEUR,1.08\nGBP,1.27\n"
JSON = '{"currency":"EUR","rate":"1.08"}\n{"currency":"GBP","rate":1.27}\n'
DEFAULTS = {
    "header": "true",
    "delimiter": ",",
    "quote": '"',
    "escape": '"',
    "encoding": "utf-8",
    "multiline": "false",
}


def _csv(tmp_path: Path, text: str = CSV, name: str = "fx.csv") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _parquet(path: Path, rate: pa.DataType | None = None, **more: pa.Array) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rates = pa.array([1, 2], pa.int8()).cast(rate or pa.decimal128(18, 6))
    pq.write_table(pa.table({"currency": ["EUR", "GBP"], "rate": rates, **more}), path)
    return path


def _rejected(location: Path | str, dataset: Dataset = FX, **more: object) -> CatalogError:
    with pytest.raises(CatalogError) as error:
        prepare(dataset, str(location), **more)  # type: ignore[arg-type]
    return error.value


def test_a_csv_file_is_described_completely(tmp_path: Path):
    path = _csv(tmp_path)
    content, files = prepare(FX, str(path), note="January")
    assert (content.format, content.location) == (DataFormat.CSV, str(path))
    assert (content.schema, content.row_count, content.note) == (RATES, 2, "January")
    assert content.options == DEFAULTS
    assert content.content_hash is not None
    (file,) = files
    assert (file.path, file.size, file.modified_ns) == ("", len(CSV), path.stat().st_mtime_ns)
    assert file.sha256 == hashlib.sha256(CSV.encode()).hexdigest()


def test_a_parquet_folder_has_the_columns_of_its_files(tmp_path: Path):
    more = {"source": pa.array(["ecb", None])}
    _parquet(tmp_path / "v1" / "a.parquet", **more)
    _parquet(tmp_path / "v1" / "sub" / "b.parquet", **more)
    (tmp_path / "v1" / "_SUCCESS").touch()
    (tmp_path / "v1" / ".b.parquet.crc").touch()
    content, files = prepare(FX, str(tmp_path / "v1"))
    assert content.schema == (*RATES, Column("source", "string"))
    assert (content.row_count, content.options) == (4, {})
    assert [file.path for file in files] == ["a.parquet", "sub/b.parquet"]


def test_json_lines_have_the_declared_columns(tmp_path: Path):
    content, _ = prepare(FX, str(_csv(tmp_path, JSON, "fx.jsonl")))
    assert (content.format, content.schema, content.row_count) == (DataFormat.JSON, RATES, 2)


def test_compressed_csv_files_are_read(tmp_path: Path):
    path = tmp_path / "fx.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    content, _ = prepare(FX, str(path))
    assert (content.format, content.row_count) == (DataFormat.CSV, 2)


def test_the_columns_of_csv_are_recorded_in_the_order_of_the_file(tmp_path: Path):
    path = _csv(tmp_path, "note;RATE;currency\nx;1.5;EUR\n")
    content, _ = prepare(FX, str(path), options={"delimiter": ";"})
    assert content.schema == (Column("note", "string"), RATES[1], RATES[0])
    assert content.options == {**DEFAULTS, "delimiter": ";"}


def test_csv_without_header_has_the_declared_columns(tmp_path: Path):
    content, _ = prepare(FX, str(_csv(tmp_path, "EUR,1.08\n")), options={"header": "false"})
    assert (content.schema, content.row_count) == (RATES, 1)


def test_relative_paths_begin_at_the_base(tmp_path: Path):
    _csv(tmp_path)
    content, _ = prepare(FX, "fx.csv", base=tmp_path)
    assert content.location == str(tmp_path / "fx.csv")


def test_the_hash_depends_on_content_not_on_where_or_when(tmp_path: Path):
    one, other = _csv(tmp_path / "a"), _csv(tmp_path / "b", name="copy.csv")
    os.utime(other, (1, 1))
    hashes = [prepare(FX, str(path))[0].content_hash for path in (one, other)]
    assert hashes[0] == hashes[1]
    other.write_text(CSV + "JPY,0.0067\n")
    assert prepare(FX, str(other))[0].content_hash != hashes[0]


def test_the_hash_depends_on_names_in_a_folder_options_and_types(tmp_path: Path):
    _csv(tmp_path / "v", name="2026-01.csv")
    first = prepare(FX, str(tmp_path / "v"))[0].content_hash
    (tmp_path / "v" / "2026-01.csv").rename(tmp_path / "v" / "2026-02.csv")
    second = prepare(FX, str(tmp_path / "v"))[0].content_hash
    third = prepare(FX, str(tmp_path / "v"), options={"multiline": "true"})[0].content_hash
    doubles = Table("rates", (RATES[0], Column("rate", "double")))
    fourth = prepare(replace(FX, table=doubles), str(tmp_path / "v"))[0].content_hash
    assert len({first, second, third, fourth}) == 4


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("currency,rat\nEUR,1\n", "MS-CATALOG-COLUMNS", "has no column rate, which fx declares"),
        ("currency,rate\nEUR,x\n", "MS-CATALOG-ROWS", "column rate: 'x' is not a DECIMAL(18,6)"),
        ("currency,rate\nEUR\n", "MS-CATALOG-ROWS", "line 2"),
        ("currency,rate,Rate\nEUR,1,1\n", "MS-CATALOG-COLUMNS", "the column rate more than once"),
        ("", "MS-CATALOG-COLUMNS", "is empty and has no header"),
    ],
)
def test_csv_that_does_not_fit_is_rejected_with_its_place(tmp_path, text, code, words):
    error = _rejected(_csv(tmp_path, text))
    assert error.code == code
    assert words in error.cause
    assert "fx.csv" in error.cause
    assert error.fix


def test_a_missing_column_suggests_the_nearest_name(tmp_path: Path):
    assert _rejected(_csv(tmp_path, "currency,rat\nEUR,1\n")).fix == "Did you mean rat?"


@pytest.mark.parametrize(
    ("kind", "value", "accepted"),
    [
        ("decimal(18,6)", " 1.08 ", False),
        ("decimal(18,6)", "\t1.08", False),
        ("decimal(18,6)", "+1.5e2", True),
        ("int", " 1", False),
        ("int", "0x1F", False),
        ("int", "-1", True),
        ("int", "", True),
        ("boolean", "true ", False),
        ("boolean", "True", True),
        ("double", " 1.5 ", True),
        ("double", "-.5", True),
        ("double", "inf", False),
        ("double", "nan", False),
        ("double", "-Inf", True),
        ("double", "-Infinity", True),
        ("double", "NaN", True),
        ("string", " 1.08 ", True),
        ("date", " 2026-01-01 ", True),
    ],
)
def test_values_of_csv_that_spark_does_not_read_are_rejected(tmp_path, kind, value, accepted):
    """`test_values_of_csv_that_can_be_published_are_read` reads those that are accepted."""
    dataset = replace(FX, table=Table("t", (Column("a", "string"), Column("b", kind))))
    path = _csv(tmp_path, f"a,b\nx,\ny,{value}\n")
    if accepted:
        assert prepare(dataset, str(path))[0].row_count == 2
    else:
        error = _rejected(path, dataset)
        assert error.code == "MS-CATALOG-ROWS"
        assert f"{value!r} is not a" in error.cause


def test_a_value_that_spark_does_not_read_is_shown_with_its_record(tmp_path: Path):
    error = _rejected(_csv(tmp_path, CSV + "CHF, 1.1\n"))
    assert "fx.csv, record 3: column rate: ' 1.1' is not a DECIMAL(18,6)" in error.cause
    assert "without spaces" in error.fix


@pytest.mark.parametrize(
    ("given", "recorded"),
    [("latin-1", "iso-8859-1"), ("UTF8", "utf-8"), ("ascii", "us-ascii"), ("L1", "iso-8859-1")],
)
def test_encodings_are_recorded_by_the_names_of_spark(tmp_path: Path, given, recorded):
    content, _ = prepare(FX, str(_csv(tmp_path)), options={"encoding": given})
    assert content.options["encoding"] == recorded


def test_json_that_does_not_fit_is_rejected_with_its_line(tmp_path: Path):
    error = _rejected(_csv(tmp_path, JSON + "{not json\n", "fx.json"))
    assert error.code == "MS-CATALOG-ROWS"
    assert "line 3" in error.cause


@pytest.mark.parametrize(
    ("record", "cause", "fix"),
    [
        ('{"currency":"CHF","rte":1}', "line 3: the key rte is not a column", "mean rate?"),
        ('{"CURRENCY":"CHF","rate":1}', "line 3: the key CURRENCY is not a col", "mean currency?"),
        ('{"RATE":1}', "line 3: the key RATE is not a column of fx.", "mean rate?"),
    ],
)
def test_an_unknown_key_of_json_is_rejected_as_spark_would_ignore_it(tmp_path, record, cause, fix):
    error = _rejected(_csv(tmp_path, f"{JSON}{record}\n", "fx.json"))
    assert error.code == "MS-CATALOG-COLUMNS"
    assert f"fx.json, {cause}" in error.cause
    assert error.fix.endswith(fix)


def test_an_unknown_key_inside_of_a_value_is_rejected(tmp_path: Path):
    kinds = {"legs": "array<struct<rate:int>>", "tags": "map<string,struct<n:int>>"}
    table = Table("t", tuple(Column(name, kind) for name, kind in kinds.items()))
    good = '{"legs":[{"rate":1},null],"tags":{"any":{"n":1}}}\n'
    dataset = replace(FX, table=table)
    assert prepare(dataset, str(_csv(tmp_path, good, "a.json")))[0].row_count == 1
    for name, words in (("rate", "legs.rat is not"), ("n", "tags.any.N is not")):
        wrong = good.replace(f'"{name}"', '"rat"' if name == "rate" else '"N"')
        error = _rejected(_csv(tmp_path, good * 2 + wrong, "b.json"), dataset)
        assert f"line 3: the key {words} a column" in error.cause
        assert error.fix == f"Did you mean {name}?"


def test_a_column_that_no_json_record_has_is_rejected(tmp_path: Path):
    _csv(tmp_path, '{"currency":"EUR"}\n', "v/a.json")
    error = _rejected(tmp_path / "v")
    assert error.code == "MS-CATALOG-COLUMNS"
    assert "/v has the key rate, which fx declares." in error.cause
    assert "with null if there is no value" in error.fix
    _csv(tmp_path, '\ufeff{"currency":"GBP","rate":null}\n', "v/b.json")
    assert prepare(FX, str(tmp_path / "v"))[0].row_count == 2


def test_a_decimal_of_json_with_spaces_is_rejected_as_spark_does(tmp_path: Path):
    error = _rejected(_csv(tmp_path, JSON.replace('"1.08"', '" 1.08"'), "fx.json"))
    assert error.code == "MS-CATALOG-ROWS"
    assert "line 1: column rate: ' 1.08' is not a DECIMAL(18,6)" in error.cause


def test_a_folder_may_give_the_value_of_a_column_of_json(tmp_path: Path):
    _csv(tmp_path, '{"rate":1.5}\n', "v/currency=EUR/a.json")
    assert prepare(FX, str(tmp_path / "v"))[0].row_count == 1


def test_the_line_of_an_unknown_key_is_right_in_a_large_file(tmp_path: Path):
    many = JSON.splitlines()[0] + "\n"
    lines = (5 << 20) // len(many)  # more than one block
    error = _rejected(_csv(tmp_path, many * lines + '{"rte":1}\n', "fx.json"))
    assert f"line {lines + 1}: the key rte" in error.cause


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (pa.float64(), "the column rate of .* is double; fx declares decimal"),
        (pa.int64(), "is bigint; fx declares"),
    ],
)
def test_parquet_of_other_types_is_rejected(tmp_path: Path, rate, words):
    path = _parquet(tmp_path / "fx.parquet", rate)
    with pytest.raises(CatalogError, match=words) as error:
        prepare(FX, str(path))
    assert error.value.code == "MS-CATALOG-COLUMNS"


def test_parquet_that_spark_cannot_read_is_rejected(tmp_path: Path):
    path = _parquet(tmp_path / "fx.parquet", t=pa.array([1, 2], pa.timestamp("ns")))
    error = _rejected(path)
    assert error.code == "MS-CATALOG-COLUMNS"
    assert "the column t of" in error.cause
    assert "timestamp[us]" in error.fix


def test_files_with_different_columns_are_rejected(tmp_path: Path):
    _parquet(tmp_path / "v" / "a.parquet")
    _parquet(tmp_path / "v" / "b.parquet", extra=pa.array([1, 2]))
    error = _rejected(tmp_path / "v")
    assert error.code == "MS-CATALOG-COLUMNS"
    assert "extra (bigint); those of" in error.cause


def test_a_damaged_parquet_file_is_rejected(tmp_path: Path):
    path = _parquet(tmp_path / "fx.parquet")
    path.write_bytes(path.read_bytes()[:-9])
    error = _rejected(path)
    assert error.code == "MS-CATALOG-ROWS"
    assert "is not a whole Parquet file" in error.cause


def test_the_columns_of_the_temporal_mode_must_be_there(tmp_path: Path):
    monthly = replace(FX, table=Table("rates", RATES, TemporalMode.PERIOD))
    assert "has no column _period" in _rejected(_csv(tmp_path), monthly).cause
    content, _ = prepare(monthly, str(_csv(tmp_path, "currency,rate,_period\nEUR,1.08,2026-01\n")))
    assert content.schema == (*RATES, Column("_period", "string"))


@pytest.mark.parametrize(
    ("make", "code", "words"),
    [
        ([], "MS-CATALOG-LOCATION", "it does not exist"),
        (["_hidden"], "MS-CATALOG-LOCATION", "it contains no files"),
        (["a.csv", "b.parquet"], "MS-CATALOG-FORMAT", "different or unknown suffixes"),
        (["a.txt"], "MS-CATALOG-FORMAT", "different or unknown suffixes"),
    ],
)
def test_a_location_without_files_of_one_format_is_rejected(tmp_path, make, code, words):
    for name in make:
        _csv(tmp_path, name=f"v/{name}")
    error = _rejected(tmp_path / "v")
    assert error.code == code
    assert words in error.cause


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delimter": ";"}, "the format csv has no option delimter."),
        ({"delimiter": ";;"}, "the option delimiter is ';;'."),
        ({"header": "yes"}, "the option header is 'yes'."),
        ({"encoding": "utf-99"}, "Spark does not read files in the encoding 'utf-99'."),
        ({"encoding": "utf-16"}, "Spark does not read files in the encoding 'utf-16'."),
        ({"encoding": "cp1252"}, "Spark does not read files in the encoding 'cp1252'."),
        ({"encoding": "base64"}, "Spark does not read files in the encoding 'base64'."),
        ({"delimiter": '"'}, "the delimiter is also the quote"),
    ],
)
def test_options_that_do_not_exist_are_rejected(tmp_path, options, words):
    error = _rejected(_csv(tmp_path), options=options)
    assert error.code == "MS-CATALOG-FORMAT"
    assert words in error.cause


def test_a_file_that_changes_while_it_is_read_is_rejected(tmp_path: Path, monkeypatch):
    path = _csv(tmp_path)

    def growing() -> object:
        path.write_text(CSV + "JPY,1\n")
        return hashlib.new("sha256")

    monkeypatch.setattr("millstream.catalog.publishing.files.hashlib.sha256", growing)
    error = _rejected(path)
    assert error.code == "MS-CATALOG-LOCATION"
    assert "changed while it was read" in error.cause


def _database(tmp_path: Path, *statements: str) -> str:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        for each in statements:
            connection.execute(each)
    connection.close()
    return f"jdbc:sqlite:{tmp_path / 'shop.db'}"


def test_a_table_of_a_database_is_not_reproducible(tmp_path: Path):
    url = _database(tmp_path, "CREATE TABLE fx (CURRENCY TEXT, rate NUMERIC, note)")
    content, files = prepare(FX, url, options={"table": "fx"})
    assert (content.format, content.schema, files) == (DataFormat.JDBC, RATES, ())
    assert not content.reproducible
    assert content.database_columns == (
        Column("CURRENCY", "TEXT"),
        Column("rate", "NUMERIC"),
        Column("note", "any"),
    )


def test_all_differences_of_a_table_are_listed(tmp_path: Path):
    url = _database(tmp_path, "CREATE TABLE fx (currency INTEGER, rates REAL)")
    error = _rejected(url, options={"table": "fx"})
    assert error.code == "MS-CATALOG-COLUMNS"
    assert error.cause == (
        "the table fx does not have the columns of fx:"
        "\n  ~ column currency string: it is INTEGER in the database"
        "\n  - column rate decimal(18,6): the table has no such column"
    )
    assert error.fix


def test_a_table_that_does_not_exist_is_rejected(tmp_path: Path):
    url = _database(tmp_path, "CREATE TABLE fy (currency TEXT, rate REAL)")
    error = _rejected(url, options={"table": "fx"})
    assert error.code == "MS-CATALOG-LOCATION"
    assert "the database has no table fx" in error.cause
    assert error.fix == "Known: fy."


def test_the_key_of_a_table_is_checked(tmp_path: Path):
    dataset = replace(FX, table=Table("rates", RATES, TemporalMode.BITEMPORAL, ("currency",)))
    columns = "currency TEXT, rate REAL, _period_from TEXT, _period_to TEXT"
    one = "INSERT INTO fx VALUES ('EUR', 1.5, '2026-01-01', NULL)"
    url = _database(tmp_path, f"CREATE TABLE fx ({columns})", one)
    assert prepare(dataset, url, options={"table": "fx"})[0].key == ("currency",)
    _database(tmp_path, one.replace("2026-01-01", "2026-02-01"))
    error = _rejected(url, dataset, options={"table": "fx"})
    assert error.code == "MS-CATALOG-KEY-DUPLICATE"
    assert error.cause.endswith("\n  currency = 'EUR': [2026-01-01, open) and [2026-02-01, open)")


@pytest.mark.service
def test_a_table_of_postgresql_is_checked(postgres: Postgres, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGUSER", USER)
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    postgres.run("CREATE TABLE fx_checked (currency varchar(3), rate numeric(18,6), more json)")
    url = f"jdbc:{postgres.url}"
    content, _ = prepare(FX, url, options={"table": "fx_checked"})
    assert content.database_columns == (
        Column("currency", "character varying(3)"),
        Column("rate", "numeric(18,6)"),
        Column("more", "json"),
    )
    postgres.run("CREATE TABLE fx_other (rate text)")
    assert _rejected(url, options={"table": "fx_other"}).cause.splitlines()[1:] == [
        "  - column currency string: the table has no such column",
        "  ~ column rate decimal(18,6): it is text in the database",
    ]


def test_a_folder_may_have_the_name_of_a_column_with_token(tmp_path: Path):
    path = _csv(tmp_path, name="token_id=3/fx.csv")
    assert prepare(FX, str(path))[0].row_count == 2


def test_a_table_of_a_database_needs_its_name():
    assert "no table is named" in _rejected("jdbc:postgresql://db/shop").cause


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://me:hunter2@db/shop",
        "jdbc:postgresql://db/shop?user=me&password=hunter2",
        "jdbc:postgresql://db/shop?PASSWORD=hunter2",
        "jdbc:postgresql://db/shop?pwd=hunter2",
        "jdbc:postgresql://db/shop?user=me&pass=hunter2",
        "s3://bucket/fx.csv?access_key=hunter2",
        "https://store/fx.csv?sv=1&sig=hunter2",
        "s3://key:hunter2@bucket/fx",
    ],
)
def test_a_location_with_a_password_is_rejected_without_showing_it(url: str):
    error = _rejected(url, options={"table": "fx"})
    assert error.code == "MS-CATALOG-SECRET"
    assert "hunter2" not in str(error)


def test_the_path_of_a_sqlite_database_is_absolute(tmp_path: Path):
    _database(tmp_path, "CREATE TABLE fx (currency TEXT, rate REAL)")
    content, _ = prepare(FX, "jdbc:sqlite:shop.db", options={"table": "fx"}, base=tmp_path)
    assert content.location == f"jdbc:sqlite:{tmp_path / 'shop.db'}"


@pytest.mark.parametrize(
    ("url", "cause"),
    [
        ("jdbc:mysql://db/shop", "not the URL of a supported database"),
        ("jdbc:nonsense", "not the URL of a supported database"),
        ("jdbc:postgresql://[x", "cannot be read"),
        ("jdbc:sqlite:/nowhere/shop.db", "it is not a file"),
    ],
)
def test_a_database_that_cannot_be_read_is_rejected(url: str, cause: str):
    with pytest.raises(CatalogError, match=cause) as error:
        prepare(FX, url, options={"table": "fx"})
    assert error.value.code == "MS-CATALOG-LOCATION"
