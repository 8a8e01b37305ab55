"""Finds the secrets in the text of a job, so that errors show the text without them.

The text may be invalid SQL, so two searches complete each other: one by the strings of the text,
which knows strings of several lines and escaped quotes, and one by patterns in any part of it,
which does not depend on how the quotes before it pair up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from millstream.errors import MillstreamError
from millstream.secret_names import SECRET_WORD

_MIN_LENGTH = 4  # a shorter value is no secret and may occur anywhere
# The names of properties that say where a secret is, such as password.env, are no names of secrets.
_NAME = rf"{SECRET_WORD}(?:(?!\.(?:env|file|location)\b)[\w.\-]){{0,60}}+(?!\.)"
_IS_NAME = re.compile(rf"[\w.\-]{{0,60}}?{_NAME}", re.IGNORECASE)
_STRING = re.compile(
    r"""(?P<comment> --[^\n]* | /\*.*?\*/ )
      | (?P<raw> (?<!\w)[rR](?: '[^']*' | "[^"]*" ) )
      | (?P<name> `[^`]*` )
      | (?P<string> '(?:\\.|''|[^'\\])*+(?:'|\Z) | "(?:\\.|""|[^"\\])*+(?:"|\Z) )""",
    re.VERBOSE | re.DOTALL,
)
_EQUALS = re.compile(r"[\s=:>|,]*")
_PATTERNS = (
    # 'name' = 'value', name: "value"; the last quote may be missing.
    re.compile(
        rf"""{_NAME}\\?['"`]?[ \t]*[=:]+>?[ \t]*[rR]?(?P<q>['"])"""
        r"(?P<secret>(?:\\.|(?!(?P=q))[^\\\n])+)",
        re.IGNORECASE,
    ),
    # 'name' = value, (name = value, SET name = value: quotes are missing. A column is no secret.
    re.compile(
        rf"""(?:{_NAME}['"]|(?:[(,]|\bSET\b)\s*+[\w.\-]{{0,60}}?{_NAME})\s*=\s*+"""
        r"""(?!r['"]|[a-z_]\w*\.[a-z_]\w*\b)(?P<secret>[^\s,;'"`]+)""",
        re.IGNORECASE,
    ),
    # In a URL, or in PostgreSQL's other form of one: host=db password=…
    re.compile(
        rf"""(?<=[?&;\s'"])[\w\-]{{0,60}}?{_NAME}=(?P<secret>[^\s&;'"\\]+)""", re.IGNORECASE
    ),
    re.compile(r"""://(?P<secret>[^\s'"`]{1,500})@"""),
)
# A quoted value in a string may have escaped quotes, so all that follows is taken as secret.
_PARAMETER = re.compile(
    rf"""{_NAME}\\?["']*\s*[=:]\s*(?P<secret>[\\"'].*|[^\s&;]+)""", re.IGNORECASE | re.DOTALL
)
_VARIABLE = re.compile(r"(\$\{[^{}\s]*\})")
_Span = tuple[int, int]


@lru_cache(maxsize=8)
def mask_text(text: str) -> str:
    """Returns a text with stars in place of its secrets, with the same length and lines. References
    to variables remain."""
    shown, last = [], 0
    for start, end in _merged(_secrets(text)):
        shown += [text[last:start], _stars(text[start:end])]
        last = end
    return "".join(shown) + text[last:]


@contextmanager
def mask_secrets(text: str) -> Iterator[None]:
    """Replaces the secrets of a text in the messages of errors by stars."""
    try:
        yield
    except MillstreamError as error:
        secrets = _values(text)
        if not secrets:
            raise
        pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, secrets))})(?!\w)")
        raise error.reworded(lambda message: pattern.sub("***", message)) from None


def _values(text: str) -> list[str]:
    """Returns the secrets that occur in a text, the longest first."""
    found: set[str] = set()
    for start, end in _merged(_secrets(text)):
        secret = text[start:end]
        plain = re.sub(r"\\(.)", r"\1", secret, flags=re.DOTALL)
        password = secret.partition(":")[2]  # of a login
        # A parse error shows one of several strings in a row, and no bracket.
        found |= {secret, plain, password, secret.rstrip(")"), *re.split("[\"']+", secret)}
    long = [each for each in found if len(each) >= _MIN_LENGTH and not _VARIABLE.search(each)]
    return sorted(long, key=lambda each: (-len(each), each))


def _stars(secret: str) -> str:
    parts = _VARIABLE.split(secret)
    return "".join(
        part if number % 2 else re.sub(r"[^\r\n]", "*", part) for number, part in enumerate(parts)
    )


def _secrets(text: str) -> Iterator[_Span]:
    for pattern in _PATTERNS:
        for found in pattern.finditer(text):
            yield found.span("secret")
    yield from _in_strings(text)


def _in_strings(text: str) -> Iterator[_Span]:
    """Yields the secrets in strings: the values after the name of a secret, logins, parameters."""
    follows_name, between, last = False, "", 0
    for piece in _STRING.finditer(text):
        between += text[last : piece.start()]
        last = piece.end()
        if piece.lastgroup == "comment":
            continue
        start, end = _content(piece)
        if follows_name and piece.lastgroup != "name" and _is_value(between, text[last:]):
            yield start, end
            between = ""
            continue  # strings in a row are one value
        between = ""
        content = text[start:end]
        follows_name = _IS_NAME.fullmatch(content) is not None
        # Up to the last @: passwords in URLs are often not escaped.
        login, host = content.find("://"), content.rfind("@")
        if 0 <= login < host:
            yield start + login + 3, start + host
        for found in _PARAMETER.finditer(content):
            yield start + found.start("secret"), start + found.end("secret")


def _content(piece: re.Match[str]) -> _Span:
    """Returns the span between the quotes; the closing one may be missing."""
    start = piece.start() + (2 if piece.lastgroup == "raw" else 1)
    quote = piece.string[start - 1]
    closed = piece.end() > start and piece.string[piece.end() - 1] == quote
    return start, piece.end() - closed


def _is_value(between: str, after: str) -> bool:
    """Whether a string is the value of the name before it; the = may be missing or a comma."""
    if between.strip() == ",":
        return after.lstrip()[:1] != "="
    return _EQUALS.fullmatch(between) is not None


def _merged(spans: Iterable[_Span]) -> list[_Span]:
    merged: list[_Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
