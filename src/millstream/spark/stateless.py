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

_KEPT = "_ms_kept"
_NAME = re.compile(r"(`[^`]+`|\w+)(\.(`[^`]+`|\w+))?")


@dataclass(frozen=True, slots=True)
class Flow:
    """A DataFrame of a stateless node; `filtered` and `checked` say if it has KEEP and BAD."""

    frame: DataFrame
    filtered: bool = False
    checked: bool = False

    @property
    def sound(self) -> Column | None:
        """True of rows that are neither filtered out nor malformed; None if all are."""
        if self.filtered and self.checked:
            return F.col(KEEP) & F.col(BAD).isNull()
        if self.filtered:
            return F.col(KEEP)
        return F.col(BAD).isNull() if self.checked else None


def flow(node: Source | Select, sources: Mapping[str, DataFrame]) -> Flow:
    if isinstance(node, Source):
        frame = sources[node.name]
        return Flow(frame, checked=BAD in frame.columns)
    if not isinstance(node.input, Source | Select):
        raise TypeError("a stateless flow holds no join")
    inner = flow(node.input, sources)
    carried = [F.col(BAD)] if inner.checked else []
    sound = inner.sound
    with spark_errors(node):
        frame = _called(inner.frame, node.alias)
        if node.where is not None:
            where = F.coalesce(F.expr(node.where), F.lit(False))
            kept = where if sound is None else F.when(sound, where).otherwise(F.lit(False))
            # Made once: a random condition must be the same for the row and for its columns.
            frame = _called(frame.select("*", kept.alias(_KEPT)), node.alias)
            sound = F.col(_KEPT)
        outputs = [
            guarded(sound, output.sql, bare=output.name == node.time).alias(output.name)
            for output in node.outputs
        ]
        filtered = node.where is not None or inner.filtered
        keep = [F.col(_KEPT if node.where is not None else KEEP).alias(KEEP)] if filtered else []
        selected = frame.select(*outputs, *keep, *carried)
    return Flow(selected, filtered=filtered, checked=inner.checked)


def guarded(sound: Column | None, text: str, *, bare: bool = False) -> Column:
    """An expression, not run on rows that are filtered out or malformed: it may fail on them."""
    if sound is None or bare or _NAME.fullmatch(text):
        return F.expr(text)
    return F.when(sound, F.expr(text))


def with_wall_clock(source: Source, frame: DataFrame) -> DataFrame:
    """Rows without an event time get the batch's, which the offset log keeps for a retry."""
    if source.time is None or source.missing_time is not MissingTime.WALL_CLOCK:
        return frame
    now = F.coalesce(F.col(f"`{source.time}`"), F.current_timestamp())
    return frame.withColumn(source.time, now)


def refusing_malformed(source: Source, frame: DataFrame, policy: str, advice: str) -> DataFrame:
    """The source's rows; the first record that does not fit its schema stops the job."""
    failed = F.raise_error(
        F.concat(
            F.lit(f"MS-RUN-MALFORMED: source {source.name} holds a record that {policy}: "),
            F.col(BAD),
            F.lit(f". {advice}"),
        )
    )
    checked = F.when(F.col(BAD).isNotNull(), failed.cast("boolean")).otherwise(F.lit(True))
    return frame.where(checked).drop(BAD)


def _called(frame: DataFrame, alias: str | None) -> DataFrame:
    return frame.alias(alias) if alias else frame


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
