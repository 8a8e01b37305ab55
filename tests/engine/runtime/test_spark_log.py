"""The line of Spark's log that says why it did not start."""

from __future__ import annotations

import pytest

from millstream.engine.runtime import spark_log
from millstream.engine.runtime.spark_log import decisive_line, opened, since


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (
            "WARNING: Using incubator modules\nJAVA_HOME is not set\n",
            "JAVA_HOME is not set",
        ),
        (
            "bin/spark-class: line 71: /opt/no-java/bin/java: No such file or directory\n",
            "bin/spark-class: line 71: /opt/no-java/bin/java: No such file or directory",
        ),
        (
            'Exception in thread "main" SparkException: it failed\n\tat a.B.c(D:1)\n'
            "Caused by: java.net.BindException: Cannot assign requested address\n\t... 9 more\n",
            "java.net.BindException: Cannot assign requested address",
        ),
        (
            "26/11/18 04:42:08 ERROR SparkContext: Error initializing SparkContext.\n"
            "org.apache.spark.SparkException: Could not parse Master URL: 'locall[2]'\n\tat a.B\n",
            "org.apache.spark.SparkException: Could not parse Master URL: 'locall[2]'",
        ),
        ("one\n\nlast words\n\n", "last words"),
        ("", ""),
    ],
)
def test_the_decisive_line(log, line):
    assert decisive_line(log) == line


def test_only_what_this_start_wrote_counts(tmp_path):
    log = tmp_path / "below" / "spark.log"
    with opened(log) as out:
        out.write(b"Error of an earlier run\n")
    before = log.stat().st_size
    with opened(log) as out:
        out.write(b"JAVA_HOME is not set\n")
    assert since(log, before) == "JAVA_HOME is not set\n"


def test_a_large_log_is_put_aside(tmp_path, monkeypatch):
    monkeypatch.setattr(spark_log, "_LARGE", 3)
    log = tmp_path / "spark.log"
    log.write_text("full")
    with opened(log) as out:
        out.write(b"new")
    assert (tmp_path / "spark.log.1").read_text() == "full"
    assert log.read_text() == "new"
    assert since(log, 1000) == "new"


def test_no_log_is_nowhere():
    with opened(None) as out:
        out.write(b"gone")
    assert since(None, 0) == ""
