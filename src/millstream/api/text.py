"""SQL over streams."""

from __future__ import annotations

from pyspark.sql import DataFrame

from millstream.api.sources import with_spark_watermark
from millstream.api.steps import Step
from millstream.api.stream import Stream
from millstream.api.tables import Table, table


def sql(text: str, /, **inputs: DataFrame | Stream | Table) -> Stream:
    """Plans one SELECT of Millstream's SQL over streams and tables.

    Args:
        text: The SELECT.
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
    """
    tables = {name: found for name, each in inputs.items() if (found := _table(each)) is not None}
    streams = {
        name: each._root if isinstance(each, Stream) else with_spark_watermark(each)
        for name, each in inputs.items()
        if name not in tables
    }
    return Stream(Step(text, streams, tables, written=True))


def _table(given: DataFrame | Stream | Table) -> Table | None:
    if isinstance(given, Table):
        return given
    if isinstance(given, DataFrame) and not given.isStreaming:
        return table(given)
    return None
