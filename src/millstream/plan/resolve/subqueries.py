"""Rejects queries inside expressions, with a rewrite of the user's own text as the fix."""

from __future__ import annotations

import re

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.reject import is_aggregate, place_of
from millstream.plan.resolve.table_queries import table_join_fix
from millstream.sql.spans import span_of
from millstream.sql.text import SourceText
from millstream.suggestions import same

_RUNNING = "OVER (ORDER BY _EVENT_TIME ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"


def subquery_error(node: exp.Expr, text: SourceText) -> PlanError:
    parent = node.parent
    if fix := table_join_fix(node, text):
        pass
    elif isinstance(node, exp.Subquery) and isinstance(parent, exp.In):
        fix = "Write LEFT SEMI JOIN … ON …, or LEFT ANTI JOIN for NOT IN, with a time bound."
    elif isinstance(parent, exp.Exists):
        fix = "Write LEFT SEMI JOIN … ON …, or LEFT ANTI JOIN for NOT EXISTS, with a time bound."
    else:
        fix = _running_value_fix(node, text) or (
            "Add its value to every row in a query in FROM: join a windowed aggregate, or "
            f"write agg(x) {_RUNNING}."
        )
    return PlanError(
        "MS-PLAN-SUBQUERY",
        "a query inside an expression has no single value while its stream continues.",
        fix=fix,
        place=place_of(node, text),
    )


def _running_value_fix(node: exp.Expr, text: SourceText) -> str | None:
    """Returns a rewrite with the running value if the query aggregates the same stream, or None."""
    inner, outer = node, node.find_ancestor(exp.Select)
    while isinstance(inner, exp.Subquery):
        inner = inner.this
    if (
        not isinstance(inner, exp.Select)
        or outer is None
        or _has_other_clauses(inner)
        or _has_other_clauses(outer)
    ):
        return None
    value, stream = _single_aggregate(inner), _stream_name(inner)
    if value is None or stream is None or not same(stream, _stream_name(outer) or ""):
        return None
    condition, span = _condition(node), span_of(node)
    whole = span_of(condition) if condition is not None else None
    if whole is None or span is None:
        return None
    call = _unqualified(_cut(text, span_of(value) or (0, -1)), inner)
    name = "_".join(re.findall(r"\w+", call.lower()))
    compared = text.parsed[whole[0] : span[0]] + name + text.parsed[span[1] + 1 : whole[1] + 1]
    return (
        "For the value at the time of each row, write "
        f"SELECT … FROM (SELECT *, {call} {_RUNNING} AS {name} FROM {stream}) "
        f"WHERE {_unqualified(_flat(compared), outer)}."
    )


def _has_other_clauses(query: exp.Select) -> bool:
    """Returns whether a query has other clauses than FROM, WHERE and a select list."""
    plain = {"expressions", "from_", "emit", "options", "kind"}
    more = {name for name, value in query.args.items() if value} - plain
    return bool(more - ({"where"} if query.find_ancestor(exp.Select) is None else set()))


def _single_aggregate(query: exp.Select) -> exp.Expr | None:
    if len(query.expressions) != 1:
        return None
    item = query.expressions[0]
    value: exp.Expr = item.this if isinstance(item, exp.Alias) else item
    return value if is_aggregate(value) and span_of(value) else None


def _stream_name(query: exp.Select) -> str | None:
    from_ = query.args.get("from_")
    table = from_.this if from_ else None
    return table.name if isinstance(table, exp.Table) and not table.args.get("db") else None


def _condition(node: exp.Expr) -> exp.Expr | None:
    """Returns the WHERE condition that contains a query."""
    where = node.find_ancestor(exp.Where, exp.Select)
    found: exp.Expr | None = where.this if isinstance(where, exp.Where) else None
    return found


def _unqualified(text: str, query: exp.Select) -> str:
    """The text without the stream's alias, which the rewrite does not have."""
    table = query.args["from_"].this
    return re.sub(rf"\b(?:{re.escape(table.alias_or_name)})\.", "", text, flags=re.IGNORECASE)


def _cut(text: SourceText, span: tuple[int, int]) -> str:
    return _flat(text.parsed[span[0] : span[1] + 1])


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
