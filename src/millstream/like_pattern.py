"""Converts patterns of LIKE to regular expressions."""

from __future__ import annotations

_SPECIAL = frozenset("\\.+*?()|[]{}^$#&-~")


def like_regex(pattern: str, escape: str) -> str | None:
    """Returns the regular expression of a pattern; None if Spark rejects the pattern.

    The escape character may precede only `_`, `%` and itself.
    """
    found: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped not in ("_", "%", escape):
                return None
            found.append(_literal(escaped))
        elif character == "_":
            found.append(".")
        elif character == "%":
            found.append(".*")
        else:
            found.append(_literal(character))
    return rf"(?s)\A{''.join(found)}\z"


def _literal(character: str) -> str:
    return f"\\{character}" if character in _SPECIAL else character
