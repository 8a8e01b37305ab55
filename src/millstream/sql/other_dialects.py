"""Rejects syntax of Flink, ksqlDB, RisingWave and batch SQL with what to write instead."""

from __future__ import annotations

from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

_VIEWS = ("VIEW", "TEMP", "TEMPORARY", "MATERIALIZED")
_QUERIES = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN)


def reject_create(parser: Any, first: Token) -> None:
    """Rejects CREATE of something else; `first` is the token CREATE."""
    fix = "Write CREATE SOURCE, TABLE, STREAM or SINK."
    token = parser._curr  # noqa: SLF001
    if not token:
        parser.reject("CREATE needs the kind of object to create.", first, fix)
    word = token.text.upper()
    if word == "OR":
        parser.reject(
            "CREATE OR REPLACE is not supported.",
            token,
            "Write CREATE: a job has only what its text declares, so there is nothing to replace.",
        )
    if word in _VIEWS:
        fix = "Write CREATE STREAM name AS SELECT …; other queries read it like a view."
    parser.reject(f'"{token.text}" cannot be created.', token, fix)


def reject_column_list(parser: Any) -> None:
    """Rejects a list of columns after INSERT INTO sink."""
    token, following = parser._curr, parser._next  # noqa: SLF001
    if token and following and token.token_type == TokenType.L_PAREN:
        if following.token_type in _QUERIES:
            return
        parser.reject(
            "INSERT INTO has no list of columns.",
            token,
            "Name the columns of the query with AS.",
        )


def reject_other_emit(parser: Any) -> None:
    """Reads CHANGES or FINAL after EMIT; rejects anything else."""
    if parser._match_texts(("CHANGES", "FINAL")):  # noqa: SLF001
        return
    token = parser._curr  # noqa: SLF001
    if token and token.text.upper() == "ON":
        parser.reject(
            'unexpected "ON" after EMIT.',
            token,
            "Write EMIT FINAL for results of closed windows, or EMIT CHANGES for every change.",
        )
    parser.raise_error("Expecting CHANGES or FINAL after EMIT")


def reject_window_kind(parser: Any) -> None:
    """Rejects a kind of window that does not exist; the parser is at WINDOW."""
    token = parser._next  # noqa: SLF001
    if token.text.upper() in ("HOPPING", "HOP", "CUMULATE"):
        parser.reject(
            f"there are no {token.text.upper()} windows.",
            token,
            "Write WINDOW SLIDING(SIZE INTERVAL '1' HOUR, SLIDE INTERVAL '10' MINUTE).",
        )
    parser.raise_error("Expecting TUMBLING, SLIDING or SESSION", token)


def reject_grace_period(parser: Any) -> None:
    """Rejects GRACE PERIOD after WITHIN."""
    token, following = parser._curr, parser._next  # noqa: SLF001
    if token.text.upper() == "GRACE" and following and following.text.upper() == "PERIOD":
        parser.reject(
            "a join has no GRACE PERIOD.",
            token,
            "Declare how late rows may be in the sources: WATERMARK FOR ts AS ts - INTERVAL 1 "
            "HOUR.",
        )
