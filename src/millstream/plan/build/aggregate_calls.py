"""Reads the aggregate calls of a query and converts them to calls of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from millstream.aggregate_functions import FUNCTIONS
from millstream.errors import Place, PlanError
from millstream.plan.expressions import Expression, column, join_with_and, template
from millstream.plan.expressions.compose import parenthesise
from millstream.plan.expressions.type_check import reject_aggregate_argument
from millstream.plan.nodes import Call
from millstream.plan.reject import function_name, is_aggregate, not_supported, place_of
from millstream.plan.resolve.expressions import ExpressionReader

_BY_CLASS: dict[type[exp.Expr], str] = {
    exp.Count: "count",
    exp.CountIf: "count_if",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.First: "first",
    exp.FirstValue: "first",
    exp.Last: "last",
    exp.LastValue: "last",
    exp.AnyValue: "first",
    exp.ApproxDistinct: "approx_count_distinct",
    exp.ApproxQuantile: "approx_percentile",
    exp.ArrayAgg: "collect_list",
    exp.ArrayUniqueAgg: "collect_set",
    exp.LogicalAnd: "bool_and",
    exp.LogicalOr: "bool_or",
    exp.Any: "bool_or",
    exp.ArgMax: "max_by",
    exp.ArgMin: "min_by",
}
_BY_SPELLING = {spelling: each.name for each in FUNCTIONS.values() for spelling in each.spellings}
_NULL_SENSITIVE = ("first", "last")
_DISTINCT_INSENSITIVE = ("min", "max", "bool_and", "bool_or", "collect_set")
_MODIFIERS = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """An aggregate function with its FILTER and IGNORE NULLS."""

    node: exp.Expr  # the function itself
    where: exp.Expr | None
    ignore_nulls: bool


def parse_call(node: exp.Expr) -> ParsedCall | None:
    """Returns the aggregate call at a node, or None if the node is no aggregate call."""
    where: exp.Expr | None = None
    ignore_nulls = False
    inner = node
    while isinstance(inner, _MODIFIERS):
        if isinstance(inner, exp.Filter):
            where = inner.expression.this
        ignore_nulls = ignore_nulls or isinstance(inner, exp.IgnoreNulls)
        inner = inner.this
    return ParsedCall(inner, where, ignore_nulls) if is_aggregate(inner) else None


@dataclass(slots=True)
class AggregateCalls:
    """The unique aggregate calls of a query; each is a column of the operator's result."""

    expressions: ExpressionReader
    unique: list[Call] = field(default_factory=list)
    places: list[Place | None] = field(default_factory=list)
    reserved: frozenset[str] = frozenset()  # lower names of other columns of the result

    def add(self, node: exp.Expr, parsed: ParsedCall) -> Expression:
        """Adds a call and returns the expression over the operator's result that replaces it."""
        function = self._function(parsed.node, node)
        place = place_of(node, self.expressions.scope.text)
        if function == "approx_percentile":
            return self._percentiles(parsed, place)
        call = self._build_call(function, parsed, place)
        return self._column(call, place)

    def _column(self, call: Call, place: Place | None) -> Expression:
        known = next((c for c in self.unique if replace(c, name="") == call), None)
        if known is None:
            name = f"a{len(self.unique)}"
            while name in self.reserved:
                name += "_"
            known = replace(call, name=name)
            self.unique.append(known)
            self.places.append(place)
        return column(None, known.name, known.type)

    def _function(self, inner: exp.Expr, node: exp.Expr) -> str:
        found = _BY_CLASS.get(type(inner))
        if found is None and isinstance(inner, exp.Anonymous):
            found = _BY_SPELLING.get(inner.name.lower())
        if found is None:
            text = self.expressions.scope.text
            raise _aggregate_error(
                f"there is no aggregate {function_name(node, text).lower()} over streams.",
                f"Supported: {', '.join(FUNCTIONS)}.",
                place_of(node, text),
            )
        return found

    def _build_call(self, function: str, parsed: ParsedCall, place: Place | None) -> Call:
        node, where = parsed.node, self._read_optional(parsed.where)
        arguments, distinct = _arguments(node)
        if function in ("count", "count_if"):
            return self._build_count(function, arguments, distinct, where, place)
        if distinct and function == "collect_list":
            function, distinct = "collect_set", False
        if distinct and function not in _DISTINCT_INSENSITIVE:
            raise _aggregate_error(
                f"{function} does not support DISTINCT.",
                "Remove duplicates with SELECT DISTINCT in a subquery.",
                place,
            )
        if None in arguments:
            raise _aggregate_error(
                f"{function} has too few arguments.", "See its signature in Spark SQL.", place
            )
        argument = self._read(arguments[0])
        self._check_type(function, argument, arguments[0])
        kind = _type(function, self.expressions, arguments[0])
        if function in ("max_by", "min_by"):
            by = self._read(arguments[1])
            return Call(function, argument, "", kind, by=_null_unless(by, where))
        if function in _NULL_SENSITIVE:
            if parsed.ignore_nulls:
                return Call(function, _null_unless(argument, where), "", kind)
            return Call(function, argument, "", kind, filter=where, ignore_nulls=False)
        parameters = (
            _numbers([node.args["accuracy"]], place)
            if function == "approx_count_distinct" and node.args.get("accuracy")
            else ()
        )
        return _with_filter(Call(function, argument, "", kind, parameters=parameters), where)

    def _build_count(
        self,
        function: str,
        arguments: list[exp.Expr],
        distinct: bool,
        where: Expression | None,
        place: Place | None,
    ) -> Call:
        if function == "count_if":
            condition = self._read(arguments[0])
            where = condition if where is None else template("({}) AND ({})", where, condition)
            return Call("count", None, "", "BIGINT", filter=where)
        if distinct and isinstance(arguments[0], exp.Star):
            raise _aggregate_error(
                "count(DISTINCT *) is not supported.", "List the columns.", place
            )
        if isinstance(arguments[0], exp.Star | exp.Literal):
            return Call("count", None, "", "BIGINT", filter=where)
        values = [self._read(argument) for argument in arguments]
        if len(values) > 1:
            # count ignores rows with a NULL in any of several arguments.
            known = [template("{} IS NOT NULL", value) for value in values]
            where = join_with_and(known if where is None else [parenthesise(where), *known])
            if not distinct:
                return Call("count", None, "", "BIGINT", filter=where)
            values = [_function_call("struct", values)]
        name = "count_distinct" if distinct else "count"
        return _with_filter(Call(name, values[0], "", "BIGINT"), where)

    def _percentiles(self, parsed: ParsedCall, place: Place | None) -> Expression:
        node = parsed.node
        if node.args.get("accuracy"):
            raise _aggregate_error(
                "approx_percentile has a fixed accuracy.",
                "Remove the third argument.",
                place,
            )
        quantile = node.args.get("quantile")
        if quantile is None:
            fix = "Write approx_percentile(column, 0.5)."
            raise _aggregate_error("approx_percentile needs a fraction.", fix, place)
        several = isinstance(quantile, exp.Array)
        numbers = _numbers(quantile.expressions if several else [quantile], place)
        argument = self._read(node.this)
        self._check_type("approx_percentile", argument, node.this)
        where = self._read_optional(parsed.where)
        kind = _type("approx_percentile", self.expressions, node.this)
        calls = (
            Call("approx_percentile", argument, "", kind, parameters=(number,))
            for number in numbers
        )
        columns = [self._column(_with_filter(call, where), place) for call in calls]
        if several:
            return _function_call("array", columns)
        return columns[0]

    def _check_type(self, function: str, argument: Expression, node: exp.Expr) -> None:
        source = self.expressions.source_sql(node)
        text = self.expressions.scope.text
        reject_aggregate_argument(function, argument.known_type, source, node, text)

    def _read_optional(self, node: exp.Expr | None) -> Expression | None:
        """Reads the condition of a FILTER."""
        if node is None:
            return None
        found = self._read(node)
        self.expressions.require_condition(node)
        return found

    def _read(self, node: exp.Expr) -> Expression:
        self.expressions.check(node)
        expression = self.expressions.read(node)
        if expression is None:
            raise not_supported("this expression", place_of(node, self.expressions.scope.text))
        return expression


