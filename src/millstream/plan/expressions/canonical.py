"""The normalised text of an expression, which the identity of state is derived from.

It is made of the user's characters by rules of our own, and not of a parser's tree, whose shape and
generated text may change with a release. A change of these rules changes the identity of jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(
    r"""(?P<quoted> [rR]'[^']*' | [rR]"[^"]*"
          | '(?:\\.|''|[^'\\])*' | "(?:\\.|""|[^"\\])*" | `(?:``|[^`])*` )
      | (?P<number> \d+(?:\.\d+)?(?:[eE][+-]?\d+)?[A-Za-z]* | \.\d+(?:[eE][+-]?\d+)?[A-Za-z]* )
      | (?P<word> \w+ )
      | (?P<blank> \s+ )
      | (?P<sign> . )""",
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


def canonical_text(parts: Iterable[str | tuple[str | None, str]]) -> str:
    """Tokens with one blank between them. A column is its alias and name in backticks; keywords
    and names of functions are in lower case, other words as they were written."""
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
    return " ".join(texts)


def _tokens(text: str) -> Iterable[tuple[str, bool]]:
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "number":
            yield found[0].lower(), False
        elif found.lastgroup != "blank":
            yield found[0], found.lastgroup == "word"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
