"""Random changes of a text: of its tokens, its parts, its bytes."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

_TOKEN = re.compile(r"\s+|--[^\n]*|'(?:\\.|[^'\\])*'|`[^`]*`|\$\{\w*\}|\w+|.", re.DOTALL)
HOSTILE = [
    *("0", "-1", "1e999", "9" * 30, "9" * 5_000, "1" + "0" * 400 + ".5", "0x10", "NaN", "-0.0"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "٣", "1_000"),
    *("''", "'\\0'", "'\ud800'", "'é'", "'🦆'", "\0", "\ud800", "\ufeff", "\u202e", "\x1b[2J"),
    *("'inf'", "'forever'", "'-5s'", "'1e9s'", "'99999999999999999999d'", "'5'", "'5 parsecs'"),
    *("INTERVAL '1' SECOND", "INTERVAL -1 DAY", "INTERVAL '1-2' YEAR TO MONTH", "INTERVAL 1 MONTH"),
    *("INTERVAL '106751991' DAYS", "INTERVAL '106751992' DAYS", "INTERVAL '0' SECONDS"),
    *("DATE '99999-01-01'", "TIMESTAMP '0000-00-00'", "TIMESTAMP '9999-12-31 23:59:59'"),
    *("NULL", "TRUE", "*", "a.*", "x -> x + 1", "?", ":p", "@v", "{{x}}", "${", "${x}", "$$"),
    *("(", ")", "[", "]", "{", "}", "<", ">", ",", ";", "'", '"', "`", "/*", "*/", "--", "\\"),
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "QUALIFY", "WINDOW", "OVER", "WITH", "AS"),
    *("JOIN", "LEFT JOIN", "FULL JOIN", "CROSS JOIN", "LEFT SEMI JOIN", "LATERAL VIEW", "USING"),
    *("UNION ALL", "EXCEPT", "PIVOT", "UNPIVOT", "TABLESAMPLE", "VALUES", "UNNEST", "LIMIT 1"),
    *("TUMBLING", "SLIDING", "SESSION", "EMIT FINAL", "EMIT CHANGES", "WITHIN", "WATERMARK FOR"),
    *("DISTINCT", "DISTINCT ON", "ROWS BETWEEN", "UNBOUNDED", "PRECEDING", "RANGE", "FILTER"),
    *("CASE", "WHEN", "END", "CAST", "NOT", "AND", "OR", "IN", "EXISTS", "BETWEEN", "LIKE", "IS"),
    *("ARRAY<", "MAP<STRING, INT>", "STRUCT<a: INT>", "DECIMAL(99, 99)", "VARCHAR(0)", "CHAR"),
    *("ROW_NUMBER()", "count(*)", "rand()", "now()", "PROCTIME()", "explode(a)", "window(t, '1s')"),
    *("_WINDOW_START", "_WINDOW_TIME", "_EVENT_TIME", "_OP", "_PROCESSING_TIME"),
]
# What may stand where a value stands: X is the value.
_AROUND = (
    *("(X)", "abs(X)", "coalesce(X, X)", "CASE WHEN X THEN X ELSE X END", "CAST(X AS STRING)"),
    *("X + X", "X * 2", "- X", "NOT X", "X IS NULL", "X IN (X, 1)", "X BETWEEN X AND X", "X || X"),
    *("array(X)[0]", "struct(X)", "named_struct('a', X).a", "CAST(X AS DECIMAL(38, 18))", "X::INT"),
    *("X <=> X", "X LIKE '%'", "X.a", "X[0]", "count(X)", "sum(DISTINCT X)", "max(X) OVER ()"),
    *("date_trunc('hour', X)", "X + INTERVAL 1 DAY", "if(X, X, NULL)", "transform(X, e -> e)"),
    *("(SELECT X)", "X AT TIME ZONE 'UTC'", "try_cast(X AS DATE)", "`X`", "DISTINCT X", "X AS y"),
)
_REPEATS = (2, 5, 30, 300, 3_000)
MAX_LENGTH = 200_000


def tokens_of(text: str) -> list[str]:
    return _TOKEN.findall(text)


def mutated(rng: random.Random, text: str, pool: Sequence[str]) -> str:
    """The text with one to five changes; `pool` are texts to take parts from."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = _change(rng, text, pool)[:MAX_LENGTH]
    return text


def broken_bytes(rng: random.Random, text: str) -> bytes:
    """The text as bytes, now and then with some that are no UTF-8."""
    content = bytearray(text.encode("utf-8", "surrogatepass"))
    if content and rng.random() < 0.1:
        for _ in range(rng.randint(1, 4)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    if rng.random() < 0.02:
        content = bytearray(b"\xef\xbb\xbf") + content
    return bytes(content)


def _change(rng: random.Random, text: str, pool: Sequence[str]) -> str:
    tokens = tokens_of(text)
    if not tokens:
        return rng.choice(HOSTILE)
    words = [number for number, token in enumerate(tokens) if not token.isspace()] or [0]
    values = [number for number in words if tokens[number][0].isalnum() or tokens[number][0] == "'"]
    at = rng.choice(values if values and rng.random() < 0.8 else words)
    to = min(len(tokens), at + rng.choice((1, 1, 1, 2, 5, 20)))
    part = tokens[at:to]
    if rng.random() < 0.75:
        tokens[at] = _alike(rng, tokens[at], tokens)
        return "".join(tokens)
    match rng.randrange(11):
        case 0:
            tokens[at:to] = []
        case 1:
            tokens[at:to] = [*part, " ", *part]
        case 2:
            other = rng.choice(words)
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 3 | 4:
            tokens[at] = f" {rng.choice(HOSTILE)} "
        case 5:
            tokens[at:at] = [f" {rng.choice(HOSTILE)} "]
        case 6:
            tokens[at:to] = _part_of(rng, rng.choice(pool))
        case 7:
            tokens[at:at] = _part_of(rng, rng.choice(pool))
        case 8:
            tokens[at] = rng.choice(tokens)
        case 9:
            count = rng.choice(_REPEATS)
            before, after = rng.choice((("(", ")"), ("abs(", ")"), ("NOT ", ""), ("- ", "")))
            tokens[at:to] = [before * count, *part, after * count]
        case _:
            tokens[at:to] = part * rng.choice(_REPEATS)
    return "".join(tokens)


def _alike(rng: random.Random, token: str, tokens: Sequence[str]) -> str:
    """A token of the same sort, so that the text can most often be parsed."""
    if token.isdigit():
        return rng.choice(["0", "1", "2", "7", "60", "1000000", "3.5", *HOSTILE[:14]])
    if token[0] in "'\"":
        some = [other for other in tokens if other[0] == token[0]]
        return rng.choice([*some, *(text for text in HOSTILE if text[0] == "'" and len(text) > 1)])
    if not token[0].isalpha():
        return rng.choice(["+", "-", "*", "/", "%", "=", "<", ">=", "<>", "||", "AND", ".", ","])
    if token.isupper():
        some = [other for other in tokens if other.isupper()]
        return rng.choice([*some, *(text for text in HOSTILE if text[0].isalpha())])
    if rng.random() < 0.5:
        return rng.choice(_AROUND).replace("X", token)
    return rng.choice([other for other in tokens if other[0].isalpha() and not other.isupper()])


def _part_of(rng: random.Random, text: str) -> list[str]:
    tokens = tokens_of(text)
    start = rng.randrange(max(len(tokens), 1))
    return [" ", *tokens[start : start + rng.choice((1, 3, 10, 40))], " "]
