"""Secrets stay out of plans, explanations and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SECRET = re.compile(r"passw|secret|token|credential|jaas|key", re.IGNORECASE)
_NOT_SECRET = ("key_groups",)
_LOGIN_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def masked(name: str, value: str) -> str:
    """The value of an option, or stars where its name or a login in a URL says it is a secret."""
    if _SECRET.search(name) and name not in _NOT_SECRET:
        return "***"
    return _LOGIN_IN_URL.sub("***", value)


def options_text(options: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} = {masked(name, value)}" for name, value in options)
