"""Rejects queries over tables where a stream is needed, with an equivalent join as the fix."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.expressions import column
from millstream.plan.nodes import Column
from millstream.plan.reject import place_of
from millstream.plan.resolve.names import quote
from millstream.plan.resolve.scope import ResolvedName
from millstream.plan.resolve.source_text import contains_variable, flat_text
from millstream.sql.spans import span_of
from millstream.sql.text import SourceText
from millstream.suggestions import same

_IS_TABLE = "table"  # marks names of tables


def mark_tables(tree: exp.Expr, is_table: Callable[[exp.Expr], bool]) -> None:
    """Marks every table name in a query, for code that cannot resolve names."""
    for item in tree.find_all(exp.Table):
        item.meta[_IS_TABLE] = is_table(item)


def reject_table_query_join(join: exp.Join, text: SourceText) -> None:
    """Rejects a join with a query over only a table."""
    item = join.this
    table = _only_table(item.this) if isinstance(item, exp.Subquery) else None
    if table is None:
        return
    written = _join_sql(join, item, table, text)
    raise PlanError(
        "MS-PLAN-TABLE",
        f"{table.name} is a table; a stream can be joined with it, but not with a query over it.",
        fix=f"Join {table.name} itself, and filter its rows in ON: {written}.",
        place=place_of(table, text),
    )


def _join_sql(join: exp.Join, item: exp.Subquery, table: exp.Table, text: SourceText) -> str:
    alias = item.alias or table.alias_or_name
    named = table.name if same(alias, table.name) else f"{table.name} {quote(alias)}"
    inner, on, whole, own = item.this, join.args.get("on"), span_of(join), span_of(item)
    if (
        on is None
        or whole is None
        or own is None
        or not _is_projection(inner)
        or contains_variable(whole, text)
    ):
        return f"JOIN {named} ON …"
    before = flat_text(text.parsed, (whole[0], own[0] - 1), {})
    terms = [_term_sql(on, text), *_filter_terms(inner, table, alias, text)]
    return f"{before} {named} ON {' AND '.join(terms)}"


def table_join_fix(node: exp.Expr, text: SourceText) -> str:
    """Returns a fix with the join equivalent to IN or EXISTS over a table; otherwise empty."""
    parent = node.parent
    inner = node.this if isinstance(node, exp.Subquery) else node
    table = _only_table(inner)
    if not isinstance(inner, exp.Select) or table is None:
        return ""
    if not isinstance(parent, exp.In | exp.Exists):
        return ""
    word = "IN" if isinstance(parent, exp.In) else "EXISTS"
    named = f"{table.name} {table.alias}" if table.alias else table.name
    on = _on_sql(parent, inner, table, text)
    if on is None:
        return (
            f"Write LEFT SEMI JOIN {named} ON …, or LEFT ANTI JOIN for NOT {word}; a table needs "
            "no time bound."
        )
    kind = "ANTI" if isinstance(parent.parent, exp.Not) else "SEMI"
    return f"Write LEFT {kind} JOIN {named} ON {on}; a table needs no time bound."


def _on_sql(parent: exp.Expr, inner: exp.Select, table: exp.Table, text: SourceText) -> str | None:
    where, outer = parent.find_ancestor(exp.Where, exp.Select), parent.find_ancestor(exp.Select)
    span = span_of(where) if isinstance(where, exp.Where) else None
    if span is None or contains_variable(span, text) or outer is None:
        return None
    if isinstance(parent, exp.Exists):
        condition = inner.args.get("where")
        return _term_sql(condition.this, text) if condition is not None else None
    shown = inner.expressions[0]
    if (
        not _is_projection(inner)
        or len(inner.expressions) != 1
        or not isinstance(shown, exp.Column)
    ):
        return None
    alias, given = table.alias_or_name, _term_sql(parent.this, text)
    if isinstance(parent.this, exp.Column) and not parent.this.table and _reads_one_stream(outer):
        given = f"{quote(outer.args['from_'].this.alias_or_name)}.{given}"
    terms = [f"{given} = {quote(alias)}.{quote(shown.name)}"]
    return " AND ".join([*terms, *_filter_terms(inner, table, alias, text)])


def _reads_one_stream(query: exp.Select) -> bool:
    """Returns whether a query reads one named stream."""
    from_ = query.args.get("from_")
    return from_ is not None and bool(from_.this.alias_or_name) and not query.args.get("joins")


def _only_table(query: exp.Expr) -> exp.Table | None:
    """Returns the table that a query reads if it reads nothing else."""
    from_ = query.args.get("from_") if isinstance(query, exp.Select) else None
    table = from_.this if from_ is not None else None
    if not isinstance(table, exp.Table) or not table.meta.get(_IS_TABLE) or query.args.get("joins"):
        return None
    return table


def _is_projection(query: exp.Select) -> bool:
    """Returns whether a query has only unchanged columns and a filter."""
    others = {name for name, value in query.args.items() if value}
    others -= {"expressions", "from_", "where", "kind"}
    return not others and all(isinstance(each, exp.Column | exp.Star) for each in query.expressions)


def _filter_terms(query: exp.Select, table: exp.Table, alias: str, text: SourceText) -> list[str]:
    """Returns WHERE of a query over a table, with its columns qualified by the alias."""
    where = query.args.get("where")
    if where is None:
        return []
    columns = {}
    for node in where.find_all(exp.Column):
        span = span_of(node)
        if span is not None and (not node.table or same(node.table, table.alias_or_name)):
            own = column(alias, node.name)
            columns[span[0]] = ResolvedName(own, *span, (), Column(node.name), False)
    return [_term_sql(where.this, text, columns)]


def _term_sql(
    node: exp.Expr, text: SourceText, columns: dict[int, ResolvedName] | None = None
) -> str:
    """Returns the user's text of an expression, in parentheses if AND cannot follow it."""
    span = span_of(node)
    written = flat_text(text.parsed, span, columns or {}) if span else node.sql("spark")
    return f"({written})" if isinstance(node, exp.Or) else written
