"""Secrets stay out of plans, explanations and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SECRET = re.compile(r"passw|secret|token|credential|jaas|key", re.IGNORECASE)
_NOT_SECRET = ("key_groups",)
# Up to the last @: what stands before it is often not escaped as it should be.
_LOGIN_IN_URL = re.compile(r"(?<=://)\S+(?=@)")
# In a URL, or in PostgreSQL's other form of one: host=db password=…
_SECRET_IN_URL = re.compile(
    r"((?:^|[?&;\s])[^=&;\s]*(?:passw|secret|token)[^=&;\s]*\s*=\s*)('[^']*'|[^&;\s]+)",
    re.IGNORECASE,
)


def masked(name: str, value: str) -> str:
    """The value of an option, or stars where its name or what a URL holds says it is a secret."""
    if _SECRET.search(name) and name not in _NOT_SECRET:
        return "***"
    return _SECRET_IN_URL.sub(r"\1***", _LOGIN_IN_URL.sub("***", value))


def options_text(options: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} = {masked(name, value)}" for name, value in options)
