"""Maps lines of Spark's offset log to folders of its checkpoint."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def source_folders(spark: SparkSession, query: str) -> list[int]:
    """For each source line of the offset log of a running query, the number of its folder below
    `sources/`.

    The offset log has a line for each place of the plan that reads a source. A source that is read
    in several places, such as the control stream, has several lines but one folder, numbered by its
    first place.
    """
    running: Any = next(each for each in spark.streams.active if each.name == query)
    sources = running._jsq.streamingQuery().sources()
    numbers: dict[int, int] = {}
    places = [sources.apply(place).hashCode() for place in range(sources.size())]
    return [numbers.setdefault(place, len(numbers)) for place in places]
