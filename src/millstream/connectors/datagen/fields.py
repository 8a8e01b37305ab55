"""Parses how the columns of a `datagen` source are generated: 'fields.NAME.OPTION'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from millstream.connectors.datagen.field import OPTIONS, PREFIX, Field, PlaceOf, invalid_option
from millstream.connectors.datagen.field_parser import FieldParser
from millstream.errors import Place, PropertyError
from millstream.plan.connectors import ConnectorStatement, Options
from millstream.sql.normal_type import normal_type
from millstream.suggestions import nearest
from millstream.temporal import MICROS


def check_datagen(declared: ConnectorStatement, options: Options) -> Options:
    """Rejects columns and options that cannot be generated."""

    def place_of(name: str) -> Place | None:
        given = declared.properties.get(name)
        return given.place if given else declared.place

    fields_of(declared.columns, options, place_of)
    start_micros(options.get("start.time", ""), place_of)
    return options


def start_micros(text: str, place_of: PlaceOf = lambda _: None) -> int | None:
    """Parses 'start.time'; a time without an offset is UTC."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise invalid_option(
            "start.time", text, "a time such as 2026-01-01T00:00:00Z", place_of
        ) from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return int(time.timestamp()) * MICROS["s"] + time.microsecond


def row_limit(fields: Sequence[Field], number: str) -> int | None:
    """Returns the number of rows: 'number.of.rows', or less if a sequence ends before."""
    ends = [
        int(each.high - each.low) + 1
        for each in fields
        if each.kind == "sequence" and each.high is not None
    ]
    return min([*ends, int(number)] if number else ends, default=None)


def fields_of(
    columns: Sequence[tuple[str, str]],
    options: Mapping[str, str],
    place_of: PlaceOf = lambda _: None,
) -> tuple[Field, ...]:
    """Returns how each column is generated; raises PropertyError for an invalid option."""
    given: dict[str, dict[str, str]] = {name.lower(): {} for name, _ in columns}
    for name, value in options.items():
        if name.startswith(PREFIX):
            column, option = _split(name, place_of)
            if column not in given:
                raise PropertyError(
                    "MS-PROP-UNKNOWN",
                    f"'{name}' names the column {column}, which the source does not declare.",
                    fix=nearest(column, list(given)),
                    place=place_of(name),
                )
            given[column][option] = value
    return tuple(
        FieldParser(name, normal_type(type_), given[name.lower()], place_of).field()
        for name, type_ in columns
    )


def _split(name: str, place_of: PlaceOf) -> tuple[str, str]:
    for option in OPTIONS:
        if name.endswith(f".{option}") and len(name) > len(PREFIX) + len(option) + 1:
            return name.removeprefix(PREFIX)[: -len(option) - 1], option
    raise PropertyError(
        "MS-PROP-UNKNOWN",
        f"'{name}' has no option of a generated column.",
        fix=f"Write '{PREFIX}NAME.OPTION' with one of the options {', '.join(OPTIONS)}.",
        place=place_of(name),
    )
