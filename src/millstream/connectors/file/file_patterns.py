"""Glob patterns of paths: `*`, `?`, `[a-z]`, `{a,b}` within a name, and `**` for any folders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

GLOB = "*?[{"
ANY_FOLDERS = "**"
_QUERY = re.compile(r"\?[\w.-]+=[^/]*\Z")


def split_query(url: str) -> tuple[str, str]:
    """Splits a URL from the options of its file system: `s3://a/b?region=eu` has `?region=eu`."""
    found = _QUERY.search(url) if "://" in url else None
    return (url[: found.start()], url[found.start() :]) if found else (url, "")


def has_pattern(text: str) -> bool:
    return any(character in text for character in GLOB)


def split_pattern(path: str) -> tuple[str, tuple[str, ...]]:
    """Returns the folder above the first component with a pattern, and the components from there;
    none if the path has no pattern."""
    parts = path.split("/")
    for number, part in enumerate(parts):
        if has_pattern(part):
            return "/".join(parts[:number]), tuple(each for each in parts[number:] if each)
    return path, ()


@cache
def name_pattern(pattern: str) -> re.Pattern[str]:
    """Returns the regular expression of a component. A bracket or brace that is not closed is an
    ordinary character."""
    return re.compile(_regex(pattern), re.DOTALL)


def matches_path(names: Sequence[str], components: Sequence[str]) -> bool:
    """Whether a path of folders and a file matches a pattern, component by component."""
    if not components:
        return not names
    first, rest = components[0], components[1:]
    if first == ANY_FOLDERS:
        return any(matches_path(names[count:], rest) for count in range(len(names) + 1))
    is_match = bool(names) and name_pattern(first).fullmatch(names[0]) is not None
    return is_match and matches_path(names[1:], rest)


def _regex(pattern: str) -> str:
    parts, place = [], 0
    while place < len(pattern):
        character = pattern[place]
        place += 1
        if character == "*":
            parts.append(".*")
        elif character == "?":
            parts.append(".")
        elif character == "[" and (end := pattern.find("]", place + 1)) > 0:
            inside = pattern[place:end].replace("\\", "\\\\").replace("[", "\\[")
            negated = inside[0] in "!^"
            parts.append(f"[^{inside[1:]}]" if negated else f"[{inside}]")
            place = end + 1
        elif character == "{" and (end := pattern.find("}", place)) > 0:
            parts.append("(?:" + "|".join(map(_regex, pattern[place:end].split(","))) + ")")
            place = end + 1
        else:
            parts.append(re.escape(character))
    return "".join(parts)
