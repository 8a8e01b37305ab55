"""Hot keys: the ledger names them, and a salted join gives the same rows."""

from __future__ import annotations

import pytest
from tests.run.trial import Trial

from millstream.observe.ledger_text import format_ledger

SQL = """
CREATE SOURCE orders (id BIGINT, shop STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/orders', 'format' = 'csv');
CREATE SOURCE visits (id BIGINT, shop STRING, at TIMESTAMP, WATERMARK FOR at AS at)
  WITH ('connector' = 'file', 'path' = 'in/visits', 'format' = 'csv');
CREATE SINK out WITH ('connector' = 'file', 'path' = 'out', 'format' = 'csv') AS
SELECT o.id, v.id AS visit FROM orders o LEFT JOIN visits v
  ON o.shop = v.shop AND v.at BETWEEN o.at AND o.at + INTERVAL 2 SECONDS{salt};
"""


def made(spark, folder, salt=""):
    trial = Trial(spark, folder, SQL.format(salt=salt))
    for source, ahead in (("orders", 0), ("visits", 1)):
        rows = [
            f"{n},{'mall' if n % 5 else f's{n}'},2026-01-15T{10 + (n + ahead) // 3600:02d}:"
            f"{(n + ahead) // 60 % 60:02d}:{(n + ahead) % 60:02d}Z"
            for n in range(2000)
        ]
        trial.add(source, "1.csv", ["id,shop,at", *rows])
    return trial


@pytest.mark.slow
def test_the_account_names_a_key_of_most_rows(spark, tmp_path):
    ledger = made(spark, tmp_path).flushed()
    assert [(each.input, each.key) for each in ledger.skewed_keys] == [
        ("orders", "mall"),
        ("visits", "mall"),
    ]
    assert all(1500 < each.rows <= 1600 for each in ledger.skewed_keys)  # a sketch, never too high
    assert "skewed key of orders: mall, 80% of its rows" in format_ledger("out", ledger)


@pytest.mark.slow
def test_a_salted_join_gives_the_same_rows_and_an_ledger_that_is_balanced(spark, tmp_path):
    plain = made(spark, tmp_path / "plain")
    plain.flushed()
    salted = made(spark, tmp_path / "salted", "\nWITH ('join.salt' = '2')")
    ledger = salted.flushed()
    assert salted.rows() == plain.rows()
    assert sum(plain.rows().values()) > 2000
    assert [each["copies"] for each in ledger.inputs] == [0, 2000]
