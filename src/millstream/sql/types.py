"""The types a column may be declared with: those whose values Spark has, under any name that is
clear."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

_Type = exp.DType
_MAX_PRECISION = 38
_KNOWN = {
    *(_Type.BOOLEAN, _Type.TINYINT, _Type.SMALLINT, _Type.INT, _Type.BIGINT),
    *(_Type.FLOAT, _Type.DOUBLE, _Type.DECIMAL),
    *(_Type.TEXT, _Type.VARCHAR, _Type.NVARCHAR, _Type.CHAR, _Type.UUID),
    *(_Type.BINARY, _Type.VARBINARY),
    *(_Type.DATE, _Type.DATETIME, _Type.TIMESTAMP, _Type.TIMESTAMPTZ, _Type.TIMESTAMPLTZ),
    _Type.TIMESTAMPNTZ,
    *(_Type.ARRAY, _Type.MAP, _Type.STRUCT, _Type.VARIANT, _Type.INTERVAL),
}
# What a word means elsewhere, and would not mean here.
_UNCLEAR = {
    "INT8": ("INT8 has 8 bytes in some databases and 8 bits in others.", "BIGINT or TINYINT"),
    "WITHOUT": ("TIMESTAMP WITHOUT TIME ZONE would be read as one in UTC.", "TIMESTAMP_NTZ"),
}
_INSTEAD = {
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


def unfit(kind: exp.DataType, words: Sequence[Token]) -> tuple[Token, str, str] | None:
    """Where a type is none that a column can have: the word, why, and what to write instead."""
    for word, after in zip(words, [*words[1:], None], strict=True):
        named = after is not None and after.token_type == TokenType.COLON  # a field of a struct
        if not named and word.text.upper() in _UNCLEAR:
            why, instead = _UNCLEAR[word.text.upper()]
            return word, why, f"Write {instead}."
    for each in kind.find_all(exp.DataType):
        if each.this is _Type.DECIMAL and (reason := _unfit_decimal(each)):
            return words[0], reason, "Write DECIMAL(precision, scale), such as DECIMAL(18, 2)."
        if isinstance(each.this, _Type) and each.this not in _KNOWN:
            instead = _INSTEAD.get(each.this, "one of Spark's, such as BIGINT, STRING, TIMESTAMP")
            return (
                words[0],
                f"a column cannot have the type {each.this.value}.",
                f"Write {instead}.",
            )
    return None


def _unfit_decimal(kind: exp.DataType) -> str | None:
    """Why Spark has no such DECIMAL; None if it has."""
    given = [int(each.name) for each in kind.expressions if each.name.isdecimal()]
    precision, scale = (*given, 10, 0)[:2] if len(given) != 1 else (given[0], 0)
    if not 1 <= precision <= _MAX_PRECISION:
        return f"the precision of a DECIMAL is 1 to {_MAX_PRECISION}, not {precision}."
    if scale > precision:
        return f"the scale of a DECIMAL is at most its precision: {scale} is above {precision}."
    return None
