"""Jobs from Kafka that are killed write the rows of an undisturbed run, to every output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recovery import topics
from tests.services.kafka import Kafka, kafka
from tests.services.postgres import USER, Postgres, postgres

__all__ = ["kafka", "postgres"]
pytestmark = [pytest.mark.slow, pytest.mark.service, pytest.mark.timeout(1500)]


def assert_every_kind_of_row(found: dict[str, Any]) -> None:
    for name in topics.OUTPUTS:
        assert found[name], f"no rows in {name}: the test shows nothing"


def test_a_killed_job_from_kafka_to_kafka_writes_every_row_once(
    kafka: Kafka, tmp_path: Path
) -> None:
    topics.write_inputs(kafka, "-chaos-k")

    def rows(run: str) -> dict[str, Any]:
        found = {}
        for name in topics.OUTPUTS:
            values = [json.loads(value or "") for value in kafka.values(f"{name}-{run}")]
            found[name] = topics.comparable(values)
        return found

    def write_job(run: str) -> None:
        sinks = {name: kafka.create(f"{name}-{run}") for name in topics.OUTPUTS}
        properties = {
            name: f"'connector' = 'kafka', 'bootstrap.servers' = '{kafka.address}', "
            f"'topic' = '{topic}'"
            for name, topic in sinks.items()
        }
        (tmp_path / "job.sql").write_text(topics.job(kafka, properties, "-chaos-k"))

    write_job("whole")
    topics.run(tmp_path, "whole")
    write_job("killed")
    topics.run_with_kills(tmp_path, "killed", seed=1)
    assert_every_kind_of_row(rows("whole"))
    assert rows("killed") == rows("whole")


def test_a_killed_job_from_kafka_to_postgresql_writes_every_row_once(
    kafka: Kafka, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics.write_inputs(kafka, "-chaos-p")
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    postgres.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def rows(run: str) -> dict[str, Any]:
        found = {}
        with postgres.connect() as connection:
            for name in topics.OUTPUTS:
                query = f'SELECT to_jsonb(found)::text FROM "{name}_{run}" found'
                values = [json.loads(row[0]) for row in connection.execute(query.encode())]
                found[name] = topics.comparable(values)
        return found

    def write_job(run: str) -> None:
        properties = {
            name: f"'connector' = 'postgresql', 'url' = '{postgres.url}', 'user' = '{USER}', "
            f"'table' = '{name}_{run}'"
            for name in topics.OUTPUTS
        }
        (tmp_path / "job.sql").write_text(topics.job(kafka, properties, "-chaos-p"))

    write_job("whole")
    topics.run(tmp_path, "whole")
    write_job("killed")
    topics.run_with_kills(tmp_path, "killed", seed=2)
    assert_every_kind_of_row(rows("whole"))
    assert rows("killed") == rows("whole")
