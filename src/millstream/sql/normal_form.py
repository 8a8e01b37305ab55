"""One text for SQL expressions and types that differ only in spacing and in the case of words.

State identity compares these texts, so they must not depend on a library's release: only on this
file. Strings and quoted names keep every character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""(?P<space> \s+ | --[^\n]* | /\*.*?\*/ )
      | (?P<quoted> (?:\b[rRxX](?=['"]))? (?: (?:'(?:\\.|[^'\\])*')+ | (?:"(?:\\.|[^"\\])*")+ )
                  | (?:`[^`]*`)+ )
      | (?P<number> (?: \d+ (?:\.\d*)? | \.\d+ ) (?:[eE][+-]?\d+)? [a-zA-Z]* )
      | (?P<word> [^\W\d]\w* )
      | (?P<operator> <=> | <= | >= | <> | != | == | \|\| | :: | -> | => | . )""",
    re.VERBOSE | re.DOTALL,
)
_RAW = re.compile(r"[rR](?:'[^']*'|\"[^\"]*\")")
# A parenthesis after one of these opens a group; after any other word, arguments.
_BEFORE_GROUP = frozenset(
    {"and", "or", "not", "in", "is", "when", "then", "else", "case", "between", "like", "rlike"}
    | {"as", "on", "over", "filter", "where", "by", "distinct", "interval", "any", "all", "exists"}
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


def normal_form(text: str) -> str:
    """Returns an expression with words in lower case and one way of spacing.

    Names that are not quoted are words: Spark compares them without case.
    """
    parts: list[str] = []
    before = ""
    for token in _tokens(text):
        if before and not _joined(before, token):
            parts.append(" ")
        parts.append(token)
        before = token
    return "".join(parts)


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
    """Is a token of a type the name of a struct's field?"""
    return tokens[number + 1 : number + 2] == [":"]


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        raw = _RAW.match(text, at) if at == 0 or not _is_word(text[at - 1]) else None
        found = raw or _TOKEN.match(text, at)
        assert found is not None, "any character is a token"
        at = found.end()
        if raw:
            yield found[0][0].lower() + found[0][1:]
        elif found.lastgroup == "quoted":
            prefix = "" if found[0][0] in "'\"`" else found[0][0].lower()
            yield prefix + found[0][len(prefix) :]
        elif found.lastgroup != "space":
            yield found[0].lower()


def _joined(before: str, token: str) -> bool:
    """Does a token follow the one before it without a space?"""
    if before in ("(", "[", ".") or token in (")", "]", ",", "."):
        return True
    calls = _is_word(before) and before not in _BEFORE_GROUP
    return token in ("(", "[") and (calls or before in (")", "]"))


def _is_word(token: str) -> bool:
    return token[-1].isalnum() or token[-1] in "_`"
