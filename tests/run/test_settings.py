"""How a job runs: the command line before SET, SET before defaults."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.jobs import JOIN, SOURCES

from millstream.errors import PlanError, PropertyError
from millstream.plan.build.job import build_job
from millstream.plan.nodes import Job
from millstream.run.settings import settings_of

LATE = "EMIT CHANGES WITH ('late.policy' = 'side_output', 'late.sink' = 'late')"
SECOND = JOIN.replace("SINK shipped", "SINK again").replace("'out'", "'again'")


def job(*settings: str) -> Job:
    return build_job("".join(f"SET {setting};\n" for setting in settings) + SOURCES + JOIN)


def test_defaults(tmp_path):
    settings = settings_of(job(), tmp_path / "orders.sql")
    assert settings.base == tmp_path
    assert settings.checkpoint == tmp_path / ".millstream/orders"
    assert settings.trigger == {"processingTime": "0 milliseconds"}
    assert settings.groups is None


def test_set_gives_paths_relative_to_the_job_and_the_command_line_wins(tmp_path):
    made = job("'checkpoint' = 'keep/here'", "'trigger' = '10s'", "'key_groups' = '8'")
    settings = settings_of(made, tmp_path / "job.sql")
    assert settings.checkpoint == tmp_path / "keep/here"
    assert settings.trigger == {"processingTime": "10000 milliseconds"}
    assert settings.groups == 8
    given = settings_of(made, tmp_path / "job.sql", checkpoint=Path("there"), every="1s")
    assert given.checkpoint == Path("there")
    assert given.trigger == {"processingTime": "1000 milliseconds"}


def test_once_is_what_is_available_now_also_with_a_flush(tmp_path):
    file = tmp_path / "job.sql"
    assert settings_of(job("'trigger' = 'once'"), file).trigger == {"availableNow": True}
    assert settings_of(job(), file, once=True).trigger == {"availableNow": True}
    flushed = settings_of(job(), file, once=True, flush=True)
    assert flushed.trigger == {"availableNow": True}


def test_spark_settings_go_to_spark(tmp_path):
    made = job("'spark.sql.shuffle.partitions' = '4'", "'key_groups' = '8'")
    assert settings_of(made, tmp_path / "job.sql").spark == (("spark.sql.shuffle.partitions", "4"),)


def test_an_invalid_trigger_is_rejected(tmp_path):
    with pytest.raises(PropertyError, match=r"^MS-PROP-TRIGGER: 'now' is not a duration\."):
        settings_of(job(), tmp_path / "job.sql", every="now")
    with pytest.raises(PropertyError, match=r"^MS-PROP-VALUE at .*'trigger' cannot be 'now'\."):
        job("'trigger' = 'now'")


def test_a_setting_without_effect_is_rejected(tmp_path):
    with pytest.raises(PlanError, match=r"^MS-PLAN-NOT-YET: 'batch.target' is not supported yet\."):
        settings_of(job("'batch.target' = '1s'"), tmp_path / "job.sql")


def test_several_queries_may_share_the_sinks_of_side_outputs(tmp_path):
    sources = SOURCES.replace("'csv'", "'csv', 'dead_letter.sink' = 'bad'", 1)
    sinks = (
        "CREATE SINK late WITH ('connector' = 'file', 'path' = 'late');\n"
        "CREATE SINK bad WITH ('connector' = 'file', 'path' = 'bad');\n"
    )
    queries = [f"{text.rstrip().rstrip(';')} {LATE};\n" for text in (JOIN, SECOND)]
    settings_of(build_job(sources + sinks + "".join(queries)), tmp_path / "job.sql")


def test_late_rows_and_dead_letters_do_not_share_a_sink(tmp_path):
    sources = SOURCES.replace("'csv'", "'csv', 'dead_letter.sink' = 'late'", 1)
    sink = "CREATE SINK late WITH ('connector' = 'file', 'path' = 'late');\n"
    query = f"{JOIN.rstrip().rstrip(';')} {LATE};\n"
    with pytest.raises(PlanError) as caught:
        settings_of(build_job(sources + sink + query), tmp_path / "job.sql")
    assert caught.value.code == "MS-PLAN-SHARED-SINK"
    assert caught.value.cause == (
        "dead letters of shipped and late rows of shipped both go to the sink late, and have "
        "different columns."
    )
    assert caught.value.place is not None


def test_dead_letters_of_two_sources_may_share_a_sink(tmp_path):
    sources = SOURCES.replace("'csv'", "'csv', 'dead_letter.sink' = 'bad'")
    sink = "CREATE SINK bad WITH ('connector' = 'file', 'path' = 'bad');\n"
    settings_of(build_job(sources + sink + JOIN), tmp_path / "job.sql")
