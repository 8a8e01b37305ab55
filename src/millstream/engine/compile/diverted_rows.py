"""Compiles steps of a stream whose failed rows become dead letters ('on.error' = 'dead_letter')."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from millstream.connectors.dead_letters import BAD
from millstream.connectors.deferred_frame import DeferredFrame
from millstream.connectors.work_items import CHANGE
from millstream.engine.compile.expressions import spark_column
from millstream.engine.compile.failed_rows import evaluated, rejection
from millstream.engine.scan.loop import KEEP
from millstream.kernels.core.kernel import INSERT, UPDATE_AFTER
from millstream.plan.expressions import Expression
from millstream.plan.expressions.failures import can_fail
from millstream.plan.expressions.shapes import explode_call
from millstream.plan.facts.result_names import result_names
from millstream.plan.nodes import Output, Select

if TYPE_CHECKING:
    from millstream.engine.compile.stateless import StreamFrame

_PREDICATE, _VALUES = "_ms_predicate", "_ms_values"  # structs of values that did not fail
_PASSING = "_ms_passing"  # whether a row passes the filter


def divert_rows(
    rows: StreamFrame, alias: str | None, expressions: Sequence[Expression]
) -> StreamFrame:
    """Returns the stream, in which a row for which one of the expressions fails is a dead letter.

    The step that reads the stream evaluates them again, for data rows only.
    """
    found = [each for each in dict.fromkeys(expressions) if can_fail(each)]
    if rows.rejects_as is None or not found:
        return rows
    frame = _aliased(rows.frame, alias)
    values = [spark_column(each).alias(f"v{number}") for number, each in enumerate(found)]
    frame = _aliased(frame.select("*", evaluated(rows.is_data_row, *values).alias(_VALUES)), alias)
    is_failed = _failed(rows.is_data_row, _VALUES)
    diverted = frame.select(
        *rows.visible_columns,
        *_markers(rows, is_failed, [_rejection(rows, found, is_failed, {})], _keep(rows)),
    )
    return replace(
        rows,
        rows=DeferredFrame.of(diverted),
        filtered=True,
        has_bad_records=True,
        files=None,
        file_columns={},
        file_predicates=(),
    )


@dataclass(slots=True)
class DivertedSelect:
    """A SELECT over a stream. The columns `needed` are read; None: all of them.

    A predicate, and an event time that is computed, are evaluated for all data rows; other columns
    for rows that pass the predicate. A column that is not read is NULL if it could fail.
    """

    node: Select
    rows: StreamFrame
    needed: frozenset[str] | None
    _first: list[Expression] = field(init=False)
    _second: list[Output] = field(init=False)
    _unread: list[Output] = field(init=False)

    def __post_init__(self) -> None:
        computed = [each for each in self.node.outputs if can_fail(each.expression)]
        failing = [each for each in computed if self._is_read(each)]
        self._unread = [each for each in computed if each not in failing]
        times = [each.expression for each in failing if each.name == self.node.time]
        where = [] if self.node.where is None else [self.node.where]
        self._first = [each for each in (*times, *where) if can_fail(each)]
        self._second = [each for each in failing if each.name != self.node.time]

    def _is_read(self, output: Output) -> bool:
        is_named = self.needed is None or output.name.lower() in self.needed
        return is_named or explode_call(output.expression) is not None

    @property
    def can_fail(self) -> bool:
        return bool(self._first or self._second or self._unread)

    def project(self) -> DataFrame:
        node, rows = self.node, self.rows
        frame = _aliased(rows.frame, node.alias)
        names = result_names(node.input)
        is_data_row, rejections = rows.is_data_row, []
        failures = []
        if self._first:
            values = [
                spark_column(each).alias(f"v{number}") for number, each in enumerate(self._first)
            ]
            frame = _with_struct(frame, node.alias, evaluated(is_data_row, *values), _PREDICATE)
            failures.append(_failed(is_data_row, _PREDICATE))
            rejections.append(_rejection(rows, self._first, failures[0], names))
        keep = self._keep(is_data_row)
        passing: Column | None = None
        if keep is not None:
            frame = _with_struct(frame, node.alias, keep, _PASSING)
            passing = F.col(_PASSING)
        if self._second:
            values = [
                spark_column(_evaluated_part(each.expression)).alias(f"v{number}")
                for number, each in enumerate(self._second)
            ]
            frame = _with_struct(frame, node.alias, evaluated(passing, *values), _VALUES)
            failures.append(_failed(passing, _VALUES))
            tested = [_evaluated_part(each.expression) for each in self._second]
            rejections.append(_rejection(rows, tested, failures[-1], names))
        is_failed = reduce(Column.__or__, failures, F.lit(False))
        outputs = [self._column(each, passing, is_failed).alias(each.name) for each in node.outputs]
        return frame.select(
            *outputs,
            *_markers(rows, is_failed, rejections, F.lit(True) if passing is None else passing),
        )

    def _keep(self, is_data_row: Column | None) -> Column | None:
        """Whether a row passes the filters; None: all rows do."""
        where = self.node.where
        if where is None and not self._first:
            return is_data_row
        if where is None:
            passes = F.col(_PREDICATE).isNotNull()
        elif can_fail(where):
            passes = F.coalesce(F.col(_PREDICATE)[f"v{len(self._first) - 1}"], F.lit(False))
        else:
            passes = F.coalesce(spark_column(where), F.lit(False))
            if self._first:
                passes = F.col(_PREDICATE).isNotNull() & passes
        return (
            passes if is_data_row is None else F.when(is_data_row, passes).otherwise(F.lit(False))
        )

    def _column(self, output: Output, passing: Column | None, is_failed: Column) -> Column:
        expression = output.expression
        if expression.is_column:
            return spark_column(expression)
        if output in self._unread:
            return F.when(F.lit(False), spark_column(expression))
        if output in self._second:
            value = F.col(_VALUES)[f"v{self._second.index(output)}"]
        elif output.name == self.node.time and expression in self._first:
            return F.col(_PREDICATE)[f"v{self._first.index(expression)}"]
        else:
            value = spark_column(_evaluated_part(expression))
        call = explode_call(expression)
        if call is None and output in self._second:
            return value
        is_valid = ~is_failed if passing is None else passing & ~is_failed
        if call is None:
            return F.when(is_valid, value)
        # A row that is not valid stays one row.
        several = F.when(is_valid, value).otherwise(F.array(F.lit(None)))
        return (F.explode_outer if call.outer else F.explode)(several)


def _evaluated_part(expression: Expression) -> Expression:
    """Returns what is evaluated for a row: the argument of `explode`, which returns several."""
    call = explode_call(expression)
    return expression if call is None else call.argument


def _with_struct(frame: DataFrame, alias: str | None, value: Column, name: str) -> DataFrame:
    return _aliased(frame.select("*", value.alias(name)), alias)


def _failed(is_evaluated: Column | None, struct: str) -> Column:
    is_null = F.col(struct).isNull()
    return is_null if is_evaluated is None else F.coalesce(is_evaluated, F.lit(False)) & is_null


def _keep(rows: StreamFrame) -> Column:
    return F.col(KEEP) if rows.filtered else F.lit(True)


def _rejection(
    rows: StreamFrame,
    tested: Sequence[Expression],
    is_failed: Column,
    names: Mapping[str, str],
) -> Column:
    """The rejection of a row, whose columns have the given names in it."""
    assert rows.rejects_as is not None
    row = [F.col(f"`{name}`").alias(names.get(name, name)) for name in rows.visible_names]
    if rows.is_changelog:
        # Of a change that fails, the new value is a dead letter. The old one was a dead letter when
        # it was the new one.
        is_failed &= F.col(CHANGE).isin(INSERT, UPDATE_AFTER)
    return rejection(rows.rejects_as, tested, row, is_failed=is_failed)


def _markers(
    rows: StreamFrame, is_failed: Column, rejections: Sequence[Column], keep: Column
) -> list[Column]:
    """The engine columns of the result: KEEP, BAD, and those of the stream."""
    known = [F.col(BAD)] if rows.has_bad_records else [F.lit(None).cast("string")]
    others = [F.col(name) for name in rows.engine_columns if name != BAD]
    bad = F.coalesce(*known, *rejections).alias(BAD)
    return [(keep & ~is_failed).alias(KEEP), bad, *others]


def _aliased(frame: DataFrame, alias: str | None) -> DataFrame:
    return frame.alias(alias) if alias else frame
