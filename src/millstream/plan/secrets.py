"""Secrets stay out of plans, explanations and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millstream.plan.connectors import ConnectorSpec
from millstream.secret_names import SECRET_PARAMETER

# Of settings, and of options that no connector declares.
_SECRET = re.compile(r"passw|secret|token|credential|jaas|key", re.IGNORECASE)
_NOT_SECRET = ("key_groups",)
# Up to the last @: what stands before it is often not escaped as it should be.
_LOGIN_IN_URL = re.compile(r"(?<=://)\S+(?=@)")


def mask_secret(name: str, value: str) -> str:
    """The value of a setting, or stars where its name or what a URL holds says it is a secret."""
    if _SECRET.search(name) and name not in _NOT_SECRET:
        return "***"
    return _without_login(value)


def mask_options(spec: ConnectorSpec, options: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The options of a connector; those that it declares secret as stars. Options that it does not
    declare are judged by their names."""
    return {
        name: ("***" if spec.is_secret(name) else _without_login(value))
        if spec.declares(name)
        else mask_secret(name, value)
        for name, value in options
    }


def options_text(spec: ConnectorSpec, options: Iterable[tuple[str, str]]) -> str:
    shown = mask_options(spec, options)
    return ", ".join(f"{name} = {value}" for name, value in shown.items())


def _without_login(value: str) -> str:
    return SECRET_PARAMETER.sub(r"\1***", _LOGIN_IN_URL.sub("***", value))
