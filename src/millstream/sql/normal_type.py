"""Normalizes SQL types that differ only in spacing, letter case or synonyms.

State identity compares the normalized types, so they must not depend on the version of a library.
Strings and quoted names keep every character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<space> \s+ | --[^\n]* | /\*.*?\*/ )
      | (?P<quoted> (?:'(?:\\.|[^'\\])*')+ | (?:"(?:\\.|[^"\\])*")+ | (?:`[^`]*`)+ )
      | (?P<word> \w+ )
      | (?P<sign> . )""",
    re.VERBOSE | re.DOTALL,
)
_TYPES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "real": "float",
    "dec": "decimal",
    "numeric": "decimal",
    "text": "string",
    "timestamp_ltz": "timestamp",
    "timestampltz": "timestamp",
    "timestampntz": "timestamp_ntz",
}


def normal_type(text: str) -> str:
    """Returns a type under Spark's own names: INTEGER is int, DECIMAL(10, 2) is decimal(10,2)."""
    tokens = list(_tokens(text))
    named = [_is_field(tokens, number) for number in range(len(tokens))]
    found = [
        token if field else _TYPES.get(token, token)
        for token, field in zip(tokens, named, strict=True)
    ]
    return "".join(
        token
        if number == 0 or not (_is_word(found[number - 1]) and _is_word(token))
        else f" {token}"
        for number, token in enumerate(found)
    )


def _is_field(tokens: list[str], number: int) -> bool:
    """Tests whether a token of a type is the name of a struct's field."""
    return tokens[number + 1 : number + 2] == [":"]


def _tokens(text: str) -> Iterator[str]:
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "quoted":
            yield found[0]
        elif found.lastgroup != "space":
            yield found[0].lower()


def _is_word(token: str) -> bool:
    return token[-1].isalnum() or token[-1] in "_`"
