"""Normalises the text of an expression for state identity.

The text is made from the user's characters by the rules of this module, not from a parser's tree,
whose shape and generated text can change with a release. A change of these rules changes the
identity of jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

_TOKEN = re.compile(
    r"""(?P<quoted> [rR]'[^']*' | [rR]"[^"]*"
          | '(?:\\.|''|[^'\\])*' | "(?:\\.|""|[^"\\])*" | `(?:``|[^`])*` )
      | (?P<number> \d+(?:\.\d+)?(?:[eE][+-]?\d+)?[A-Za-z]* | \.\d+(?:[eE][+-]?\d+)?[A-Za-z]* )
      | (?P<word> \w+ )
      | (?P<blank> \s+ )
      | (?P<sign> <=> | <= | >= | <> | != | == | \|\| | :: | -> | => | . )""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """and as asc between both by case cast desc distinct div else end escape exists false
        filter first from ignore ilike in interval is last leading like not null nulls or order over
        partition range regexp respect rlike rows then trailing true when where within
        array bigint binary boolean byte char date decimal double float int integer long map numeric
        real short smallint string struct timestamp timestamp_ltz timestamp_ntz tinyint varchar void
        year years month months week weeks day days hour hours minute minutes second seconds
        millisecond milliseconds microsecond microseconds""",
    )
)
# A parenthesis after one of these opens a group; after any other word, arguments.
_BEFORE_GROUP = frozenset(
    re.findall(
        r"\w+",
        """all and any as between by case distinct else exists filter in interval is like not on or
        over rlike then when where""",
    )
)


def canonical_text(parts: Iterable[str | tuple[str | None, str]]) -> str:
    """Returns the tokens with normalised spacing.

    A column is its alias and name in backticks. Keywords and function names are in lower case,
    other words unchanged.
    """
    tokens: list[tuple[str, bool]] = []  # and whether it is an unquoted word
    for part in parts:
        if isinstance(part, str):
            tokens += _tokens(part)
        else:
            tokens.append((".".join(_quoted(name) for name in part if name is not None), False))
    texts = [text for text, _ in tokens]
    for number, (text, is_word) in enumerate(tokens):
        called = number + 1 < len(tokens) and texts[number + 1] == "("
        if is_word and (called or text.lower() in _KEYWORDS):
            texts[number] = text.lower()
    spaced = texts[:1]
    for before, text in pairwise(texts):
        spaced.append(text if _is_joined(before, text) else f" {text}")
    return "".join(spaced)


def _is_joined(before: str, text: str) -> bool:
    """Returns whether a token follows the one before it without a blank."""
    if before in ("(", "[", ".") or text in (")", "]", ",", "."):
        return True
    is_word = before[-1].isalnum() or before[-1] in "_`"
    calls = is_word and before not in _BEFORE_GROUP
    return text in ("(", "[") and (calls or before in (")", "]"))


def _tokens(text: str) -> Iterable[tuple[str, bool]]:
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "number":
            yield found[0].lower(), False
        elif found.lastgroup != "blank":
            yield found[0], found.lastgroup == "word"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
