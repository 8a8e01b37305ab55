"""Datasets of a catalog in `ms.sql`: which version a query reads, and what is rejected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.engine.joins import moment

import millstream as ms
from millstream.connectors.memory import MemoryStream
from millstream.errors import CatalogError, MillstreamError, PlanError, SqlError

DEFINITIONS = """
datasets:
  - name: fx
    main_table: {columns: {currency: STRING, rate: DOUBLE}}
  - name: rates
    main_table: {columns: {currency: STRING, rate: DOUBLE, since: TIMESTAMP}}
"""
PRICED = "SELECT o.n, fx.rate FROM orders o JOIN CATALOG.fx{version} ON o.k = fx.currency"
AS_OF = """
CREATE TABLE r (
  currency STRING, rate DOUBLE, since TIMESTAMP,
  PRIMARY KEY (currency), WATERMARK FOR since AS since
) WITH ('catalog.dataset' = 'rates'{version});
SELECT o.n, r.rate FROM orders o JOIN r FOR SYSTEM_TIME AS OF o.t ON o.k = r.currency
"""


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[ms.Catalog]:
    (tmp_path / "definitions").mkdir()
    (tmp_path / "definitions/all.yaml").write_text(DEFINITIONS)
    with ms.Catalog.open(tmp_path / "catalog.db") as made:
        made.apply(tmp_path / "definitions")
        publish(made, tmp_path, 1.5)
        yield made


def publish(catalog: ms.Catalog, folder: Path, rate: float) -> None:
    """Publishes a version of fx with one rate, and of rates with two times its value later on."""
    fx, rates = folder / f"fx-{rate}.csv", folder / f"rates-{rate}.csv"
    fx.write_text(f"currency,rate\nEUR,{rate}\n")
    later = f"EUR,{2 * rate},{moment(10).isoformat()}\nEUR,0,{moment(100).isoformat()}\n"
    rates.write_text(f"currency,rate,since\nEUR,{rate},{moment(0).isoformat()}\n{later}")
    catalog.publish("fx", fx)
    catalog.publish("rates", rates)


def orders(spark: SparkSession, *numbers: int) -> MemoryStream:
    made = MemoryStream(spark, "k string, n bigint, t timestamp")
    add(made, *numbers)
    return made


def add(made: MemoryStream, *numbers: int) -> None:
    made.add([{"k": "EUR", "n": n, "t": moment(n)} for n in numbers])


def named(made: MemoryStream) -> ms.Stream:
    return ms.stream(made.frame(), time="t", name="orders")


def run(stream: ms.Stream, folder: Path, **options: Any) -> ms.StreamRun:
    options = {"once": True, **options}
    done = stream.write(folder / "out", checkpoint=folder / "checkpoint", **options)
    assert done.wait(120)
    return done


def written(folder: Path) -> list[tuple[int, float]]:
    files = (folder / "out").glob("*.json")
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return sorted((row["n"], row["rate"]) for row in rows)


def recorded(folder: Path) -> Any:
    return json.loads((folder / "checkpoint/catalog.json").read_text())


def frame_rows(stream: ms.Stream, name: str) -> list[tuple[Any, ...]]:
    query = stream.to_df().writeStream.format("memory").queryName(name).start()
    query.processAllAvailable()
    query.stop()
    return sorted(tuple(row) for row in stream_table(query, name))


def stream_table(query: Any, name: str) -> list[Any]:
    assert query.exception() is None
    return SparkSession.active().table(name).collect()


def test_a_restart_reads_the_version_that_the_checkpoint_contains(
    spark: SparkSession, tmp_path: Path, catalog: ms.Catalog
) -> None:
    made = orders(spark, 1)
    run(ms.sql(PRICED.format(version=""), orders=named(made), catalog=catalog), tmp_path)
    publish(catalog, tmp_path, 7.0)
    add(made, 2)
    planned_anew = ms.sql(PRICED.format(version=""), orders=named(made), catalog=catalog)
    catalog.close()
    run(planned_anew, tmp_path)
    assert written(tmp_path) == [(1, 1.5), (2, 1.5)]
    assert recorded(tmp_path) == {"chosen": {"fx": 1}, "pinned": {}}
    (tmp_path / "new").mkdir()
    run(planned_anew, tmp_path / "new")
    assert written(tmp_path / "new") == [(1, 7.0), (2, 7.0)]
    assert recorded(tmp_path / "new") == {"chosen": {"fx": 2}, "pinned": {}}


def test_another_version_that_the_text_names_is_used_with_a_warning(
    spark: SparkSession, tmp_path: Path, catalog: ms.Catalog
) -> None:
    publish(catalog, tmp_path, 7.0)
    made = orders(spark, 1)
    path = tmp_path / "catalog.db"
    first = PRICED.format(version=" FOR VERSION AS OF 1")
    assert run(ms.sql(first, orders=named(made), catalog=path), tmp_path).warnings == []
    assert recorded(tmp_path) == {"chosen": {}, "pinned": {"fx": [1]}}
    add(made, 2)
    second = first.replace("OF 1", "OF 2")
    warnings = run(ms.sql(second, orders=named(made), catalog=str(path)), tmp_path).warnings
    assert warnings == [
        "The job now reads version 2 of the dataset fx; before, it has read version 1.",
        "changed     result, from batch 1 on: output input table name: "
        "CATALOG.fx.v1 -> CATALOG.fx.v2",
    ]
    assert written(tmp_path) == [(1, 1.5), (2, 7.0)]


def test_the_rates_valid_at_the_time_of_a_row_keep_their_version(
    spark: SparkSession, tmp_path: Path, catalog: ms.Catalog
) -> None:
    made = orders(spark, 1, 11)
    text = AS_OF.format(version="")
    run(ms.sql(text, orders=named(made), catalog=catalog), tmp_path)
    publish(catalog, tmp_path, 7.0)
    add(made, 12)
    run(ms.sql(text, orders=named(made), catalog=catalog), tmp_path, flush=True)
    assert written(tmp_path) == [(1, 1.5), (11, 3.0), (12, 3.0)]
    assert recorded(tmp_path) == {"chosen": {"rates": 1}, "pinned": {}}


def test_a_data_frame_reads_datasets_in_the_version_of_the_stream(
    spark: SparkSession, tmp_path: Path, catalog: ms.Catalog, monkeypatch
) -> None:
    monkeypatch.setenv("MILLSTREAM_CATALOG", str(tmp_path / "catalog.db"))
    made = orders(spark, 1, 11, 50)
    priced = ms.sql(PRICED.format(version=""), orders=named(made))
    as_of = ms.sql(AS_OF.format(version=", 'catalog.version' = '1'"), orders=named(made))
    publish(catalog, tmp_path, 7.0)
    assert frame_rows(priced, "priced") == [(1, 1.5), (11, 1.5), (50, 1.5)]
    assert frame_rows(as_of, "as_of") == [(1, 1.5), (11, 3.0)]  # the watermark is that of 50


def test_a_query_of_several_texts_reads_one_version(
    spark: SparkSession, tmp_path: Path, catalog: ms.Catalog
) -> None:
    source = named(orders(spark, 1))
    text = "SELECT o.k, o.n, o.t, fx.rate FROM o JOIN CATALOG.fx ON o.k = fx.currency"
    first = ms.sql(text, o=source, catalog=catalog)
    publish(catalog, tmp_path, 7.0)
    second = ms.sql(text, o=source, catalog=catalog)
    chained = ms.sql(text.replace("fx.rate", "o.rate, fx.rate AS again"), o=first, catalog=catalog)
    joined = first.interval_join(second, on="n", lower="0s", upper="1s").select(
        "n", "rate", "rate_right"
    )
    assert paths(first) == paths(chained) == paths(joined) == {str(tmp_path / "fx-1.5.csv")}
    assert paths(second) == {str(tmp_path / "fx-7.0.csv")}


def paths(stream: ms.Stream) -> set[str]:
    text = json.dumps(stream.explain(json=True))
    return {part for part in text.replace('"', " ").split() if part.endswith(".csv")}


def test_two_catalogs_in_one_query_are_rejected(
    spark: SparkSession, tmp_path: Path, catalog: ms.Catalog
) -> None:
    with ms.Catalog.open(tmp_path / "other.db") as other:
        other.apply(tmp_path / "definitions")
        other.publish("fx", tmp_path / "fx-1.5.csv")
    text = "SELECT o.k, o.n, o.t, fx.rate FROM o JOIN CATALOG.fx ON o.k = fx.currency"
    source = named(orders(spark))
    one = ms.sql(text, o=source, catalog=catalog)
    another = ms.sql(text, o=source, catalog=tmp_path / "other.db")
    with pytest.raises(PlanError, match=r"MS-PLAN-CATALOG: .*two catalogs: .*catalog\.db and .*"):
        one.interval_join(another, on="n", lower="0s", upper="1s")


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("SELECT o.n FROM orders o\nJOIN CATALOG.fy ON o.k = fy.currency", "MS-CATALOG-UNKNOWN", 2),
        (PRICED.format(version=" FOR VERSION AS OF 9"), "MS-CATALOG-UNKNOWN", 1),
        (PRICED.format(version=" FOR SYSTEM_TIME AS OF o.t"), "MS-PLAN-CATALOG", 1),
        (AS_OF.format(version="").replace(" r ", " orders "), "MS-PLAN-DUPLICATE-NAME", 2),
        ("CREATE TABLE r (a STRING) WITH ('connector' = 'memory');\nSELECT n FROM orders",
         "MS-SQL-STATEMENT", 2),
    ],
)  # fmt: skip
def test_a_mistake_is_an_error_at_its_place(
    spark: SparkSession, catalog: ms.Catalog, text: str, code: str, place: int
) -> None:
    with pytest.raises(MillstreamError) as caught:
        ms.sql(text, orders=named(orders(spark)), catalog=catalog)
    assert caught.value.code == code
    assert caught.value.place is not None
    assert caught.value.place.line == place


def test_a_catalog_that_does_not_exist_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    source = named(orders(spark))
    with pytest.raises(CatalogError, match=r"none\.db") as caught:
        ms.sql(PRICED.format(version=""), orders=source, catalog=tmp_path / "none.db")
    assert caught.value.place is not None
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(PlanError, match=r"MS-PLAN-CATALOG: `catalog` is a path.*not a Stream"):
        ms.sql("SELECT n FROM catalog", catalog=source)


def test_a_stream_and_a_table_of_one_name_are_rejected(
    spark: SparkSession, catalog: ms.Catalog
) -> None:
    source = ms.stream(orders(spark).frame(), time="t", name="r")
    stream = ms.sql(AS_OF.format(version=""), orders=source, catalog=catalog)
    with pytest.raises(PlanError, match=r"MS-PLAN-DUPLICATE-NAME at line 2.*have the name r"):
        stream.explain()


def test_an_empty_text_is_rejected() -> None:
    with pytest.raises(SqlError, match="MS-SQL-STATEMENT"):
        ms.sql("")
