"""SQL over streams."""

from __future__ import annotations

from typing import overload

from pyspark.sql import DataFrame

from millstream.api.datasets import StepDatasets, catalog_of, versions_of
from millstream.api.plan_steps import Step, datasets_of
from millstream.api.sources import with_spark_watermark
from millstream.api.stream import Stream
from millstream.api.tables import Table, table
from millstream.catalog.stream_tables import CatalogArgument


@overload
def sql(
    text: str, /, *, catalog: CatalogArgument = None, **inputs: DataFrame | Stream | Table
) -> Stream: ...
@overload
def sql(text: str, /, **inputs: DataFrame | Stream | Table) -> Stream: ...
def sql(
    text: str,
    /,
    *,
    catalog: CatalogArgument | DataFrame | Stream | Table = None,
    **inputs: DataFrame | Stream | Table,
) -> Stream:
    """Plans one SELECT of Millstream's SQL over streams and tables.

    Args:
        text: The SELECT. CREATE TABLE statements with 'catalog.dataset' may precede it.
        catalog: The catalog of the datasets that the text names, such as `CATALOG.fx`: a path, a
            URL, or a `Catalog`. By default the value of `MILLSTREAM_CATALOG`, or
            `millstream-catalog.db` in the working directory.
        **inputs: Streams and tables by the name they have in the text: streams, streaming
            DataFrames (their event time is that of `withWatermark`), static DataFrames, and what
            `table` and `database` return. A source without a name takes this one.

    Returns:
        The result, to chain, to write or to turn into a DataFrame.

    Example:
        >>> hourly = ms.sql(
        ...     "SELECT country, sum(amount) AS total FROM o WINDOW TUMBLING(INTERVAL 1 HOUR) "
        ...     "GROUP BY country",
        ...     o=orders,
        ... )
        >>> hourly.where("total > 100").columns
        ['country', 'total']
        >>> priced = ms.sql(
        ...     "SELECT o.order_id, o.amount * fx.rate AS usd "
        ...     "FROM o JOIN CATALOG.fx FOR VERSION AS OF 1 ON o.country = fx.currency",
        ...     o=orders,
        ...     catalog=catalog,
        ... )
        >>> priced.columns
        ['order_id', 'usd']
    """
    tables = {name: found for name, each in inputs.items() if (found := _table(each)) is not None}
    streams = {
        name: each._root if isinstance(each, Stream) else with_spark_watermark(each)
        for name, each in inputs.items()
        if name not in tables
    }
    chosen = versions_of(datasets_of(streams.values())).chosen
    datasets = StepDatasets.of(catalog_of(catalog), chosen)
    return Stream(Step(text, streams, tables, written=True, datasets=datasets))


def _table(given: DataFrame | Stream | Table) -> Table | None:
    if isinstance(given, Table):
        return given
    if isinstance(given, DataFrame) and not given.isStreaming:
        return table(given)
    return None
