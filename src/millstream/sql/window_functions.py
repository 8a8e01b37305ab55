"""Recognizes windows written as functions, which are rejected with the WINDOW clause for the query:
`GROUP BY window(ts, …)` of Spark and `TABLE(TUMBLE(TABLE o, DESCRIPTOR(ts), …))` of Flink."""

from __future__ import annotations

from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from millstream.sql.spans import PositionedParseError

_WINDOWS = {
    "TUMBLE": "TUMBLING({2}, {3})",
    "HOP": "SLIDING({2}, SIZE {4}, SLIDE {3})",
    "SESSION": "SESSION({2}, {3})",
    "CUMULATE": "TUMBLING({2}, {4})",
}


def mark_window_functions(tokens: list[Token]) -> None:
    """Makes window(…) and session(…) in GROUP BY function names instead of keywords."""
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if (
            token.text.upper() in ("WINDOW", "SESSION")
            and after.token_type == TokenType.L_PAREN
            and before.token_type in (TokenType.GROUP_BY, TokenType.COMMA)
        ):
            token.token_type = TokenType.VAR


def reject_window_table_function(parser: Any) -> None:
    """Raises an error if a window function of Flink follows."""
    tokens: list[Token] = parser._tokens[parser._index : parser._index + 80]  # noqa: SLF001
    first = 2 if _texts(tokens[:2]) == ["TABLE", "("] else 0
    name, *inner = _texts(tokens[first : first + 3]) or [""]
    if name not in _WINDOWS or inner != ["(", "TABLE"]:
        return
    arguments = _arguments(tokens[first + 2 :], parser.sql)
    table = arguments[0].removeprefix("TABLE").strip()
    time = arguments[1].partition("(")[2].rstrip(") ") if len(arguments) > 1 else "…"
    written = [*arguments[2:], "…", "…"]
    clause = _WINDOWS[name].format("", "", time, *written)
    raise PositionedParseError(
        "MS-PLAN-WINDOW",
        f"{name} is a table function of Flink; windows are a clause of the query.",
        tokens[0].start,
        tokens[0].text,
        f"Write FROM {table} WINDOW {clause}; its start and end are _WINDOW_START and "
        "_WINDOW_END, without GROUP BY of them.",
    )


def _texts(tokens: list[Token]) -> list[str]:
    return [token.text.upper() for token in tokens]


def _arguments(tokens: list[Token], sql: str) -> list[str]:
    """Returns the texts of a function's arguments; the tokens begin after its parenthesis."""
    found, start, depth = [], 0, 0
    for number, token in enumerate(tokens):
        if depth == 0 and token.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            found.append(sql[tokens[start].start : token.start].strip())
            start = number + 1
            if token.token_type == TokenType.R_PAREN:
                break
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
    return found
