"""Rejects SQL that parses but is not supported, with its name and position.

A tree can contain only clauses that the planner supports; any other clause is rejected. So a clause
that a new version of sqlglot parses is never ignored silently.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from millstream.aggregate_functions import FUNCTIONS
from millstream.errors import Place, PlanError
from millstream.sql.spans import span_of
from millstream.sql.text import SourceText

_SELECT = {
    *("expressions", "from_", "joins", "where", "with_", "emit", "options", "stream_window"),
    *("group", "having", "qualify", "windows", "distinct", "order", "limit"),
}
_UNION = {"this", "expression", "distinct", "by_name", "on", "with_", "emit", "options"}
_RELATION = {"this", "alias", "within", "stream_window", "version", "match_condition"}
_JOIN = {"this", "side", "kind", "method", "on", "using"}
_CLAUSES = {
    "order": "ORDER BY",
    "sort": "SORT BY",
    "cluster": "CLUSTER BY",
    "distribute": "DISTRIBUTE BY",
    "limit": "LIMIT",
    "offset": "OFFSET",
    "laterals": "LATERAL VIEW",
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "hint": "a hint",
    "joins": "a join inside a FROM item",
}


FIRST_ROWS_FIX = (
    "For the first rows of each key or window, write SELECT … FROM (SELECT *, row_number() OVER "
    "(PARTITION BY … ORDER BY …) AS n FROM …) WHERE n <= 3."
)
_EXPLODE = "Write explode(…) in the select list: SELECT id, explode(items) AS item FROM …"
_FIXES = {
    "order": FIRST_ROWS_FIX,
    "sort": FIRST_ROWS_FIX,
    "limit": FIRST_ROWS_FIX,
    "laterals": _EXPLODE,
}


def not_supported(what: str, place: Place | None, fix: str = "") -> PlanError:
    return PlanError("MS-PLAN-NOT-YET", f"{what} cannot be run yet.", fix=fix, place=place)


def offset_of(node: exp.Expr) -> int | None:
    """Returns where a node's text begins, as exactly as the tree has positions."""
    span = span_of(node)
    if span:
        return span[0]
    starts = [
        found
        for part in node.walk()
        for found in ((span_of(part) or (None,))[0], part.meta.get("start"))
        if isinstance(found, int)
    ]
    return min(starts, default=None)


def place_of(node: exp.Expr, text: SourceText, default: Place | None = None) -> Place | None:
    offset = offset_of(node)
    return default if offset is None else text.place(offset)


def reject_clauses(query: exp.Select, text: SourceText) -> None:
    """Rejects unsupported clauses of a SELECT, its tables and its joins."""
    place = place_of(query, text)
    _reject_arguments(query.args, _SELECT, text, place)
    joins: list[exp.Join] = query.args.get("joins") or []
    from_ = query.args.get("from_")
    for item in [from_.this, *joins] if from_ else joins:
        if isinstance(item, exp.Join):
            _reject_arguments(item.args, _JOIN, text, place_of(item, text))
        relation = item.this if isinstance(item, exp.Join) else item
        _reject_relation(relation, text, place_of(relation, text, place))


def reject_clauses_of_union(query: exp.SetOperation, text: SourceText) -> None:
    """Rejects clauses that apply to the result of a UNION ALL."""
    _reject_arguments(query.args, _UNION, text, place_of(query, text))