def _arguments(node: exp.Expr) -> tuple[list[exp.Expr], bool]:
    """Returns the arguments of a call, and whether it has DISTINCT."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions), False
    first = node.this
    if isinstance(first, exp.Distinct):
        return list(first.expressions), True
    if isinstance(node, exp.Any):
        return [first.this], False
    more = [node.expression] if isinstance(node, exp.ArgMax | exp.ArgMin) else []
    if isinstance(node, exp.Count):
        more = list(node.expressions)
    return [first, *more], False


def _with_filter(call: Call, where: Expression | None) -> Call:
    """Restricts a call to rows that pass a FILTER; its argument is not evaluated on others."""
    assert call.argument is not None
    if where is None or _cannot_fail(call.argument):
        return replace(call, filter=where)
    return replace(call, argument=_null_unless(call.argument, where))


def _cannot_fail(expression: Expression) -> bool:
    """Tests whether an expression is a column, a field or a constant, which cannot fail."""
    tree = expression.tree
    while isinstance(tree, exp.Dot):
        tree = tree.this
    return isinstance(tree, exp.Column | exp.Literal | exp.Boolean | exp.Null)


def _null_unless(expression: Expression, where: Expression | None) -> Expression:
    if where is None:
        return expression
    return template("CASE WHEN {} THEN {} END", where, expression)


def _function_call(function: str, arguments: Sequence[Expression]) -> Expression:
    return template(f"{function}({', '.join('{}' for _ in arguments)})", *arguments)


def _numbers(nodes: list[exp.Expr], place: Place | None) -> tuple[float, ...]:
    numbers = []
    for node in nodes:
        if not isinstance(node, exp.Literal) or node.is_string or not 0 <= float(node.name) <= 1:
            raise _aggregate_error(
                "a fraction must be a constant from 0 to 1.", "Write a number such as 0.5.", place
            )
        numbers.append(float(node.name))
    return tuple(numbers)


_WHOLE = ("TINYINT", "SMALLINT", "INT", "INTEGER", "BIGINT", "LONG", "SHORT", "BYTE")
_FLOATING = ("DOUBLE", "FLOAT", "REAL")
_MOMENTS = ("avg", "stddev_samp", "stddev_pop", "var_samp", "var_pop")


def _type(function: str, expressions: ExpressionReader, argument: exp.Expr) -> str | None:
    """Returns the type of a call's result, or None if the argument's type does not determine it."""
    if function in ("bool_and", "bool_or"):
        return "BOOLEAN"
    if function == "approx_count_distinct":
        return "BIGINT"
    bare = expressions.column_reference(argument)
    of = (bare.column.type or "").upper() if bare else ""
    if function == "sum":
        return "BIGINT" if of in _WHOLE else "DOUBLE" if of in _FLOATING else None
    if function in _MOMENTS:
        return "DOUBLE" if of in (*_WHOLE, *_FLOATING) else None
    if function in ("collect_list", "collect_set"):
        return f"ARRAY<{of}>" if of else None
    return bare.column.type if bare else None


def _aggregate_error(cause: str, fix: str, place: Place | None) -> PlanError:
    return PlanError("MS-PLAN-AGGREGATE", cause, fix=fix, place=place)
