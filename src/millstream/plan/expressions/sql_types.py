"""The families of SQL types, which decide what an operation accepts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Family(Enum):
    """Types that Spark converts to each other, or treats alike."""

    NUMBER = "a number"
    STRING = "STRING"
    BOOLEAN = "BOOLEAN"
    BINARY = "BINARY"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    ARRAY = "ARRAY"
    MAP = "MAP"
    STRUCT = "STRUCT"


_WORD = re.compile(r"\s*(\w+)")
_NAMES = {
    Family.NUMBER: "TINYINT SMALLINT INT INTEGER BIGINT LONG SHORT BYTE FLOAT REAL DOUBLE DECIMAL "
    "DEC NUMERIC",
    Family.STRING: "STRING TEXT VARCHAR CHAR",
    Family.BOOLEAN: "BOOLEAN",
    Family.BINARY: "BINARY",
    Family.DATE: "DATE",
    Family.TIMESTAMP: "TIMESTAMP TIMESTAMP_LTZ TIMESTAMP_NTZ TIMESTAMPLTZ TIMESTAMPNTZ",
    Family.ARRAY: "ARRAY",
    Family.MAP: "MAP",
    Family.STRUCT: "STRUCT",
}
_FAMILIES = {name: family for family, names in _NAMES.items() for name in names.split()}
NESTED = frozenset((Family.ARRAY, Family.MAP, Family.STRUCT))
TEMPORAL = frozenset((Family.DATE, Family.TIMESTAMP))


@dataclass(frozen=True, slots=True)
class SqlType:
    """The family of a type, and the type as errors show it."""

    family: Family
    text: str


def sql_type(text: str | None) -> SqlType | None:
    """Returns a declared type, or None if its family is not known."""
    found = _WORD.match(text or "")
    family = _FAMILIES.get(found[1].upper()) if found else None
    if family is None or text is None:
        return None
    return SqlType(family, text if "<" in text else text.upper())


def any_of(family: Family) -> SqlType:
    """Returns a type of which only the family is known."""
    return SqlType(family, family.value)
