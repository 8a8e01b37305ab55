"""The job of examples/market gives the rows that DuckDB computes."""

from __future__ import annotations

import json

import pytest
from tests.cli.jobs import command
from tests.examples import market_oracle
from tests.examples.generated import Trial, dead_letters


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_market_equals_a_batch_computation_row_by_row(spark, tmp_path):
    trial = Trial.create(tmp_path, "market", market_oracle.SOURCES, "--rows", "600", "--seed", "3")
    trial.drop_all()
    first = command("run", tmp_path / "job.sql", "--once", "--json")
    assert first.exit_code == 0, first.output
    trial.drop_late()
    last = command("run", tmp_path / "job.sql", "--once", "--flush", "--json")
    assert last.exit_code == 0, last.output

    rows = {}
    with trial.database() as database:
        for sink, query in market_oracle.RESULTS.items():
            rows[sink] = trial.assert_rows(database, sink, query, "csv")
        sink = "late_for_quoted_trades"
        assert trial.assert_rows(database, sink, market_oracle.LATE, "csv") == 24
    pipelines = json.loads(last.stdout)["queries"]
    assert {sink["name"]: sink["rows"] for each in pipelines for sink in each["sinks"]} == rows
    for each in pipelines:
        assert each["ledger"]["balanced"], each["name"]
        for source in market_oracle.READS[each["name"]]:
            folder = tmp_path / ".millstream/job" / each["name"] / "dead-letter" / source
            assert dead_letters(folder) == trial.malformed(source), each["name"]
            counted = each["ledger"]["inputs"][source]
            assert counted["in"] == len(trial.records(source))
            assert counted["late"] == 12
