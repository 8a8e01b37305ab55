"""Files become the content of a version: format, options, columns, rows, hashes."""

from __future__ import annotations

import gzip
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from tests.catalog.publishing.samples import (
    CSV,
    DEFAULTS,
    FX,
    JSON,
    RATES,
    rejected,
    write_csv,
    write_parquet,
)

from millstream.catalog.model import Column, DataFormat, Table
from millstream.catalog.publishing.prepare import prepare


def test_a_csv_file_is_described_completely(tmp_path: Path):
    path = write_csv(tmp_path)
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
    write_parquet(tmp_path / "v1" / "a.parquet", **more)
    write_parquet(tmp_path / "v1" / "sub" / "b.parquet", **more)
    (tmp_path / "v1" / "_SUCCESS").touch()
    (tmp_path / "v1" / ".b.parquet.crc").touch()
    content, files = prepare(FX, str(tmp_path / "v1"))
    assert content.schema == (*RATES, Column("source", "string"))
    assert (content.row_count, content.options) == (4, {})
    assert [file.path for file in files] == ["a.parquet", "sub/b.parquet"]


def test_json_lines_have_the_declared_columns(tmp_path: Path):
    content, _ = prepare(FX, str(write_csv(tmp_path, JSON, "fx.jsonl")))
    assert (content.format, content.schema, content.row_count) == (DataFormat.JSON, RATES, 2)


def test_compressed_csv_files_are_read(tmp_path: Path):
    path = tmp_path / "fx.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    content, _ = prepare(FX, str(path))
    assert (content.format, content.row_count) == (DataFormat.CSV, 2)


def test_the_columns_of_csv_are_recorded_in_the_order_of_the_file(tmp_path: Path):
    path = write_csv(tmp_path, "note;RATE;currency\nx;1.5;EUR\n")
    content, _ = prepare(FX, str(path), options={"delimiter": ";"})
    assert content.schema == (Column("note", "string"), RATES[1], RATES[0])
    assert content.options == {**DEFAULTS, "delimiter": ";"}


def test_csv_without_header_has_the_declared_columns(tmp_path: Path):
    content, _ = prepare(FX, str(write_csv(tmp_path, "EUR,1.08\n")), options={"header": "false"})
    assert (content.schema, content.row_count) == (RATES, 1)


def test_relative_paths_begin_at_the_base(tmp_path: Path):
    write_csv(tmp_path)
    content, _ = prepare(FX, "fx.csv", base=tmp_path)
    assert content.location == str(tmp_path / "fx.csv")


def test_the_hash_depends_on_content_not_on_where_or_when(tmp_path: Path):
    one, other = write_csv(tmp_path / "a"), write_csv(tmp_path / "b", name="copy.csv")
    os.utime(other, (1, 1))
    hashes = [prepare(FX, str(path))[0].content_hash for path in (one, other)]
    assert hashes[0] == hashes[1]
    other.write_text(CSV + "JPY,0.0067\n")
    assert prepare(FX, str(other))[0].content_hash != hashes[0]


def test_the_hash_depends_on_names_in_a_folder_options_and_types(tmp_path: Path):
    write_csv(tmp_path / "v", name="2026-01.csv")
    first = prepare(FX, str(tmp_path / "v"))[0].content_hash
    (tmp_path / "v" / "2026-01.csv").rename(tmp_path / "v" / "2026-02.csv")
    second = prepare(FX, str(tmp_path / "v"))[0].content_hash
    third = prepare(FX, str(tmp_path / "v"), options={"multiline": "true"})[0].content_hash
    doubles = Table("rates", (RATES[0], Column("rate", "double")))
    fourth = prepare(replace(FX, table=doubles), str(tmp_path / "v"))[0].content_hash
    assert len({first, second, third, fourth}) == 4


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
        write_csv(tmp_path, name=f"v/{name}")
    error = rejected(tmp_path / "v")
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
    error = rejected(write_csv(tmp_path), options=options)
    assert error.code == "MS-CATALOG-FORMAT"
    assert words in error.cause


def test_a_file_that_changes_while_it_is_read_is_rejected(tmp_path: Path, monkeypatch):
    path = write_csv(tmp_path)

    def growing() -> object:
        path.write_text(CSV + "JPY,1\n")
        return hashlib.new("sha256")

    monkeypatch.setattr("millstream.catalog.publishing.files.hashlib.sha256", growing)
    error = rejected(path)
    assert error.code == "MS-CATALOG-LOCATION"
    assert "changed while it was read" in error.cause


def test_a_folder_may_have_the_name_of_a_column_with_token(tmp_path: Path):
    path = write_csv(tmp_path, name="token_id=3/fx.csv")
    assert prepare(FX, str(path))[0].row_count == 2
