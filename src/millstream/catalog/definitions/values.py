"""Values of definitions: names, identifiers, days, types and settings."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, StringConstraints
from pydantic_core import PydanticCustomError

from millstream.catalog.types import canonical_type
from millstream.secret_names import contains_secret

ENVIRONMENT_FIX = "Remove it, and set it in the environment, such as PGPASSWORD for PostgreSQL."
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_PROJECT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def wrong_value(cause: str, fix: str) -> PydanticCustomError:
    """Returns the error of a value, which the file's reader shows with its place."""
    return PydanticCustomError("wrong_value", "{cause}", {"cause": cause, "fix": fix})


def as_text(value: object) -> object:
    """YAML reads 2026 as a number and 2026-01-31 as a date; as identifiers they are text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float | date) else value


def _day(value: object) -> date:
    """Pydantic would read numbers as Unix times."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and _ISO_DAY.fullmatch(value):
        with suppress(ValueError):
            return date.fromisoformat(value)
    shown = value if isinstance(value, bool | int | float | datetime) else repr(value)
    raise wrong_value(f"{shown} is not a day", "Write it as YYYY-MM-DD, such as 2026-01-31.")


def _name(value: str) -> str:
    if not value.isascii() or not value.isidentifier():
        raise wrong_value(f"{value!r} is not a name", "Use letters, digits and _, no digit first.")
    return value


def _project_name(value: str) -> str:
    if not _PROJECT_NAME.fullmatch(value):
        fix = "Use letters, digits, _ and -, beginning with a letter or _."
        raise wrong_value(f"{value!r} is not the name of a project", fix)
    return value


def _identifier(value: str) -> str:
    if not _IDENTIFIER.fullmatch(value):
        fix = "Use letters, digits, _, . and -, beginning with a letter or digit."
        raise wrong_value(f"{value!r} is not an identifier", fix)
    return value


def without_secret(value: str) -> str:
    if contains_secret(value):
        cause = "it contains a password, and a catalog stores no secrets"
        raise wrong_value(cause, ENVIRONMENT_FIX)
    return value


def _column_type(value: str) -> str:
    try:
        return canonical_type(value)
    except ValueError as error:
        cause, known = str(error), "Correct it."
        if "; known: " in cause:
            cause, _, names = cause.rpartition("; known: ")
            known = f"Known: {names}."
        raise wrong_value(cause, known) from None


def as_list(value: object) -> object:
    """Allows a single name in place of a list with one name."""
    return [value] if isinstance(value, str) else value


def mapping_of(key: str) -> BeforeValidator:
    """Allows a single value in place of a mapping with one key."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


Name = Annotated[str, StringConstraints(max_length=128), AfterValidator(_name)]
ProjectName = Annotated[str, StringConstraints(max_length=128), AfterValidator(_project_name)]
Text = Annotated[str, StringConstraints(min_length=1)]
ColumnType = Annotated[str, AfterValidator(_column_type)]
Identifier = Annotated[
    str,
    BeforeValidator(as_text),
    StringConstraints(min_length=1, max_length=64),
    AfterValidator(_identifier),
]
Day = Annotated[date, BeforeValidator(_day)]
Setting = Annotated[str, BeforeValidator(as_text), AfterValidator(without_secret)]
