"""Masks secrets in `explain` output, messages and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millstream.plan.connectors import ConnectorSpec
from millstream.secret_names import SECRET_PARAMETER

# Names of settings, and of options that no connector declares.
_SECRET = re.compile(r"passw|secret|token|credential|jaas|key", re.IGNORECASE)
_NOT_SECRET = ("key_groups",)
# Up to the last @: passwords in URLs are often not escaped.
_LOGIN_IN_URL = re.compile(r"(?<=://)\S+(?=@)")


def mask_secret(name: str, value: str) -> str:
    """Returns the value of a setting, with stars in place of secrets.

    The whole value is a secret if its name suggests it; logins in URLs are always masked.
    """
    if _SECRET.search(name) and name not in _NOT_SECRET:
        return "***"
    return _without_login(value)


def mask_options(spec: ConnectorSpec, options: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns the options of a connector, with stars for those that it declares secret.

    Options that it does not declare are masked by their names.
    """
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
