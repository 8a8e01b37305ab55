"""Parses SQL text into statements; the only entry point from text."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from millstream.errors import Place, SqlError
from millstream.sql import clauses
from millstream.sql.dialect import Millstream
from millstream.sql.intervals import interval_micros
from millstream.sql.limits import deep_recursion
from millstream.sql.properties import normalize_name
from millstream.sql.size import nesting_error, reject_deep_tree, reject_large_tokens
from millstream.sql.spans import PositionedParseError, span_of
from millstream.sql.statements import (
    ColumnDef,
    ComputedColumn,
    CreateSink,
    CreateSource,
    CreateStream,
    CreateTable,
    InsertInto,
    Property,
    Query,
    SelectStatement,
    SetProperty,
    Statement,
    WatermarkDef,
)
from millstream.sql.text import SourceText, find_unclosed, substitute_variables


def parse(text: str, variables: Mapping[str, str] | None = None) -> list[Statement]:
    """Returns the statements of a text, with each `${name}` substituted from `variables`."""
    source = substitute_variables(text, variables or {})
    return [
        _statement(tree, source)
        for tree in _trees(source)
        if tree is not None and not isinstance(tree, exp.Semicolon)
    ]


def properties_of(options: list[exp.Expr], text: SourceText) -> tuple[Property, ...]:
    """Returns the properties of a WITH clause; rejects a property that is specified twice."""
    found: dict[str, Property] = {}
    for option in options:
        start, _ = option.meta["span"]
        value_start, _ = option.meta["value_span"]
        name = normalize_name(option.args["this"])
        item = Property(name, option.args["expression"], text.place(start), text.place(value_start))
        if name in found:
            raise SqlError(
                "MS-SQL-PARSE",
                f"'{name}' is specified twice, first at {found[name].place}.",
                place=item.place,
            )
        found[name] = item
    return tuple(found.values())


def _trees(source: SourceText) -> list[exp.Expr | None]:
    dialect = Millstream()
    parser = dialect.parser()

    def too_deep() -> SqlError:
        return nesting_error(source, parser._curr.start if parser._curr else 0)

    try:
        tokens = dialect.tokenize(source.parsed)
        reject_large_tokens(tokens, source)
        with deep_recursion(too_deep):
            trees = parser.parse(tokens, source.parsed)
    except PositionedParseError as error:
        raise SqlError(
            error.code,
            _cause(error) if error.code == "MS-SQL-PARSE" else error.message,
            fix=error.fix or _fix(error),
            place=source.place(error.offset),
        ) from None
    except TokenError:
        raise SqlError(
            "MS-SQL-PARSE",
            "a string, a quoted name or a comment is not closed.",
            fix="Close the one that starts here.",
            place=source.place(find_unclosed(source.parsed)),
        ) from None
    except ParseError as error:
        raise SqlError("MS-SQL-PARSE", str(error).split("\n")[0]) from None
    for tree in trees:
        if tree is not None:
            reject_deep_tree(tree, source)
    return trees


def _cause(error: PositionedParseError) -> str:
    """Rewrites a message of sqlglot."""
    found = f'unexpected "{error.found}"' if error.found else "unexpected end of the text"
    message = error.message
    if message.startswith("Expecting "):
        return f"{found}, expected {message.removeprefix('Expecting ')}."
    if message.startswith("Expected table name"):
        return f"{found}, expected the name of a table."
    if message.startswith("Required keyword") or "Unexpected token" in message:
        return f"{found}."
    return f"{found}: {message}."


def _fix(error: PositionedParseError) -> str:
    names = ("Expecting the name of", "Expecting a column", "Expected table name")
    if error.message.startswith(names) and error.found.isidentifier():
        return f"Put a name that is a keyword in backticks: `{error.found}`."
    return ""


def _statement(tree: exp.Expr, text: SourceText) -> Statement:
    place = _place(tree, text)
    if isinstance(tree, clauses.SetStatement):
        (setting,) = properties_of(tree.args["options"], text)
        return SetProperty(setting, place)
    if isinstance(tree, clauses.InsertInto):
        return InsertInto(tree.name, _query(tree.expression, text), place)
    if isinstance(tree, clauses.CreateStatement):
        return _create_statement(tree, text, place)
    return SelectStatement(_query(tree, text), place)


def _create_statement(tree: clauses.CreateStatement, text: SourceText, place: Place) -> Statement:
    kind, query = tree.args["kind"], tree.args.get("expression")
    if kind == "STREAM":
        clause = tree.args.get("watermark")
        watermark = _watermark(clause, text) if clause else None
        return CreateStream(tree.name, _query(tree.expression, text), place, watermark)
    properties = properties_of(tree.args.get("options") or [], text)
    if kind == "SINK":
        return CreateSink(tree.name, properties, _query(query, text) if query else None, place)
    items: list[exp.Expr] = tree.args["columns"]
    columns = tuple(
        ColumnDef(item.name, item.args["kind"].sql("spark"), _place(item, text))
        for item in items
        if isinstance(item, clauses.SourceColumn)
    )
    computed = tuple(
        ComputedColumn(item.name, item.expression, text, _place(item, text))
        for item in items
        if isinstance(item, clauses.ComputedColumn)
    )
    if computed and kind == "TABLE":
        raise SqlError(
            "MS-SQL-STATEMENT",
            f"the table {tree.name} has a computed column, and only a source can have one.",
            fix="Declare a column with a type, and compute the value in the query.",
            place=computed[0].place,
        )
    watermarks = [item for item in items if isinstance(item, clauses.WatermarkClause)]
    if len(watermarks) > 1:
        raise SqlError(
            "MS-SQL-WATERMARK",
            f"{tree.name} has more than one watermark.",
            place=_place(watermarks[1], text),
        )
    watermark = _watermark(watermarks[0], text) if watermarks else None
    primary_key = _primary_key(items)
    if kind == "TABLE":
        return CreateTable(tree.name, columns, watermark, primary_key, properties, place)
    if primary_key:
        raise SqlError(
            "MS-SQL-PARSE",
            f"the source {tree.name} declares a primary key, and only a table can have one.",
            fix="Write CREATE TABLE, or remove the key.",
            place=place,
        )
    return CreateSource(tree.name, columns, watermark, properties, place, computed)


def _primary_key(items: list[exp.Expr]) -> tuple[str, ...]:
    inline = [item.name for item in items if item.args.get("primary")]
    named = [
        column.name
        for item in items
        if isinstance(item, clauses.PrimaryKeyClause)
        for column in item.expressions
    ]
    return tuple(inline + named)


def _watermark(clause: clauses.WatermarkClause, text: SourceText) -> WatermarkDef:
    column, value = clause.name, clause.expression
    delay: int | None = 0
    if isinstance(value, exp.Sub):
        value, delay = value.this, interval_micros(value.expression, text)
    same = isinstance(value, exp.Column) and value.sql().lower() == column.lower()
    if isinstance(value, exp.Column) and value.this.quoted:
        same = len(value.parts) == 1 and value.name.lower() == column.lower()
    if not same or delay is None or delay < 0:
        raise SqlError(
            "MS-SQL-WATERMARK",
            f"the watermark of {column} is not {column} minus a fixed interval.",
            fix=f"Write WATERMARK FOR {column} AS {column} - INTERVAL 5 SECONDS, "
            f"or AS {column} for no delay.",
            place=_place(clause, text),
        )
    return WatermarkDef(column, delay, _place(clause, text))


def _query(tree: exp.Expr, text: SourceText) -> Query:
    if not isinstance(tree, exp.Query):
        raise SqlError("MS-SQL-PARSE", "a query is expected here.", place=_place(tree, text))
    return Query(tree, text, _place(tree, text))


def _place(node: exp.Expr, text: SourceText) -> Place:
    span = span_of(node)
    return text.place(span[0] if span else 0)
