"""The environment of a run: versions, and settings of the session that values depend on."""

from __future__ import annotations

from importlib import metadata

from pyspark.sql import SparkSession

from millstream.catalog.model import RunEnvironment

_TIME_ZONE = "spark.sql.session.timeZone"
_ANSI = "spark.sql.ansi.enabled"


def environment_of(spark: SparkSession) -> RunEnvironment:
    """Returns the environment that a run of a session has."""
    return RunEnvironment(
        spark_version=spark.version,
        millstream_version=metadata.version("millstream"),
        session_time_zone=str(spark.conf.get(_TIME_ZONE)),
        ansi_enabled=spark.conf.get(_ANSI) == "true",
    )


def session_with(spark: SparkSession, environment: RunEnvironment) -> SparkSession:
    """Returns a session with the recorded settings: the given one, or a new one that shares its
    application and its other settings."""
    now = environment_of(spark)
    if (now.session_time_zone, now.ansi_enabled) == (
        environment.session_time_zone,
        environment.ansi_enabled,
    ):
        return spark
    session = spark.newSession()
    for name, value in spark.conf.getAll.items():
        if spark.conf.isModifiable(name):
            session.conf.set(name, value)
    session.conf.set(_TIME_ZONE, environment.session_time_zone)
    session.conf.set(_ANSI, environment.ansi_enabled)
    return session
