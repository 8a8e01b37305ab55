"""The properties of each statement and the types of their values.

This module declares Millstream's own properties. A connector declares its properties in its
`ConnectorSpec` (`plan/connectors.py`); planning passes them to `check_properties`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from millstream.errors import PropertyError
from millstream.sql.limits import MAX_KEY_GROUPS, describe_character, find_invalid_character
from millstream.sql.statements import Property
from millstream.temporal import (
    MAX_SPAN,
    MICROS,
    DurationRangeError,
    ErrorAction,
    LateAction,
    MalformedAction,
    MissingTime,
    OnLimit,
    parse_span,
)


class PropertyOwner(StrEnum):
    """The statement that a property belongs to."""

    SOURCE = "source"
    TABLE = "table"
    SINK = "sink"
    QUERY = "query"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class PropertyType:
    """The type of a property's value: its description in errors, a test that a value must pass, and
    whether letter case matters."""

    description: str
    accepts: Callable[[str], bool]
    case_sensitive: bool = True
    maximum: int | None = None  # upper limit of a number

    def limit(self, value: str) -> str:
        """Describes the upper limit if a value exceeds it."""
        if self.maximum is None or not value.isdecimal() or len(value) < len(str(self.maximum)):
            return ""
        return f", at most {self.maximum}"


def _is_duration(value: str, minimum: int = 0, maximum: int = MAX_SPAN) -> bool:
    """Tests whether a value is a duration within limits; raises for one longer than MAX_SPAN."""
    try:
        return minimum <= parse_span(value) <= maximum
    except DurationRangeError:
        raise
    except PropertyError:
        return False


_MAX_INT, _MAX_LONG = 2**31 - 1, 2**63 - 1  # what Spark accepts, what limits of state accept


def _whole_number(description: str, minimum: int, maximum: int = _MAX_INT) -> PropertyType:
    """Returns the type of whole numbers within limits; errors show an upper limit if exceeded."""
    digits = len(str(maximum))  # Python does not parse thousands of digits

    def accepts(value: str) -> bool:
        whole = value.isascii() and value.isdecimal() and len(value) <= digits
        return whole and minimum <= int(value) <= maximum

    return PropertyType(description, accepts, maximum=maximum)


def one_of(*values: str) -> PropertyType:
    """Returns the type of values from a list; letter case does not matter."""
    return PropertyType(
        "one of " + ", ".join(values), lambda value: value.lower() in values, case_sensitive=False
    )


TEXT = PropertyType("a non-empty string", lambda value: value != "")
ANY_TEXT = PropertyType("a string, which may be empty", lambda _: True)
CHARACTER = PropertyType(
    "one ASCII character that is not a line break; \\t is a tab",
    lambda value: value in ("\\t", "\t") or (len(value) == 1 and " " <= value < "\x7f"),
)
DURATION = PropertyType("a duration such as 500ms, 5s or 24h", _is_duration)
POSITIVE_DURATION = PropertyType(
    "a duration above 0, such as 500ms, 5s or 24h",
    lambda value: _is_duration(value, 1),
)
TIMEOUT = PropertyType(
    "a duration above 0 and at most 24h, such as 500ms or 5s",
    lambda value: _is_duration(value, 1, 24 * MICROS["h"]),
)
TRIGGER = PropertyType(
    "a duration above 0, such as 500ms, 10s or 5m, or once",
    lambda value: value.lower() == "once" or _is_duration(value, 1),
)
SIGNED_DURATION = PropertyType(
    "a duration such as -5m, 0s or 24h", lambda value: _is_duration(value, -MAX_SPAN)
)
COUNT = _whole_number("a whole number above 0", 1)
LARGE_COUNT = _whole_number("a whole number above 0", 1, _MAX_LONG)
AT_LEAST_TWO = _whole_number("a whole number, 2 or more", 2)
NUMBER = _whole_number("a whole number, 0 or more", 0)
KEY_GROUPS = PropertyType(
    f"a whole number from 1 to {MAX_KEY_GROUPS}",
    lambda value: COUNT.accepts(value) and int(value) <= MAX_KEY_GROUPS,
)
DURATION_OR_FOREVER = PropertyType(
    "a duration such as 5m, 24h or 7d, or forever",
    lambda value: value.lower() == "forever" or _is_duration(value),
)
DURATION_OR_OFF = PropertyType(
    "a duration above 0, such as 5m, 24h or 7d, or off",
    lambda value: value.lower() == "off" or (_is_duration(value) and parse_span(value) > 0),
)
BOOLEAN = one_of("true", "false")
ENGINE = one_of("auto", "columnar", "native")

_SOURCE = {
    "connector": TEXT,
    "idle.timeout": DURATION,
    "watermark.every": COUNT,
    "watermark.max_ahead": DURATION_OR_OFF,
    "event.missing": one_of(*MissingTime),
    "malformed": one_of(*MalformedAction),
    "dead_letter.sink": TEXT,
}
PROPERTIES: Mapping[PropertyOwner, Mapping[str, PropertyType]] = {
    PropertyOwner.SOURCE: _SOURCE,
    PropertyOwner.TABLE: {
        **_SOURCE,
        "table.mode": one_of("lookup", "broadcast"),
        "lookup.cache.rows": NUMBER,
        "lookup.cache.ttl": DURATION,
        "lookup.async_capacity": COUNT,  # concurrent lookups per worker
        "lookup.batch": COUNT,  # keys per lookup
        "lookup.timeout": TIMEOUT,
        "lookup.retries": NUMBER,
        "lookup.on_error": one_of("fail", "null", "side_output"),
        "refresh.interval": POSITIVE_DURATION,
        "refresh.on": one_of("change", "command"),
        "broadcast.max_rows": COUNT,
        "broadcast.max_bytes": LARGE_COUNT,
        "changelog.op": TEXT,
    },
    PropertyOwner.SINK: {"connector": TEXT},
    PropertyOwner.QUERY: {
        "join.type": one_of("interval", "window", "temporal", "lookup", "regular"),
        "join.lower_bound": SIGNED_DURATION,
        "join.upper_bound": SIGNED_DURATION,
        "join.retention": DURATION,
        "join.salt": AT_LEAST_TWO,
        "late.policy": one_of(*LateAction),
        "late.budget": DURATION,
        "late.sink": TEXT,
        "temporal.direction": one_of("backward", "forward", "nearest"),
        "temporal.tolerance": DURATION,
        "window.lateness": DURATION,
        "output.mode": one_of("append", "upsert", "retract"),
        "on.error": one_of(*ErrorAction),
        "dead_letter.sink": TEXT,
        "state.ttl": DURATION_OR_FOREVER,
        "state.max_rows": LARGE_COUNT,
        "state.max_bytes": LARGE_COUNT,
        "state.on_limit": one_of(*OnLimit),
        "engine": ENGINE,
    },
    PropertyOwner.JOB: {
        "checkpoint": TEXT,
        "trigger": TRIGGER,
        "batch.target": DURATION,
        "key_groups": KEY_GROUPS,
        "engine": ENGINE,
        "on.error": one_of(*ErrorAction),
        "on.failure": one_of("stop_all", "continue"),
    },
}
_REMOVED = {"reader": "Remove it: executors always read the files."}
# Properties with these prefixes are passed to Spark unchanged; the case of others does not matter.
PREFIXES: Mapping[PropertyOwner, tuple[str, ...]] = {PropertyOwner.JOB: ("spark.",)}


def normalize_name(written: str) -> str:
    """Returns the name of a property in lower case; Spark's properties keep their case."""
    given = {prefix for prefixes in PREFIXES.values() for prefix in prefixes}
    return written if written.startswith(tuple(given)) else written.lower()


