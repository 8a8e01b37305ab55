"""A statement in a few plain lines, for golden files."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from millstream.errors import MillstreamError
from millstream.plan.resolve.source_text import flat_text
from millstream.sql.intervals import interval_micros
from millstream.sql.parse import parse, properties_of
from millstream.sql.spans import span_of
from millstream.sql.statements import (
    CreateSink,
    CreateSource,
    CreateStream,
    CreateTable,
    InsertInto,
    Property,
    Query,
    SetProperty,
    Statement,
)
from millstream.sql.text import SourceText
from millstream.temporal import format_span


def describe(sql: str) -> str:
    """The statements of a text, or the error that reading it gives."""
    try:
        return "\n".join(line for statement in parse(sql) for line in _statement(statement))
    except MillstreamError as error:
        return str(error)


def _statement(statement: Statement) -> Iterator[str]:
    if isinstance(statement, CreateSource | CreateTable):
        kind = "source" if isinstance(statement, CreateSource) else "table"
        yield f"{kind} {statement.name}"
        yield "  columns " + ", ".join(f"{c.name} {c.type}" for c in statement.columns)
        if statement.watermark:
            mark = statement.watermark
            yield f"  watermark {mark.column} - {format_span(mark.delay)}"
        if isinstance(statement, CreateTable) and statement.primary_key:
            yield f"  primary key {', '.join(statement.primary_key)}"
        yield from _properties(statement.properties)
    elif isinstance(statement, CreateStream):
        yield f"stream {statement.name}"
        yield from _query(statement.query)
    elif isinstance(statement, CreateSink):
        yield f"sink {statement.name}"
        yield from _properties(statement.properties)
        if statement.query:
            yield from _query(statement.query)
    elif isinstance(statement, InsertInto):
        yield f"insert into {statement.sink}"
        yield from _query(statement.query)
    elif isinstance(statement, SetProperty):
        yield f"set {statement.property.name} = {statement.property.value}"
    else:
        yield "query"
        yield from _query(statement.query)


def _properties(properties: tuple[Property, ...]) -> Iterator[str]:
    for item in properties:
        yield f"  with {item.name} = {item.value}"


def _query(query: Query) -> Iterator[str]:
    for line in _tree(query.tree, query.text):
        yield f"  {line}"


def _tree(tree: exp.Expr, text: SourceText) -> Iterator[str]:
    if isinstance(tree, exp.Select):
        for cte in tree.args["with_"].expressions if tree.args.get("with_") else []:
            yield f"with {cte.alias} as"
            yield from (f"  {line}" for line in _tree(cte.this, text))
        yield from _select(tree, text)
    elif isinstance(tree, exp.SetOperation):
        yield tree.key
        for side in (tree.left, tree.right):
            yield from (f"  {line}" for line in _tree(side, text))
    elif isinstance(tree, exp.Subquery):
        yield from _tree(tree.this, text)
    if emit := tree.args.get("emit"):
        yield f"emit {emit.name.lower()}"
    for item in properties_of(tree.args.get("options") or [], text):
        yield f"with {item.name} = {item.value}"


def _select(tree: exp.Select, text: SourceText) -> Iterator[str]:
    distinct = tree.args.get("distinct")
    on = " distinct" if distinct else ""
    on += f" on {_text(distinct.args['on'], text)}" if distinct and distinct.args.get("on") else ""
    yield f"select{on} {', '.join(_text(item, text) for item in tree.expressions)}"
    yield from _relation("from", tree.args["from_"].this, text)
    for join in tree.args.get("joins") or []:
        words = [join.args.get(key) or "" for key in ("method", "side", "kind")]
        yield from _relation(" ".join([*filter(None, words), "join"]).lower(), join.this, text)
        if join.args.get("on"):
            yield f"  on {_text(join.args['on'], text)}"
        if join.args.get("using"):
            yield f"  using {', '.join(name.name for name in join.args['using'])}"
    for key in ("where", "group", "having", "qualify", "order", "limit"):
        if tree.args.get(key):
            yield _text(tree.args[key], text)
    if window := tree.args.get("stream_window"):
        yield _window(window)


def _relation(word: str, item: exp.Expr, text: SourceText) -> Iterator[str]:
    called = f" as {item.alias}" if item.alias and item.alias != item.name else ""
    if isinstance(item, exp.Subquery):
        yield f"{word} query{called}"
        yield from (f"  {line}" for line in _tree(item.this, text))
    else:
        yield f"{word} {item.name}{called}"
    if version := item.args.get("version"):
        yield f"  as of {_text(version.expression, text)}"
    if within := item.args.get("within"):
        yield f"  within {_span(within.this)}"
    if window := item.args.get("stream_window"):
        yield f"  {_window(window)}"


def _window(window: exp.Expr) -> str:
    arguments = (f"{a.name} {_span(a.expression)}".strip() for a in window.expressions)
    clock = " on processing time" if window.args.get("wall_clock") else ""
    return f"window {window.args['kind'].lower()} {', '.join(arguments)}{clock}"


def _span(node: exp.Expr) -> str:
    micros = interval_micros(node)
    return format_span(micros) if micros is not None else "?"


def _text(node: exp.Expr, text: SourceText) -> str:
    span = span_of(node)
    return flat_text(text.parsed, span, {}) if span else node.sql("spark")
