"""The text of a job before and after the substitution of `${name}`, and positions in it.

Positions refer to the text as written. The value of a variable may be a secret, so no error shows
it, and what an error shows of the text has stars in place of secrets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NoReturn

from millstream.errors import MillstreamError, Place, SqlError
from millstream.sql.limits import (
    MAX_SHOWN_LINE,
    MAX_TEXT,
    describe_character,
    find_invalid_character,
)
from millstream.sql.masking import mask_text
from millstream.sql.origins import Origins

_VARIABLE = re.compile(r"\$\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}")
_EXCERPT = 200  # characters
_SAFE_OUTSIDE_STRINGS = re.compile(r"[A-Za-z0-9_.:/ -]*")
_MIN_SECRET_LENGTH = 4  # a shorter value is no secret and may occur anywhere
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_TOKEN = re.compile(
    r"""(?P<comment> --[^\n]* | /\*.*?\*/ )
      | (?P<raw> (?<!\w)[rR](?:'[^']*'|"[^"]*") | `[^`]*` )
      | (?P<string> '(?:\\.|[^'\\])*' | "(?:\\.|[^"\\])*" )
      | (?P<unclosed> ['"`] | /\* )
      | (?P<plain> \$\{[^{}]*\} | . )""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class SourceText:
    """The user's text: `written` as it is, `parsed` with variables substituted.

    `substitutions` lists (start in parsed, end in parsed, start in written, end in written) in
    order. `origins` maps the expressions passed to Spark to this text.
    """

    written: str = field(repr=False)
    parsed: str = field(repr=False)
    substitutions: tuple[tuple[int, int, int, int], ...] = ()
    line_starts: tuple[int, ...] = field(default=(), repr=False)
    origins: Origins = field(default_factory=Origins, repr=False, compare=False)

    def place(self, offset: int) -> Place:
        """Returns the position in the written text of an offset in the parsed text."""
        at = min(self._written_offset(offset), len(self.written))
        line = bisect_right(self.line_starts, at)
        start = self.line_starts[line - 1]
        end = self.written.find("\n", start)
        end = end if end >= 0 else len(self.written)
        # Each Place copies its line, so a very long line is left out.
        text = mask_text(self.written)[start:end] if end - start <= MAX_SHOWN_LINE else ""
        return Place(line, at - start + 1, text.rstrip("\r"))

    def excerpt(self, span: tuple[int, int]) -> str:
        """Returns a span of the parsed text as it was written, on one line."""
        start, end = self._written_offset(span[0]), self._written_offset(span[1]) + 1
        inside = [each for each in self.substitutions if each[0] <= span[1] < each[1]]
        shown = mask_text(self.written)[start : inside[0][3] if inside else end]
        text = " ".join(shown.split())
        return text if len(text) <= _EXCERPT else f"{text[: _EXCERPT - 1]}…"

    def _written_offset(self, offset: int) -> int:
        found = bisect_right(self.substitutions, offset, key=lambda substitution: substitution[0])
        if found == 0:
            return offset
        _, end, written_start, written_end = self.substitutions[found - 1]
        return written_start if offset < end else offset - end + written_end


def substitute_variables(written: str, variables: Mapping[str, str]) -> SourceText:
    """Substitutes every `${name}` outside of comments."""
    if len(written) > MAX_TEXT:
        _reject_size(len(written))
    plain = SourceText(written, written, line_starts=_line_starts(written))
    if found := find_invalid_character(written):
        raise SqlError(
            "MS-SQL-CHARACTER",
            f"{describe_character(found[0])}.",
            fix="Remove it, or save the text as UTF-8.",
            place=plain.place(found.start()),
        )
    parsed: list[str] = []
    length = 0
    substitutions: list[tuple[int, int, int, int]] = []
    last = 0
    for match, inside in _find_variables(written):
        value = _value(match, inside, variables, plain)
        parsed += [written[last : match.start()], value]
        length += match.start() - last
        substitutions.append((length, length + len(value), match.start(), match.end()))
        length += len(value)
        if length > MAX_TEXT:
            _reject_size(length, plain.place(match.start()))
        last = match.end()
    parsed.append(written[last:])
    return SourceText(written, "".join(parsed), tuple(substitutions), plain.line_starts)


@contextmanager
def mask_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Replaces the values of variables in errors by `${name}`."""
    try:
        yield
    except MillstreamError as error:
        raise error.reworded(partial(_mask_values, variables)) from None


def _mask_values(variables: Mapping[str, str], text: str) -> str:
    for name, value in sorted(variables.items(), key=lambda each: -len(each[1])):
        if len(value) >= _MIN_SECRET_LENGTH:
            shown = f"${{{name}}}"
            text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", shown, text)
    return text


def _reject_size(characters: int, place: Place | None = None) -> NoReturn:
    filled = " after its variables are substituted" if place else ""
    raise SqlError(
        "MS-SQL-SIZE",
        f"the text{filled} has {characters:,} characters or more, and a job may have {MAX_TEXT:,}.",
        fix="Read rows and lists of values from a table.",
        place=place,
    )


def _line_starts(text: str) -> tuple[int, ...]:
    return (0, *(match.end() for match in re.finditer("\n", text)))


def find_unclosed(text: str) -> int:
    """Returns the offset of the first string, quoted name or comment that is not closed."""
    for piece in _TOKEN.finditer(text):
        if piece.lastgroup == "unclosed":
            return piece.start()
    return len(text)


def _find_variables(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yields each variable with its context: "plain", "raw", or the quote of a string."""
    for piece in _TOKEN.finditer(text):
        kind = piece.lastgroup or ""
        if kind == "comment":
            continue
        if kind == "unclosed":  # the rest cannot be parsed
            return
        for match in _VARIABLE.finditer(text, piece.start(), piece.end()):
            yield match, piece[0][0] if kind == "string" else kind


def _value(
    match: re.Match[str], inside: str, variables: Mapping[str, str], text: SourceText
) -> str:
    place = text.place(match.start())
    name = match[1]
    if name not in variables:
        known = ", ".join(sorted(variables)) or "none"
        raise SqlError(
            "MS-SQL-VARIABLE",
            f"the variable ${{{name}}} has no value.",
            fix=f"Pass it with --set {name}=…, or under `variables` of a test case. "
            f"Variables with a value: {known}.",
            place=place,
        )
    value = variables[name]
    if found := find_invalid_character(value):
        raise SqlError(
            "MS-SQL-VARIABLE",
            f"the value of ${{{name}}} is not valid text: {describe_character(found[0])}.",
            place=place,
        )
    if inside in ("'", '"'):
        return "".join(_ESCAPES.get(c, "\\" + c if c == inside else c) for c in value)
    before, after = text.written[: match.start()][-1:], text.written[match.end() :][:1]
    opens_comment = "--" in before + value + after or (value[-1:] == "/" and after == "*")
    if not _SAFE_OUTSIDE_STRINGS.fullmatch(value) or (inside == "plain" and opens_comment):
        raise SqlError(
            "MS-SQL-VARIABLE",
            f"the value of ${{{name}}} has characters that are allowed only in a string literal.",
            fix=f"Write '${{{name}}}' if it is a string; "
            "elsewhere a value may contain letters, digits, spaces and _ . : / -",
            place=place,
        )
    return value
