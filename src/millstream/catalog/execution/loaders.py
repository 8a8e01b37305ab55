"""Loads the rows of a location as a Spark DataFrame with the recorded columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from millstream.catalog.execution.built_in_resolvers import DataLocation
from millstream.catalog.model import (
    PERIOD,
    PERIOD_FROM,
    PERIOD_TO,
    Column,
    DataFormat,
    DatasetSnapshot,
    Period,
    TemporalMode,
)
from millstream.connectors.jdbc.scan import read_table
from millstream.errors import ProjectRunError
from millstream.plan.expressions.spark_sql import quote
from millstream.suggestions import nearest

# A value that does not fit its column is an error, never NULL.
_STRICT = {"mode": "FAILFAST"}


def load(
    spark: SparkSession,
    dataset: DatasetSnapshot,
    period: Period,
    columns: Collection[str] | None = None,
) -> DataFrame:
    """Returns the rows of a dataset that belong to a period, with `columns` or with all."""
    chosen = [each for each in dataset.schema if columns is None or each.name in columns]
    temporal = {each.name for each in dataset.temporal_mode.columns}
    read = [each for each in dataset.schema if each in chosen or each.name in temporal]
    location = DataLocation(dataset.format, dataset.location, dataset.options)
    if dataset.format is DataFormat.CSV:
        read = list(dataset.schema)  # its columns are found by position
    rows = load_location(spark, location, read)
    condition = period_filter(dataset.temporal_mode, period)
    if condition is not None:
        rows = rows.where(condition)
    return rows.select(*(quote(each.name) for each in chosen))


def load_location(
    spark: SparkSession, location: DataLocation, columns: Sequence[Column]
) -> DataFrame:
    """Returns the rows of a location, with columns of the types that are recorded."""
    match location.format:
        case DataFormat.JDBC:
            return read_table(spark, location.location, location.options["table"], ddl(columns))
        case DataFormat.TABLE:
            return _table(spark, location.location, columns)
        case DataFormat.PARQUET:
            return _parquet(spark, location.location, columns)
        case DataFormat.CSV:
            reader = spark.read.options(**_STRICT, header="true", enforceSchema="false")
            reader = reader.options(**location.options)
            return reader.schema(ddl(columns)).csv(location.location)
        case DataFormat.JSON:
            reader = spark.read.options(**_STRICT).options(**location.options)
            if location.options["encoding"] != "utf-8":
                reader = reader.option("lineSep", "\n")  # Spark finds it for UTF-8 only
            return reader.schema(ddl(columns)).json(location.location)


def period_filter(mode: TemporalMode, period: Period) -> SparkColumn | None:
    """Returns the predicate that selects the rows of a period; None if all rows belong to it."""
    if mode is TemporalMode.PERIOD:
        return F.col(PERIOD.name) == period.identifier
    if mode is TemporalMode.BITEMPORAL:
        start, end = F.col(PERIOD_FROM.name), F.col(PERIOD_TO.name)
        at = F.lit(period.start)
        return (start <= at) & (end.isNull() | (end > at))
    return None


def ddl(columns: Sequence[Column]) -> str:
    """Returns columns as Spark DDL."""
    return ", ".join(f"{_always_quoted(each.name)} {each.type}" for each in columns)


def _parquet(spark: SparkSession, path: str, columns: Sequence[Column]) -> DataFrame:
    """With a schema given, Spark would read a column that is missing as NULL."""
    try:
        found = spark.read.parquet(path)
    except AnalysisException as error:
        if error.getCondition() == "UNABLE_TO_INFER_SCHEMA":
            raise ProjectRunError(
                "MS-PROJECT-SCHEMA",
                f"{path} contains no Parquet file.",
                fix="Check the resolver and the format of the dataset.",
            ) from None
        raise
    _check_columns(found, path, columns)
    return found


def _table(spark: SparkSession, name: str, columns: Sequence[Column]) -> DataFrame:
    try:
        found = spark.table(name)
    except (AnalysisException, ParseException) as error:
        raise ProjectRunError(
            "MS-PROJECT-TABLE",
            f"Spark's catalog has no table {name} that can be read: {error.getCondition()}.",
            fix="Check the resolver and the catalogs that the session is configured with.",
        ) from None
    _check_columns(found, f"the table {name}", columns)
    return found


def _check_columns(found: DataFrame, where: str, columns: Sequence[Column]) -> None:
    types = {each.name: each.dataType.simpleString() for each in found.schema}
    for column in columns:
        wanted = _normal(column.type)
        if column.name not in types:
            raise ProjectRunError(
                "MS-PROJECT-SCHEMA",
                f"{where} has no column {column.name}.",
                fix=nearest(column.name, types),
            )
        if types[column.name] != wanted:
            raise ProjectRunError(
                "MS-PROJECT-SCHEMA",
                f"column {column.name} of {where} is {types[column.name]}, and the version is "
                f"recorded with {wanted}.",
                fix="Publish a new version with this column.",
            )


def _normal(type_name: str) -> str:
    return (
        cast("StructType", StructType.fromDDL(f"a {type_name}")).fields[0].dataType.simpleString()
    )


def _always_quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
