"""Sources and SELECTs as Spark DataFrames, with the rows a WHERE drops still seen by the watermark.

A filter before a stateful operator must not hold back time: on a stream where one row in a thousand
passes, the watermark would crawl. So until rows are packed, a WHERE is a column (`KEEP`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StringType, StructType, TimestampType

from millstream.connectors.dead_letters import BAD
from millstream.connectors.deferred_frame import Rows
from millstream.connectors.file.names import read_type
from millstream.connectors.row_errors import raise_error
from millstream.connectors.work_items import PARTITION
from millstream.engine.compile.expressions import found_as, named, spark_column
from millstream.engine.compile.file_streams import Files
from millstream.engine.compile.pushdown import condition
from millstream.engine.scan.predicates import Condition
from millstream.engine.scan.window_bounds import Moment
from millstream.engine.shuffle.column_names import BLOB, CHANGE, FROM, MAIN, PORT
from millstream.engine.shuffle.packer import KEEP
from millstream.errors import PlanError
from millstream.plan.expressions import ColumnReference, Expression
from millstream.plan.expressions.shapes import exploded
from millstream.plan.nodes import Node, Operator, Output, Select, Source, TableJoin
from millstream.temporal import MissingTime

_KEPT = "_ms_kept"


@dataclass(frozen=True, slots=True)
class Flow:
    """A DataFrame of a stream, with the columns beside its own that the next operator needs.

    `filtered`: KEEP. `checked`: BAD. `partitioned`: PARTITION, of rows of a source. `upstream`: the
    operator whose results these are. `sided`: PORT, FROM and BLOB, of what is said beside rows and
    stands among them. `changes`: CHANGE, for rows that may be taken back. `files`: all that the
    stream is, with what `plain` says of their columns under its own names, and KEEP where `kept` is
    true of them. `labels`: columns of a query with several outputs, which no SELECT reads.
    """

    rows: Rows
    filtered: bool = False
    checked: bool = False
    partitioned: bool = False
    upstream: int | None = None
    sided: bool = False
    changes: bool = False
    files: Files | None = None
    plain: Mapping[str, str | Moment] = field(default_factory=dict)
    kept: tuple[Condition, ...] = ()
    tables: tuple[int, ...] = ()  # numbers of the table joins since the source or operator
    labels: tuple[str, ...] = ()

    @property
    def frame(self) -> DataFrame:
        return self.rows.frame

    @property
    def sound(self) -> Column | None:
        """True of rows that are neither filtered out nor malformed nor no rows; None if all are."""
        asked = []
        if self.filtered:
            asked.append(F.col(KEEP))
        if self.checked:
            asked.append(F.col(BAD).isNull())
        if self.sided:
            asked.append(F.col(PORT) == MAIN)
        return reduce(Column.__and__, asked) if asked else None

    @property
    def carried(self) -> list[str]:
        """The columns that stay beside those of any SELECT."""
        names = [BAD] if self.checked else []
        names += [PARTITION] if self.partitioned else []
        names += [PORT, FROM, BLOB] if self.sided else []
        names += [CHANGE] if self.changes else []
        return [*names, *self.labels]

    @property
    def shown(self) -> tuple[Column, ...]:
        """The stream's own columns."""
        beside = {*self.carried, *([KEEP] if self.filtered else [])}
        return tuple(F.col(f"`{name}`") for name in self.rows.schema.names if name not in beside)

    def main(self) -> DataFrame:
        """The rows alone."""
        rows = self.frame if self.sound is None else self.frame.where(self.sound)
        return rows.select(*self.shown)


Result = Callable[[Operator | TableJoin], Flow]


def flow(
    node: Source | Select,
    sources: Mapping[str, Rows],
    result: Result,
    files: Callable[[str, Rows], Files | None] | None = None,
) -> Flow:
    """A stream up to the next operator or table; `result` gives what they make of it, `files` what
    a stream is read from, if that is to be known."""
    if isinstance(node, Source):
        rows = sources[node.name]
        read = files(node.name, rows) if files else None
        own = {name: name for name in rows.types if name not in {BAD, PARTITION}}
        checked, partitioned = BAD in rows.types, PARTITION in rows.types
        return Flow(rows, checked=checked, partitioned=partitioned, files=read, plain=own)
    below = node.input
    if isinstance(below, Source | Select):
        inner = flow(below, sources, result, files)
    else:
        inner = result(below)
    return select_flow(node, inner)


def select_flow(node: Select, inner: Flow) -> Flow:
    """A SELECT over a stream."""
    filtered = node.where is not None or inner.filtered
    plain = {}
    for output in node.outputs:
        if (origin := _origin(output, node.alias, inner)) is not None:
            plain[output.name] = origin
    # An expression may make several rows of one, whether anyone reads it or not.
    read = inner.files if len(plain) == len(node.outputs) else None
    asked = inner.kept
    if read is not None and node.where is not None:
        said = plain_condition(node.where, node.alias, inner)
        read, asked = (None, ()) if said is None else (read, (*asked, said))
    rows = Rows.of(_selected(node, inner)) if read is None else _deferred(node, inner, plain)
    return replace(inner, rows=rows, filtered=filtered, files=read, plain=plain, kept=asked)


