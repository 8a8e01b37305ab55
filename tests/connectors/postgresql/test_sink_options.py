"""Properties of a PostgreSQL sink are validated by planning."""

from __future__ import annotations

import pytest

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.plan.explain.render import explain

SOURCE = """
CREATE SOURCE orders (id BIGINT, usr STRING, t TIMESTAMP, WATERMARK FOR t AS t) WITH
  ('connector' = 'file', 'path' = 'in');
"""
COUNTS = """SELECT usr, COUNT(*) AS n FROM orders GROUP BY usr EMIT CHANGES
  WITH ('state.ttl' = '1h', 'output.mode' = '{mode}')"""
URL = "postgresql://db:5432/shop"


def job(properties: str = "", url: str = URL, query: str = "SELECT id, usr FROM orders") -> str:
    given = f"'connector' = 'postgresql', 'url' = '{url}'{properties}"
    return f"{SOURCE} CREATE SINK out WITH ({given}) AS {query};"


@pytest.mark.parametrize(
    ("sql", "code", "cause"),
    [
        (job(url="mysql://db/shop"), "MS-PROP-VALUE", "not the URL of a PostgreSQL database"),
        (job(url="postgresql://me:pw1@db/shop"), "MS-PROP-VALUE", "'url' contains a password"),
        (job(url=URL + "?password=pw1"), "MS-PROP-VALUE", "'url' contains a password"),
        (job(", 'password' = 'pw1'"), "MS-PROP-UNUSED", "is for a table"),
        (
            job(", 'password.env' = 'A', 'password.file' = 'b'"),
            "MS-PROP-UNUSED",
            "both 'password.env' and 'password.file'",
        ),
        (job(", 'key.columns' = 'id, user'"), "MS-PLAN-UNKNOWN-COLUMN", "user is a key column"),
        (job(query=COUNTS.format(mode="upsert")), "MS-PROP-MISSING", "the sink has no key"),
    ],
)
def test_contradictions_and_secrets_are_rejected(sql, code, cause):
    with pytest.raises(MillstreamError) as error:
        build_job(sql)
    assert error.value.code == code
    assert cause in error.value.cause
    assert "pw1" not in str(error.value)


def test_a_table_has_one_password():
    given = f"'connector' = 'postgresql', 'url' = '{URL}', 'password' = 'pw1', 'password.env' = 'A'"
    table = f"CREATE TABLE t (id BIGINT, PRIMARY KEY (id)) WITH ({given});"
    query = "SELECT o.id FROM orders o JOIN t ON o.id = t.id"
    with pytest.raises(MillstreamError, match=r"MS-PROP-UNUSED.*has both 'password' and") as error:
        build_job(table + job(query=query))
    assert "pw1" not in str(error.value)


@pytest.mark.parametrize(
    ("properties", "mode"),
    [
        ("", "retract"),
        (", 'key.columns' = 'usr'", "retract"),
        (", 'key.columns' = 'USR'", "upsert"),
    ],
)
def test_changelogs_are_accepted_by_key_or_with_old_values(properties, mode):
    built = build_job(job(properties, query=COUNTS.format(mode=mode)))
    assert built.pipelines[0].sink.option("table") == "out"


def test_explain_states_the_delivery_guarantee_and_its_reason():
    text = explain(build_job(job()))
    expected = "exactly once: the rows of a batch and its number are committed in one transaction"
    assert expected in " ".join(text.replace("│", " ").split())