def _reject_relation(relation: exp.Expr, text: SourceText, place: Place | None) -> None:
    if not isinstance(relation, exp.Table | exp.Subquery):
        fix = _EXPLODE if isinstance(relation, exp.Unnest | exp.Lateral) else ""
        raise not_supported("a FROM item that is neither a name nor a query", place, fix)
    if isinstance(relation, exp.Table) and not isinstance(relation.this, exp.Identifier):
        raise not_supported("a function in FROM", place)
    _reject_arguments(relation.args, _RELATION | {"db", "catalog"}, text, place)
    alias = relation.args.get("alias")
    if alias and alias.args.get("columns"):
        raise not_supported("a list of columns after an alias", place)
    match = relation.args.get("match_condition")
    if match is not None and not isinstance(relation.parent, exp.Join):
        raise PlanError(
            "MS-PLAN-TEMPORAL",
            "MATCH_CONDITION is after the first table of FROM.",
            fix="Write it after the joined table: ASOF JOIN … MATCH_CONDITION (…) ON …",
            place=place,
        )
    if version := relation.args.get("version"):
        if is_proctime(version) and version.expression.expressions:
            raise PlanError(
                "MS-PLAN-TABLE",
                "PROCTIME takes no arguments.",
                fix="Write FOR SYSTEM_TIME AS OF PROCTIME().",
                place=place,
            )
        if not isinstance(relation.parent, exp.Join):
            raise PlanError(
                "MS-PLAN-TEMPORAL",
                "AS OF is after the first table of FROM, which has no row to take the time from.",
                fix="Write it after the joined table: JOIN … FOR SYSTEM_TIME AS OF … ON …",
                place=place,
            )


def is_proctime(version: exp.Expr) -> bool:
    """Returns whether a version is AS OF PROCTIME()."""
    moment = version.expression
    return isinstance(moment, exp.Anonymous) and moment.name.upper() == "PROCTIME"


def _reject_arguments(
    args: Mapping[str, object], allowed: set[str], text: SourceText, place: Place | None
) -> None:
    for key, value in args.items():
        if key in allowed or value is None or value is False or value == []:
            continue
        first = value[0] if isinstance(value, list) else value
        if isinstance(first, exp.Expr):
            place = place_of(first, text, place)
        what = _CLAUSES.get(key, key.strip("_").upper())
        raise not_supported(what, place, _FIXES.get(key, ""))


def reject_aggregates(part: exp.Expr, text: SourceText) -> None:
    """Rejects a part of an expression that is an aggregate or a window function."""
    if isinstance(part, exp.Window):
        raise PlanError(
            "MS-PLAN-OVER",
            "a window function (OVER) is only allowed in the select list and in QUALIFY.",
            fix="Compute it in a query in FROM, and use its column here.",
            place=place_of(part, text),
        )
    if is_aggregate(part):
        name = function_name(part, text)
        raise PlanError(
            "MS-PLAN-AGGREGATE",
            f"the aggregate {name} is used where rows are not grouped.",
            fix="Filter groups with HAVING; for nested aggregates, aggregate in a query in FROM.",
            place=place_of(part, text),
        )


def function_name(node: exp.Expr, text: SourceText) -> str:
    """Returns the name of a function as the user wrote it."""
    return text.parsed[offset_of(node) or 0 :].split("(")[0].strip()


def is_aggregate(node: exp.Expr) -> bool:
    if isinstance(node, exp.Any):  # any(x) of Spark; `= ANY (…)` is not Spark's
        return isinstance(node.this, exp.Paren)
    is_known = isinstance(node, exp.AggFunc) and not isinstance(node, _WINDOW_ONLY)
    return is_known or _anonymous_name(node) in _ANONYMOUS_AGGREGATES


def _anonymous_name(node: exp.Expr) -> str:
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


_WINDOW_ONLY = (
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.Ntile, exp.CumeDist),
    *(exp.Lag, exp.Lead, exp.NthValue),
)
# Aggregate functions of Spark that sqlglot does not know: those of FUNCTIONS and others.
_ANONYMOUS_AGGREGATES = frozenset(
    spelling for each in FUNCTIONS.values() for spelling in each.spellings
) | {
    *("bitmap_construct_agg", "bitmap_or_agg", "count_min_sketch", "histogram_numeric"),
    *("hll_sketch_agg", "product", "schema_of_json_agg", "try_avg"),
    *("try_sum", "bit_and", "bit_or", "bit_xor", "kurtosis", "skewness", "regr_count", "listagg"),
    *("string_agg", "percentile", "median", "mode", "grouping", "grouping_id"),
}
