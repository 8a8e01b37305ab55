"""Finds the parts of an expression that can fail for a row, for the report of a failed row.

The parts are those of the text that Spark evaluates. If an expression fails, the first part in
`inner` that fails is the cause, and if there is none, the expression itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp, parse_one

from millstream.errors import Place
from millstream.plan.expressions.expression import Expression
from millstream.plan.expressions.spark_sql import to_spark_sql
from millstream.sql.dialect import Millstream
from millstream.sql.spans import span_of

_PREFIX = "SELECT "
_MAX_PARTS = 30  # whose failure is tested; longer expressions are reported as a whole
_CASTS = (exp.Cast, exp.TryCast)
_DIVISIONS = (exp.Div, exp.IntDiv, exp.Mod)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Abs)
_TIMES = (exp.StrToTime, exp.StrToDate, exp.TsOrDsToDate, exp.StrToUnix, exp.TsOrDsToTimestamp)
_COMPARISONS = (
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ),
    *(exp.In, exp.Between),
)
_SAFE = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren),
    *(exp.And, exp.Or, exp.Not, exp.Is),
)


@dataclass(frozen=True, slots=True)
class FailurePart:
    """A part of an expression, as Spark SQL.

    Attributes:
        sql: Its text.
        written: Its text as the user wrote it.
        place: Its position, if it is known.
        cause: Why it fails, if no inner part does.
        inner: The parts that it consists of, in the order of evaluation.
        when: Whether it is evaluated, if that depends on the row.
        value: The value that it converts.
        divisor: What it divides by.
    """

    sql: str
    written: str
    place: Place | None
    cause: str
    inner: tuple[FailurePart, ...] = ()
    when: str | None = None
    value: str | None = None
    divisor: str | None = None


def can_fail(expression: Expression) -> bool:
    """Returns whether an expression may fail for a row: it does more than to combine columns."""
    if expression.column is not None:
        return False
    return any(not isinstance(part, _SAFE) for part in expression.tree.walk())


def failure_of(expression: Expression) -> FailurePart:
    """Returns an expression with its parts."""
    sql = to_spark_sql(expression)
    tree: exp.Expr = parse_one(_PREFIX + sql, read=Millstream).expressions[0]
    reader = _Reader(expression, sql)
    whole = reader.part(tree, 0, len(sql))
    return whole if _count(whole) <= _MAX_PARTS else replace(whole, inner=())


def _count(part: FailurePart) -> int:
    return 1 + sum(map(_count, part.inner))


@dataclass(frozen=True, slots=True)
class _Reader:
    expression: Expression
    sql: str

    def part(self, node: exp.Expr, start: int, end: int, when: str | None = None) -> FailurePart:
        """Returns the part at these offsets of the text."""
        while isinstance(node, exp.Paren | exp.Alias):
            node = node.this
        written, place = self._source(start, end)
        return FailurePart(
            self.sql[start:end],
            written,
            place,
            _cause(node),
            tuple(self._inner(node)),
            when,
            self._text(node.this) if isinstance(node, (*_CASTS, *_TIMES)) else None,
            self._text(node.expression) if isinstance(node, _DIVISIONS) else None,
        )

    def _source(self, start: int, end: int) -> tuple[str, Place | None]:
        """Returns the user's text, and its position."""
        origin = self.expression.origin
        if origin is None:
            return self.sql[start:end], None
        spans = origin.text.origins.spans(self.sql, start, end - start)
        own = [each for each in spans if origin.span[0] <= each[0] <= origin.span[1]] or spans
        span = own[0] if own else origin.span
        place = origin.text.place(span[0]) if origin.text.origins.is_written else None
        return origin.text.excerpt(span), place

    def _inner(self, node: exp.Expr) -> Iterator[FailurePart]:
        if isinstance(node, exp.Case):
            yield from self._branches(node)
        elif isinstance(node, exp.If):
            yield from self._parts([node.this])
            condition = self._text(node.this)
            if condition is not None:
                yield from self._parts([node.args.get("true")], condition)
                yield from self._parts([node.args.get("false")], _is_not(condition))
        else:
            yield from self._parts(_operands(node))

    def _branches(self, node: exp.Case) -> Iterator[FailurePart]:
        """Yields conditions and values of CASE, each with the condition of its evaluation."""
        operand = None if node.this is None else self._text(node.this)
        if node.this is not None:
            yield from self._parts([node.this])
            if operand is None:
                return
        before: list[str] = []
        for branch in node.args["ifs"]:
            reached = " AND ".join(before) or None
            yield from self._parts([branch.this], reached)
            condition = self._text(branch.this)
            if condition is None:
                return
            if operand is not None:
                condition = f"({operand}) = ({condition})"
            terms = [*before, f"coalesce({condition}, false)"]
            yield from self._parts([branch.args["true"]], " AND ".join(terms))
            before.append(_is_not(condition))
        yield from self._parts([node.args.get("default")], " AND ".join(before))

    def _parts(
        self, nodes: Iterable[exp.Expr | None], when: str | None = None
    ) -> Iterator[FailurePart]:
        for node in nodes:
            # Variables of a lambda have no value outside of it.
            if node is None or isinstance(node, exp.Column | exp.Literal | exp.Lambda):
                continue
            span = _span(node)
            if span is None:
                yield from self._parts(_operands(node), when)
                continue
            start, end = span[0] - len(_PREFIX), span[1] + 1 - len(_PREFIX)
            yield self.part(node, start, end, when)

    def _text(self, node: exp.Expr | None) -> str | None:
        span = None if node is None else _span(node)
        if span is None:
            return None
        return self.sql[span[0] - len(_PREFIX) : span[1] + 1 - len(_PREFIX)]


def _span(node: exp.Expr) -> tuple[int, int] | None:
    """Returns the span of a part; the parser gives none to the right operand of an operator."""
    span = span_of(node)
    if span is not None or not isinstance(node, exp.Binary):
        return span
    left, right = _span(node.left), _span(node.right)
    return (left[0], right[1]) if left and right else None


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    return (each for each in node.iter_expressions() if not isinstance(each, exp.DataType))


def _is_not(condition: str) -> str:
    return f"NOT coalesce({condition}, false)"


def _cause(node: exp.Expr) -> str:
    """Returns why a part fails, without its values."""
    if isinstance(node, _CASTS):
        return f"the value cannot be cast to {node.to.sql('spark')}"
    if isinstance(node, _TIMES):
        return "the value is not a time in the expected format"
    if isinstance(node, (*_ARITHMETIC, *_DIVISIONS)):
        return "the result is out of the range of its type, or an operand is not a number"
    if isinstance(node, _COMPARISONS):
        return "a value cannot be converted to the type of the other one"
    if isinstance(node, exp.Bracket):
        return "there is no element with this index"
    return "Spark cannot evaluate it for the values of the row"