def check_properties(
    where: PropertyOwner,
    properties: Iterable[Property],
    declared: Mapping[str, PropertyType] | None = None,
    *,
    pass_through: tuple[str, ...] = (),
    explain: Callable[[str], tuple[str, str, str] | None] = lambda _: None,
) -> dict[str, Property]:
    """Returns the properties by name; rejects unknown names and invalid values.

    Args:
        where: The statement they belong to.
        properties: The properties of the statement.
        declared: Further properties that this statement accepts.
        pass_through: Prefixes of names that are not checked.
        explain: Returns code, cause and fix for a name that belongs elsewhere, or None.
    """
    known = {**PROPERTIES[where], **(declared or {})}
    free = (*PREFIXES.get(where, ()), *pass_through)
    checked: dict[str, Property] = {}
    for item in properties:
        name = item.name
        if found := find_invalid_character(item.name + item.value):
            raise PropertyError(
                "MS-PROP-VALUE", f"{describe_character(found[0])}.", place=item.value_place
            )
        if name.startswith(free):
            checked[name] = item
            continue
        if name not in known:
            raise _unknown(where, item, known, explain(name))
        try:
            accepted = known[name].accepts(item.value)
        except DurationRangeError as error:
            raise error.at(item.value_place) from None
        if not accepted:
            raise PropertyError(
                "MS-PROP-VALUE",
                f"'{name}' cannot be '{shortened(item.value)}'.",
                fix=f"Use {known[name].description}{known[name].limit(item.value)}.",
                place=item.value_place,
            )
        checked[name] = (
            item if known[name].case_sensitive else replace(item, value=item.value.lower())
        )
    return checked


def _unknown(
    where: PropertyOwner, item: Property, known: Iterable[str], why: tuple[str, str, str] | None
) -> PropertyError:
    if item.name in _REMOVED:
        why = (
            "MS-PROP-REMOVED",
            f"the property '{item.name}' no longer exists.",
            _REMOVED[item.name],
        )
    elif why is None:
        cause = f"a {where} has no property '{shortened(item.name)}'."
        why = "MS-PROP-UNKNOWN", cause, _other_place(item) or _nearest(where, item.name, known)
    code, cause, fix = why
    return PropertyError(code, cause, fix=fix, place=item.place)


def shortened(value: str) -> str:
    return value if len(value) <= 100 else f"{value[:100]}…"


_EXAMPLES = {
    PropertyOwner.SOURCE: "CREATE SOURCE … WITH ({})",
    PropertyOwner.TABLE: "CREATE TABLE … WITH ({})",
    PropertyOwner.SINK: "CREATE SINK … WITH ({})",
    PropertyOwner.QUERY: "CREATE SINK … AS SELECT … WITH ({}), after the query",
    PropertyOwner.JOB: "SET {}",
}


def _other_place(item: Property) -> str:
    """Returns where a property of other statements is written, or an empty string."""
    owners = [place for place, own in PROPERTIES.items() if item.name in own]
    if not owners:
        return ""
    value = "…" if "'" in item.value or len(item.value) > 40 else item.value
    example = _EXAMPLES[owners[0]].format(f"'{item.name}' = '{value}'")
    return f"It belongs to a {' or a '.join(map(str, owners))}: write {example}."


def _nearest(where: PropertyOwner, name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"Did you mean '{near[0]}'?"
    return f"The properties of a {where} are {', '.join(names)}."