def _selected(node: Select, inner: Flow) -> DataFrame:
    sound = inner.sound
    with spark_errors(node):
        frame = _called(inner.frame, node.alias)
        keep = [F.col(KEEP)] if inner.filtered else []
        if node.where is not None:
            where = F.coalesce(spark_column(node.where), F.lit(False))
            kept = where if sound is None else F.when(sound, where).otherwise(F.lit(False))
            # Made once: a random condition must be the same for the row and for its columns.
            frame = _called(frame.select("*", kept.alias(_KEPT)), node.alias)
            sound, keep = F.col(_KEPT), [F.col(_KEPT).alias(KEEP)]
        outputs = [
            guarded(sound, output.expression, bare=output.name == node.time).alias(output.name)
            for output in node.outputs
        ]
        return frame.select(*outputs, *keep, *map(F.col, inner.carried))


def _deferred(node: Select, inner: Flow, plain: Mapping[str, str | Moment]) -> Rows:
    """The same where it is no more than columns of files, which a packer may read by itself."""
    assert inner.files is not None
    known = inner.files.types
    schema = StructType()
    for name, origin in plain.items():
        schema.add(name, known[origin.column if isinstance(origin, Moment) else origin])
    if node.where is not None or inner.filtered:
        schema.add(KEEP, BooleanType())
    if inner.checked:
        schema.add(BAD, StringType())
    if inner.partitioned:
        schema.add(PARTITION, StringType())
    return Rows(lambda: _selected(node, inner), schema)


def _origin(output: Output, alias: str | None, rows: Flow) -> str | Moment | None:
    """What a column is of those of files; None: only Spark can say."""
    name = named(output.expression, alias, rows.plain)
    if name is not None:
        return rows.plain[name]
    if output.pane is None or rows.files is None:
        return None
    own = rows.plain.get(output.pane.time)
    if not isinstance(own, str) or not isinstance(rows.files.types[own], TimestampType):
        return None
    return Moment(own, output.pane)


def plain_condition(expression: Expression, alias: str | None, rows: Flow) -> Condition | None:
    """A condition over the columns of files, if that is all it is."""
    if rows.files is None:
        return None
    types = rows.files.types

    def column_of(reference: ColumnReference) -> str | None:
        known = found_as(reference, alias, rows.plain)
        own = None if known is None else rows.plain[known]
        return own if isinstance(own, str) and read_type(types[own]) is not None else None

    return condition(expression, column_of, types)


def guarded(sound: Column | None, expression: Expression, *, bare: bool = False) -> Column:
    """An expression, not run on rows that are filtered out or malformed: it may fail on them."""
    # One row becomes several in the select list alone, not inside another expression; one that is
    # filtered out, or is none, stays one.
    if sound is None or bare or expression.is_column:
        return spark_column(expression)
    if call := exploded(expression):
        several = F.when(sound, spark_column(call.argument)).otherwise(F.array(F.lit(None)))
        return (F.explode_outer if call.outer else F.explode)(several)
    return F.when(sound, spark_column(expression))


def with_wall_clock(source: Source, rows: Rows) -> Rows:
    """Rows without an event time get the batch's, which the offset log keeps for a retry."""
    if source.time is None or source.missing_time is not MissingTime.WALL_CLOCK:
        return rows
    now = F.coalesce(F.col(f"`{source.time}`"), F.current_timestamp())
    return Rows.of(rows.frame.withColumn(source.time, now))


def refusing_malformed(source: Source, frame: DataFrame, advice: str) -> DataFrame:
    """The source's rows; the first record or file that was rejected stops the job."""

    def part(name: str, before: str = "", after: str = "") -> Column:
        value = F.get_json_object(F.col(BAD), f"$.{name}")
        return F.coalesce(F.concat(F.lit(before), value, F.lit(after)), F.lit(""))

    cause = F.concat(
        F.lit(f"source {source.name}: "),
        part("file"),
        part("line", ", line "),
        F.when(part("file") != "", ": ").otherwise(""),
        part("message"),
    )
    failed = raise_error("MS-RUN-MALFORMED", cause, fix=advice)
    checked = F.when(F.col(BAD).isNotNull(), failed.cast("boolean")).otherwise(F.lit(True))
    return frame.where(checked).drop(BAD)


def _called(frame: DataFrame, alias: str | None) -> DataFrame:
    return frame.alias(alias) if alias else frame


def source_of(node: Source | Select) -> Source | None:
    """The source at the bottom of a stream, if no operator stands between."""
    below: Node = node
    while isinstance(below, Select | TableJoin):
        below = below.input if isinstance(below, Select) else below.left.node
    return below if isinstance(below, Source) else None


class spark_errors:  # noqa: N801 -- reads as a verb where it is used
    """Turns what Spark says of an expression into an error that names its place in the SQL."""

    def __init__(self, node: Select | TableJoin | None = None) -> None:
        self._place = node.place if node else None

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PlanError) and error.at(self._place) is not error:
            raise error.at(self._place) from None
        if isinstance(error, AnalysisException | ParseException):
            text = str(error).split("\n")[0].split(" SQLSTATE:")[0]
            raise PlanError(
                "MS-PLAN-SPARK",
                f"Spark cannot resolve this query: {text}",
                fix="See the functions and types of Spark SQL.",
                place=self._place,
            ) from None
