"""Sources and SELECTs as Spark DataFrames, with the rows a WHERE drops still seen by the watermark.

A filter before a stateful operator must not hold back time: on a stream where one row in a thousand
passes, the watermark would crawl. So until rows are packed, a WHERE is a column (`KEEP`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from millstream.errors import PlanError
from millstream.plan.nodes import Select, Source
from millstream.spark.packets import BAD, KEEP
from millstream.temporal import MissingTime

_NAME = re.compile(r"(`[^`]+`|\w+)(\.(`[^`]+`|\w+))?")


@dataclass(frozen=True, slots=True)
class Flow:
    """A DataFrame of a stateless node; `filtered` and `checked` say if it has KEEP and BAD."""

    frame: DataFrame
    filtered: bool = False
    checked: bool = False


def flow(node: Source | Select, sources: Mapping[str, DataFrame]) -> Flow:
    if isinstance(node, Source):
        frame = sources[node.name]
        if node.time and node.missing_time is MissingTime.WALL_CLOCK:
            # The batch's time from the offset log: the same when the batch is tried again.
            now = F.coalesce(F.col(f"`{node.time}`"), F.current_timestamp())
            frame = frame.withColumn(node.time, now)
        return Flow(frame, checked=BAD in frame.columns)
    if not isinstance(node.input, Source | Select):
        raise TypeError("a stateless flow holds no join")
    inner = flow(node.input, sources)
    frame = inner.frame.alias(node.alias) if node.alias else inner.frame
    carried = [F.col(BAD)] if inner.checked else []
    with spark_errors(node):
        if node.where is None and not inner.filtered:
            return Flow(frame.select(*_outputs(node), *carried), checked=inner.checked)
        keep = F.coalesce(F.expr(node.where), F.lit(False)) if node.where else F.lit(True)
        if inner.filtered:
            keep = F.when(F.col(KEEP), keep).otherwise(F.lit(False))
        # A dropped row must not fail an expression that the WHERE was there to guard.
        outputs = [
            F.expr(output.sql).alias(output.name)
            if _NAME.fullmatch(output.sql)
            else F.when(keep, F.expr(output.sql)).alias(output.name)
            for output in node.outputs
        ]
        kept = frame.select(*outputs, keep.alias(KEEP), *carried)
    return Flow(kept, filtered=True, checked=inner.checked)


def source_of(node: Source | Select) -> Source:
    """The source at the bottom of a stateless stream."""
    while isinstance(node, Select):
        assert isinstance(node.input, Source | Select)
        node = node.input
    return node


def _outputs(node: Select) -> list[Column]:
    return [F.expr(output.sql).alias(output.name) for output in node.outputs]


def select(node: Select, frame: DataFrame) -> DataFrame:
    """A SELECT whose rows nobody's watermark depends on any more."""
    with spark_errors(node):
        aliased = frame.alias(node.alias) if node.alias else frame
        if node.where is not None:
            aliased = aliased.where(F.expr(node.where))
        return aliased.select(*_outputs(node))


class spark_errors:  # noqa: N801 -- reads as a verb where it is used
    """Turns what Spark says of an expression into an error that names its place in the SQL."""

    def __init__(self, node: Select | None = None) -> None:
        self._place = node.place if node else None

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, AnalysisException | ParseException):
            text = str(error).split("\n")[0].split(" SQLSTATE:")[0]
            raise PlanError(
                "MS-PLAN-SPARK",
                f"Spark cannot resolve this query: {text}",
                fix="See the functions and types of Spark SQL.",
                place=self._place,
            ) from None
