"""A session that the user created gets what operators need, and keeps what the user has set."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from millstream.engine.runtime.session import HDFS_BACKED
from millstream.engine.runtime.user_session import (
    CHANGELOG,
    PREPARED,
    ROCKSDB,
    STATE_STORE,
    check_state_store,
    check_worker_python,
    prepare,
    query_settings,
)
from millstream.errors import RunError
from millstream.run.failures import failure

PARTITIONS = "spark.sql.shuffle.partitions"
ADAPTIVE = "spark.sql.adaptive.enabled"


@pytest.fixture
def default(spark: SparkSession) -> SparkSession:
    """A session with Spark's defaults."""
    session = spark.newSession()
    for name in (PREPARED, STATE_STORE, CHANGELOG, PARTITIONS, ADAPTIVE):
        session.conf.unset(name)
    return session


def test_a_default_session_gets_what_operators_need(default):
    prepare(default)
    check_state_store(default)
    assert default.conf.get(STATE_STORE) == ROCKSDB
    assert default.conf.get(CHANGELOG) == "true"
    assert default.conf.get(PARTITIONS) == str(default.sparkContext.defaultParallelism)


def test_a_session_keeps_what_the_user_has_set(default):
    default.conf.set(PARTITIONS, "7")
    default.conf.set(STATE_STORE, HDFS_BACKED)
    prepare(default)
    assert default.conf.get(PARTITIONS) == "7"
    with pytest.raises(RunError, match=r"HDFSBacked.*spark.conf.set") as caught:
        check_state_store(default)
    assert caught.value.code == "MS-RUN-STATE-STORE"


def test_settings_of_a_query_are_those_of_its_start(default):
    with query_settings(default):
        assert default.conf.get(ADAPTIVE) == "false"
    assert ADAPTIVE not in default.conf.getAll
    default.conf.set(ADAPTIVE, "true")
    with query_settings(default):
        assert default.conf.get(ADAPTIVE) == "true"
    assert default.conf.get(ADAPTIVE) == "true"


def test_the_python_of_workers_has_millstream(spark):
    check_worker_python(spark.sparkContext)


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named 'millstream'",
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9",
    ],
)
def test_another_python_of_workers_is_an_error_with_the_line_to_write(text):
    error = failure(RuntimeError(f"Job aborted. {text}"))
    assert error.code == "MS-RUN-WORKER-PYTHON"
    assert 'os.environ["PYSPARK_PYTHON"] = sys.executable' in error.fix
