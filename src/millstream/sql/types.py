"""The types that a column can be declared with."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

_Type = exp.DType
_MAX_PRECISION = 38
_SUPPORTED = {
    *(_Type.BOOLEAN, _Type.TINYINT, _Type.SMALLINT, _Type.INT, _Type.BIGINT),
    *(_Type.FLOAT, _Type.DOUBLE, _Type.DECIMAL),
    *(_Type.TEXT, _Type.VARCHAR, _Type.NVARCHAR, _Type.CHAR, _Type.UUID),
    *(_Type.BINARY, _Type.VARBINARY),
    *(_Type.DATE, _Type.DATETIME, _Type.TIMESTAMP, _Type.TIMESTAMPTZ, _Type.TIMESTAMPLTZ),
    _Type.TIMESTAMPNTZ,
    *(_Type.ARRAY, _Type.MAP, _Type.STRUCT, _Type.VARIANT, _Type.INTERVAL),
}
# Names whose meaning in other databases differs from Spark's.
_AMBIGUOUS = {
    "INT8": ("INT8 has 8 bytes in some databases and 8 bits in others.", "BIGINT or TINYINT"),
    "WITHOUT": (
        "TIMESTAMP WITHOUT TIME ZONE would be parsed as a timestamp in UTC.",
        "TIMESTAMP_NTZ",
    ),
}
_REPLACEMENTS = {
    _Type.TIME: "STRING",
    _Type.JSON: "STRING, or VARIANT",
    _Type.JSONB: "STRING, or VARIANT",
    _Type.OBJECT: "STRUCT<…>, MAP<…> or VARIANT",
    _Type.ENUM: "STRING",
    _Type.BIT: "BOOLEAN",
    _Type.UINT: "BIGINT",
    _Type.UBIGINT: "DECIMAL(20, 0)",
    _Type.LONGTEXT: "STRING",
    _Type.INT128: "DECIMAL(38, 0)",
}


def find_unsupported_type(
    kind: exp.DataType, words: Sequence[Token]
) -> tuple[Token, str, str] | None:
    """Returns the token, cause and fix for a type that a column cannot have, or None."""
    for word, after in zip(words, [*words[1:], None], strict=True):
        named = after is not None and after.token_type == TokenType.COLON  # a field of a struct
        if not named and word.text.upper() in _AMBIGUOUS:
            why, instead = _AMBIGUOUS[word.text.upper()]
            return word, why, f"Write {instead}."
    for each in kind.find_all(exp.DataType):
        if each.this is _Type.DECIMAL and (reason := _unsupported_decimal(each)):
            return words[0], reason, "Write DECIMAL(precision, scale), such as DECIMAL(18, 2)."
        if isinstance(each.this, _Type) and each.this not in _SUPPORTED:
            instead = _REPLACEMENTS.get(
                each.this, "a type of Spark such as BIGINT, STRING or TIMESTAMP"
            )
            return (
                words[0],
                f"a column cannot have the type {each.this.value}.",
                f"Write {instead}.",
            )
    return None


def _unsupported_decimal(kind: exp.DataType) -> str | None:
    """Returns why Spark does not support a DECIMAL, or None if it does."""
    given = [int(each.name) for each in kind.expressions if each.name.isdecimal()]
    precision, scale = (*given, 10, 0)[:2] if len(given) != 1 else (given[0], 0)
    if not 1 <= precision <= _MAX_PRECISION:
        return f"the precision of a DECIMAL must be from 1 to {_MAX_PRECISION}, not {precision}."
    if scale > precision:
        return (
            f"the scale of a DECIMAL must not exceed its precision: {scale} is above {precision}."
        )
    return None
