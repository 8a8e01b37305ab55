"""Recognizes secrets in names and URLs."""

from __future__ import annotations

import re

_WORDS = (
    r"passw|pwd|secret|token|credential|jaas|signature|authorization|user\.info|key\.pem"
    r"|(?:access|account|api|private|keystore)[._-]?key"
)
_NAME = rf"(?:[^=?&;/\s]*(?:{_WORDS})[^=&;/\s]*|pass|sig|sas)"
# What makes a name that of a secret, for searches in longer texts.
SECRET_WORD = rf"(?:{_WORDS}|(?<![A-Za-z0-9])(?:pass|sig|sas)(?![A-Za-z0-9]))"
_SECRET_NAME = re.compile(_NAME, re.IGNORECASE)
# In a URL, or in PostgreSQL's other form of one: host=db password=…
SECRET_PARAMETER = re.compile(rf"((?:^|[?&;\s]){_NAME}\s*=\s*)('[^']*'|[^&;\s]*)", re.IGNORECASE)
_PASSWORD_IN_LOGIN = re.compile(r"://[^/@\s]*:\S*@")


def is_secret_name(name: str) -> bool:
    """Whether a setting or URL parameter of this name is a secret."""
    return _SECRET_NAME.fullmatch(name) is not None


def contains_secret(text: str) -> bool:
    """Whether a URL has a password before its host, or a parameter that is a secret."""
    return bool(_PASSWORD_IN_LOGIN.search(text) or SECRET_PARAMETER.search(text))
