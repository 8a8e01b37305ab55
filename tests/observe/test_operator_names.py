"""The ledger names a source by its name, and the results of another operator differently."""

from __future__ import annotations

from millstream.observe.operator_names import names_of
from millstream.plan.build.job import build_job

ACCOUNTS = (
    "CREATE SOURCE accounts (id STRING, bank STRING, n INT) WITH ('connector' = 'kafka',"
    " 'topic' = 't', 'bootstrap.servers' = 'h:1', 'changelog' = 'upsert', 'key.columns' = 'id');\n"
)


def test_an_aggregate_over_upserts_reads_their_current_rows() -> None:
    job = build_job(
        ACCOUNTS
        + "CREATE SINK out WITH ('connector' = 'noop') AS SELECT bank, sum(n) AS n FROM accounts "
        "GROUP BY bank WITH ('state.ttl' = 'forever');"
    )
    aggregate, latest = names_of(job.pipelines[0].root)
    assert aggregate.operator == "aggregate of current rows of accounts"
    assert (aggregate.inputs, aggregate.derived) == (("current rows of accounts",), (True,))
    assert latest.operator == "top 1 of accounts"
    assert (latest.inputs, latest.derived) == (("accounts",), (False,))
