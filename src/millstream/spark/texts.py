"""Texts of SQL as columns of Spark's. What is no more than a name needs no parser: the first text
that Spark parses costs a cold JVM as much as a micro-batch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from millstream.connectors.rows import Rows

_COLUMN = re.compile(r"(?:(`[^`]+`|[A-Za-z_]\w*)\.)?(`[^`]+`|[A-Za-z_]\w*)")
# What Spark does not read as the name of a column, even if there is one of that name.
_WORDS = frozenset({"true", "false", "null", "user", "current_user", "session_user"}) | frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"}
)


def expression(text: str) -> Column:
    if _COLUMN.fullmatch(text) and text.lower() not in _WORDS:
        return F.col(text)
    return F.expr(text)


def named(text: str, alias: str | None, columns: Iterable[str]) -> str | None:
    """The column that a text names, if it does no more."""
    found = _COLUMN.fullmatch(text)
    if found is None or text.lower() in _WORDS:
        return None
    owner, name = (each and each.strip("`").lower() for each in found.groups())
    if owner is not None and owner != (alias or "").lower():
        return None
    same = [each for each in columns if each.lower() == name]
    return same[0] if len(same) == 1 else None


def types_of(rows: Rows, alias: str, texts: Sequence[str]) -> list[DataType]:
    """The types of expressions over a stream of that alias. Spark is asked at most once: every
    question makes it analyse the whole stream."""
    known = rows.types
    plain = [named(text, alias, known) for text in texts]
    asked = [text for text, name in zip(texts, plain, strict=True) if name is None]
    found: list[DataType] = []
    if asked:
        columns = (expression(text).alias(f"t{number}") for number, text in enumerate(asked))
        found = [field.dataType for field in rows.frame.alias(alias).select(*columns).schema]
    told = iter(found)
    return [next(told) if name is None else known[name] for name in plain]
