"""A sqlglot parser for Spark SQL with streaming clauses.

What it changes in sqlglot: an unknown CREATE would become an opaque command; EMIT and WITHIN would
be table aliases, so they are reserved there; WITH ( after a table would be hints. The compiled
parser, `sqlglot[c]`, cannot be subclassed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from millstream.sql import clauses
from millstream.sql.other_dialects import (
    reject_column_list,
    reject_create,
    reject_grace_period,
    reject_other_emit,
    reject_window_kind,
)
from millstream.sql.spans import PositionedParseError, SpannedParser, set_span
from millstream.sql.types import find_unsupported_type
from millstream.sql.window_functions import mark_window_functions, reject_window_table_function

WINDOW_KINDS = ("TUMBLING", "SLIDING", "SESSION")
CREATABLE = ("SOURCE", "TABLE", "STREAM", "SINK")
STATEMENTS = "CREATE SOURCE, CREATE TABLE, CREATE STREAM, CREATE SINK, INSERT INTO, SET, SELECT"
ClauseParser = Callable[[Any], tuple[str, Any]]
_NO_ALIAS = ("WITHIN", "EMIT", "MATCH_CONDITION")
_VALUES = (TokenType.STRING, TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE)


def _parse_with_span(self: Any, parse: ClauseParser) -> tuple[str, Any]:
    """Parses a clause of a query and sets its span."""
    first = self._curr
    key, value = parse(self)
    if isinstance(value, exp.Expr):
        set_span(value, first, self._prev)
    return key, value


class StreamParser(SpannedParser):
    """Parses Millstream's statements, and Spark's queries with Millstream's clauses."""

    TABLE_POSTFIX_TOKENS = SparkParser.TABLE_POSTFIX_TOKENS | {TokenType.WINDOW}
    TABLE_TERMINATORS = SparkParser.TABLE_TERMINATORS - {TokenType.WINDOW, TokenType.WITH}
    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, ClauseParser]] = {
        token: partial(_parse_with_span, parse=parse)
        for token, parse in SparkParser.QUERY_MODIFIER_PARSERS.items()
    }

    def parse(self, raw_tokens: list[Token], sql: str) -> list[exp.Expr | None]:
        mark_window_functions(raw_tokens)
        return super().parse(raw_tokens, sql)

    # Statements

    def _parse_statement(self) -> exp.Expr | None:
        return self._spanned(self._parse_unspanned_statement) if self._curr else None

    def _parse_unspanned_statement(self) -> exp.Expr | None:
        first = self._curr
        if self._match(TokenType.SEMICOLON):  # a comment follows it
            return exp.Semicolon()
        if self._match(TokenType.CREATE):
            return self._parse_create_statement(first)
        if self._match(TokenType.INSERT):
            return self._parse_insert_into(first)
        if self._match(TokenType.SET):
            return self._parse_job_setting()
        if first.token_type in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
            return self._parse_query()
        return self.reject(
            f'no statement starts with "{first.text}".', first, f"Write one of {STATEMENTS}."
        )

    def _parse_create_statement(self, first: Token) -> exp.Expr:
        if not self._match_texts(CREATABLE):
            reject_create(self, first)
        kind = self._prev.text.upper()
        name = self._parse_name(f"the name of the {kind.lower()}")
        created = clauses.CreateStatement(this=name, kind=kind)
        if kind in ("SOURCE", "TABLE"):
            created.set("columns", self._parse_wrapped_csv(self._parse_source_item))
        elif kind == "STREAM" and self._match(TokenType.L_PAREN):
            created.set("watermark", self._parse_stream_watermark())
        if kind != "STREAM":
            created.set("options", self._parse_options())
        if kind == "STREAM" or (kind == "SINK" and self._curr):
            self._match_or_fail(TokenType.ALIAS, "AS and a query")
            created.set("expression", self._parse_query())
        return created

    def _parse_insert_into(self, first: Token) -> exp.Expr:
        if not self._match(TokenType.INTO):
            self.reject(
                "INSERT needs INTO and the name of a sink.",
                first,
                "Write INSERT INTO sink SELECT …",
            )
        name = self._parse_name("the name of the sink")
        reject_column_list(self)
        return clauses.InsertInto(this=name, expression=self._parse_query())

    def _parse_job_setting(self) -> exp.Expr:
        token = self._curr
        if not self._match(TokenType.STRING):
            self.raise_error("Expecting a setting as SET 'name' = 'value'")
        self._match_or_fail(TokenType.EQ, "=")
        return clauses.SetStatement(options=[self._option_value(token)])

    def _parse_query(self) -> exp.Expr:
        query = self._spanned(self._parse_ddl_select)
        if query is None:
            self.raise_error("Expecting a query")
        self._parse_tail(query)
        return query

    def _parse_name(self, what: str) -> exp.Expr:
        name = self._parse_id_var(any_token=False)
        if name is None:
            self.raise_error(f"Expecting {what}")
        return name

    # Columns of a source

    def _parse_source_item(self) -> exp.Expr | None:
        return self._spanned(self._parse_unspanned_source_item)

    def _parse_unspanned_source_item(self) -> exp.Expr | None:
        if self._match_text_seq("WATERMARK", "FOR"):
            column = self._parse_name("the watermark's column")
            self._match_or_fail(TokenType.ALIAS, "AS")
            return clauses.WatermarkClause(this=column, expression=self._parse_bitwise())
        if self._match(TokenType.PRIMARY_KEY):
            return clauses.PrimaryKeyClause(expressions=self._parse_wrapped_id_vars())
        name = self._parse_name("a column")
        if self._match(TokenType.ALIAS):
            expression = self._parse_disjunction()
            if expression is None:
                self.raise_error(f"Expecting an expression for the column {name.name}")
            return clauses.ComputedColumn(this=name, expression=expression)
        type_token, start = self._curr, self._index
        data_type = self._parse_types(allow_identifiers=False)
        if not isinstance(data_type, exp.DataType):
            self.raise_error(f"Expecting a type for the column {name.name}", type_token)
        if found := find_unsupported_type(data_type, self._tokens[start : self._index]):
            word, why, fix = found
            raise PositionedParseError("MS-SQL-TYPE", why, word.start, word.text, fix)
        primary = bool(self._match(TokenType.PRIMARY_KEY))
        return clauses.SourceColumn(this=name, kind=data_type, primary=primary)

    def _parse_stream_watermark(self) -> exp.Expr:
        """Parses the rest of (WATERMARK FOR column AS expression)."""
        item = None
        if self._curr and self._curr.text.upper() == "WATERMARK":
            item = self._parse_source_item()
        if not isinstance(item, clauses.WatermarkClause):
            self.raise_error("Expecting WATERMARK FOR column AS expression")
        self._match_or_fail(TokenType.R_PAREN, ")")
        return item

    # Options

    def _parse_options(self) -> list[exp.Expr]:
        if not self._match(TokenType.WITH):
            return []
        return list(self._parse_wrapped_csv(self._parse_option))

    def _parse_option(self) -> exp.Expr | None:
        token = self._curr
        if not self._match(TokenType.STRING):
            self.raise_error("Expecting a property as 'name' = 'value'")
        self._match_or_fail(TokenType.EQ, "=")
        return self._option_value(token)

    def _option_value(self, name: Token) -> exp.Expr:
        value = self._curr
        if not self._match_set(_VALUES):
            self.raise_error(f"Expecting a value in quotes for '{name.text}'")
        option = clauses.Option(this=name.text, expression=value.text)
        set_span(option, name, value)
        option.meta["value_span"] = (value.start, value.end)
        return option

    def _match_or_fail(self, token_type: TokenType, text: str) -> None:
        if not self._match(token_type):
            self.raise_error(f"Expecting {text}")

    # Clauses of a query

    def _parse_query_modifiers(self, this: Any) -> Any:
        this = super()._parse_query_modifiers(this)
        if isinstance(this, exp.Select | exp.SetOperation):
            before = self._index
            self._parse_tail(this)
            if self._index > before:  # GROUP BY may follow WINDOW
                return self._parse_query_modifiers(this)
        return this

    def _parse_tail(self, query: exp.Expr) -> None:
        while self._curr:
            first = self._curr
            if self._at_window():
                self._set_once(query, "stream_window", self._parse_stream_window(), first)
            elif self._match_text_seq("EMIT"):
                reject_other_emit(self)
                emit = clauses.EmitClause(this=self._prev.text.upper())
                set_span(emit, first, self._prev)
                self._set_once(query, "emit", emit, first)
            elif self._match_pair(TokenType.WITH, TokenType.L_PAREN, advance=False):
                self._set_once(query, "options", self._parse_options(), first)
            else:
                return

    def _set_once(self, node: exp.Expr, key: str, value: Any, token: Token) -> None:
        if node.args.get(key):
            self.raise_error(f"{token.text.upper()} is specified twice", token)
        node.set(key, value)

    def _at_window(self) -> bool:
        if self._curr.token_type != TokenType.WINDOW or self._index + 2 >= len(self._tokens):
            return False
        if self._tokens[self._index + 2].token_type != TokenType.L_PAREN:
            return False
        if self._next.text.upper() not in WINDOW_KINDS:
            reject_window_kind(self)
        return True

    def _parse_window_clause(self) -> list[exp.Expr] | None:
        return None if self._at_window() else super()._parse_window_clause()

    def _parse_stream_window(self) -> exp.Expr:
        return self._spanned(self._parse_unspanned_stream_window)

    def _parse_unspanned_stream_window(self) -> exp.Expr:
        self._advance()
        kind = self._curr.text.upper()
        self._advance()
        arguments = self._parse_wrapped_csv(self._parse_window_argument)
        if self._match_pair(TokenType.OFFSET, TokenType.INTERVAL, advance=False):
            arguments.append(self._parse_window_argument())
        wall_clock = self._match_text_seq("ON", "PROCTIME", "(", ")")
        return clauses.StreamWindow(kind=kind, expressions=arguments, wall_clock=bool(wall_clock))

    def _parse_window_argument(self) -> exp.Expr:
        return self._spanned(self._parse_unspanned_window_argument)

    def _parse_unspanned_window_argument(self) -> exp.Expr:
        name = ""
        if self._match_texts(("SIZE", "SLIDE", "GAP", "OFFSET")):
            name = self._prev.text.upper()
        is_number = self._curr and self._curr.token_type == TokenType.NUMBER
        span = self._parse_interval(require_interval=False) if is_number else None  # 1 HOUR
        return clauses.WindowArgument(this=name, expression=span or self._parse_bitwise())

    # Tables of a query

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        reject_window_table_function(self)
        table = super()._parse_table(*args, **kwargs)
        while isinstance(table, exp.Table | exp.Subquery) and self._curr:
            first = self._curr
            reject_grace_period(self)
            if self._at_window():
                self._set_once(table, "stream_window", self._parse_stream_window(), first)
            elif self._match_text_seq("WITHIN"):
                self._set_once(table, "within", self._parse_within(first), first)
            elif self._match_text_seq("MATCH_CONDITION"):  # of ASOF JOIN
                condition = self._parse_wrapped(self._parse_expression)
                self._set_once(table, "match_condition", condition, first)
            elif isinstance(table, exp.Table) and (version := self._parse_version()):
                self._set_once(table, "version", version, first)  # after an alias
            else:
                break
        return table

    def _parse_within(self, first: Token) -> exp.Expr:
        span = self._parse_interval(require_interval=self._curr.token_type == TokenType.INTERVAL)
        if not isinstance(span, exp.Interval | exp.Add):
            self.raise_error("Expecting an interval such as INTERVAL '5' MINUTES after WITHIN")
        within = clauses.Within(this=span)
        set_span(within, first, self._prev)
        return within

    def _parse_table_alias(
        self, alias_tokens: Collection[TokenType] | None = None
    ) -> exp.TableAlias | None:
        if self._curr.token_type == TokenType.VAR and self._curr.text.upper() in _NO_ALIAS:
            return None
        return super()._parse_table_alias(alias_tokens=alias_tokens)

    def _parse_table_hints(self) -> None:
        """Returns no hints: WITH ( after a table starts the query's properties."""

    def _parse_join(self, *args: Any, **kwargs: Any) -> exp.Join | None:
        comma = self._curr.token_type == TokenType.COMMA
        join = super()._parse_join(*args, **kwargs)
        if join is not None:
            join.meta["comma"] = comma
        return join


class Millstream(Spark):
    Parser = StreamParser
