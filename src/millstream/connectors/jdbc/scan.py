"""Reads a table of a database as a Spark DataFrame, without a JDBC driver.

Executors read through psycopg or sqlite3. The columns of the schema are the only ones that are
read, and Spark pushes filters down. A scan is one task, so all its rows come from one statement and
are consistent; rows are streamed, not collected.
"""

from __future__ import annotations

import os
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from millstream.connectors.jdbc.filters import ScanFilter, scan_filter
from millstream.connectors.jdbc.url import connector_of
from millstream.connectors.lookup.failures import UnreachableError, cannot_connect
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.types import Family
from millstream.temporal import MICROS
from millstream.values import Lookup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

SOURCE = "millstream_table"
_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_LOGIN = {"user": "PGUSER", "password": "PGPASSWORD"}
_TIMEOUT = 600 * MICROS["s"]  # of one fetch


class TableScanner(Protocol):
    """`scan` of `connectors/<database>/scan.py`."""

    def __call__(
        self, spec: LookupSpec, filters: Sequence[ScanFilter]
    ) -> Iterator[pa.RecordBatch]: ...


@dataclass(slots=True)
class TableReader(DataSourceReader):
    """Reads a table in one task, with the filters that the database evaluates."""

    spec: LookupSpec
    filters: list[ScanFilter] = field(default_factory=list)

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        comparable = cast("frozenset[Family]", _named(self.spec, "COMPARABLE"))
        for each in filters:
            found = scan_filter(each, self.spec.schema, comparable)
            if found is None:
                yield each
            else:
                self.filters.append(found)

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(0)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:  # noqa: ARG002
        scan = cast("TableScanner", _named(self.spec, "scan"))
        try:
            yield from scan(self.spec, self.filters)
        except UnreachableError as error:
            fix = "Check the URL and that the database is running."
            raise cannot_connect(self.spec, error.reason, fix) from None


class TableSource(DataSource):
    """Spark's entry to a table of a database."""

    @classmethod
    def name(cls) -> str:
        return SOURCE

    def reader(self, schema: StructType) -> DataSourceReader:
        return TableReader(_spec(self.options, schema))


def read_table(spark: SparkSession, url: str, table: str, schema: str) -> DataFrame:
    """Returns the rows of a table. Only the columns of `schema`, as Spark DDL, are read.

    User and password come from the driver's environment (PGUSER, PGPASSWORD); executors may have
    another one. Spark redacts the option `password` wherever it shows a plan.
    """
    spark.dataSource.register(TableSource)
    # Without it, Spark rejects each Python data source that accepts filters.
    spark.conf.set(_PUSHDOWN, "true")
    reader = spark.read.format(SOURCE).schema(schema).options(url=url, table=table)
    login = {option: os.environ[name] for option, name in _LOGIN.items() if name in os.environ}
    return reader.options(**login).load()


def _spec(options: Mapping[str, str], schema: StructType) -> LookupSpec:
    connector, located = connector_of(options["url"])
    return LookupSpec(
        options["table"],
        connector,
        (
            *located.items(),
            *((name, options[name]) for name in ("table", *_LOGIN) if name in options),
        ),
        keys=(),
        columns=tuple(schema.names),
        schema=to_arrow_schema(schema, timezone="UTC"),
        access=Lookup(timeout=_TIMEOUT),
    )


def _named(spec: LookupSpec, name: str) -> object:
    return pkgutil.resolve_name(f"millstream.connectors.{spec.connector}.scan:{name}")
