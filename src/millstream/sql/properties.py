"""Properties by the statement they belong to, and kinds of values.

Here are the properties of Millstream itself. Those of a connector are in its declaration
(`plan/connectors.py`); planning passes them to `check`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from millstream.errors import PropertyError
from millstream.sql.limits import MAX_KEY_GROUPS, describe_character, not_text
from millstream.sql.statements import Property
from millstream.temporal import (
    MAX_SPAN,
    MICROS,
    DurationRangeError,
    LateAction,
    Malformed,
    MissingTime,
    OnLimit,
    parse_span,
)


class Where(StrEnum):
    """What a property belongs to."""

    SOURCE = "source"
    TABLE = "table"
    SINK = "sink"
    QUERY = "query"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: how it is said in an error, a test that a value must pass, and whether its
    letter case matters."""

    says: str
    accepts: Callable[[str], bool]
    cased: bool = True
    most: int | None = None  # of a number

    def limit(self, value: str) -> str:
        """The upper limit as a text, if a value exceeds it."""
        if self.most is None or not value.isdecimal() or len(value) < len(str(self.most)):
            return ""
        return f", at most {self.most}"


def _is_span(value: str, least: int = 0, most: int = MAX_SPAN) -> bool:
    """Is a value a duration within limits? One that is longer than any duration raises."""
    try:
        return least <= parse_span(value) <= most
    except DurationRangeError:
        raise
    except PropertyError:
        return False


_MAX_INT, _MAX_LONG = 2**31 - 1, 2**63 - 1  # what Spark takes, and what limits of state take


def _whole(says: str, least: int, most: int = _MAX_INT) -> Kind:
    """Whole numbers within limits; errors show the upper one to whoever exceeds it."""
    digits = len(str(most))  # Python converts no text of thousands of digits

    def accepts(value: str) -> bool:
        whole = value.isascii() and value.isdecimal() and len(value) <= digits
        return whole and least <= int(value) <= most

    return Kind(says, accepts, most=most)


def one_of(*values: str) -> Kind:
    """A value out of a list; letter case does not matter."""
    return Kind("one of " + ", ".join(values), lambda value: value.lower() in values, cased=False)


TEXT = Kind("a text", lambda value: value != "")
ANY_TEXT = Kind("a text, which may be empty", lambda _: True)
CHARACTER = Kind(
    "one ASCII character that is not a line break; \\t is a tab",
    lambda value: value in ("\\t", "\t") or (len(value) == 1 and " " <= value < "\x7f"),
)
SPAN = Kind("a duration such as 500ms, 5s or 24h", _is_span)
SOME_SPAN = Kind(
    "a duration above 0, such as 500ms, 5s or 24h",
    lambda value: _is_span(value, 1),
)
TIMEOUT = Kind(
    "a duration above 0 and at most 24h, such as 500ms or 5s",
    lambda value: _is_span(value, 1, 24 * MICROS["h"]),
)
TRIGGER = Kind(
    "a duration above 0, such as 500ms, 10s or 5m, or once",
    lambda value: value.lower() == "once" or _is_span(value, 1),
)
SIGNED_SPAN = Kind("a duration such as -5m, 0s or 24h", lambda value: _is_span(value, -MAX_SPAN))
COUNT = _whole("a whole number above 0", 1)
LARGE_COUNT = _whole("a whole number above 0", 1, _MAX_LONG)
SEVERAL = _whole("a whole number, 2 or more", 2)
NUMBER = _whole("a whole number, 0 or more", 0)
KEY_GROUPS = Kind(
    f"a whole number from 1 to {MAX_KEY_GROUPS}",
    lambda value: COUNT.accepts(value) and int(value) <= MAX_KEY_GROUPS,
)
SPAN_OR_FOREVER = Kind(
    "a duration such as 5m, 24h or 7d, or forever",
    lambda value: value.lower() == "forever" or _is_span(value),
)
SPAN_OR_OFF = Kind(
    "a duration above 0, such as 5m, 24h or 7d, or off",
    lambda value: value.lower() == "off" or (_is_span(value) and parse_span(value) > 0),
)
FLAG = one_of("true", "false")
ENGINE = one_of("auto", "columnar", "native")

_SOURCE = {
    "connector": TEXT,
    "idle.timeout": SPAN,
    "watermark.every": COUNT,
    "watermark.max_ahead": SPAN_OR_OFF,
    "event.missing": one_of(*MissingTime),
    "malformed": one_of(*Malformed),
    "dead_letter.sink": TEXT,
}
PROPERTIES: Mapping[Where, Mapping[str, Kind]] = {
    Where.SOURCE: _SOURCE,
    Where.TABLE: {
        **_SOURCE,
        "table.mode": one_of("lookup", "broadcast"),
        "lookup.cache.rows": NUMBER,
        "lookup.cache.ttl": SPAN,
        "lookup.async_capacity": COUNT,  # questions at a time, a worker
        "lookup.batch": COUNT,  # keys a question
        "lookup.timeout": TIMEOUT,
        "lookup.retries": NUMBER,
        "lookup.on_error": one_of("fail", "null", "side_output"),
        "refresh.interval": SOME_SPAN,
        "refresh.on": one_of("change", "command"),
        "broadcast.max_rows": COUNT,
        "broadcast.max_bytes": LARGE_COUNT,
        "changelog.op": TEXT,
    },
    Where.SINK: {"connector": TEXT},
    Where.QUERY: {
        "join.type": one_of("interval", "window", "temporal", "lookup", "regular"),
        "join.lower_bound": SIGNED_SPAN,
        "join.upper_bound": SIGNED_SPAN,
        "join.retention": SPAN,
        "join.salt": SEVERAL,
        "late.policy": one_of(*LateAction),
        "late.budget": SPAN,
        "late.sink": TEXT,
        "temporal.direction": one_of("backward", "forward", "nearest"),
        "temporal.tolerance": SPAN,
        "window.lateness": SPAN,
        "output.mode": one_of("append", "upsert", "retract"),
        "state.ttl": SPAN_OR_FOREVER,
        "state.max_rows": LARGE_COUNT,
        "state.max_bytes": LARGE_COUNT,
        "state.on_limit": one_of(*OnLimit),
        "engine": ENGINE,
    },
    Where.JOB: {
        "checkpoint": TEXT,
        "trigger": TRIGGER,
        "batch.target": SPAN,
        "key_groups": KEY_GROUPS,
        "engine": ENGINE,
        "on.failure": one_of("stop_all", "continue"),
    },
}
_REMOVED = {"reader": "Leave it out: executors always read the files."}
# Names below these prefixes go to Spark as they are; the case of others does not matter.
PREFIXES: Mapping[Where, tuple[str, ...]] = {Where.JOB: ("spark.",)}


def named(written: str) -> str:
    """The name of a property, however it is written."""
    given = {prefix for prefixes in PREFIXES.values() for prefix in prefixes}
    return written if written.startswith(tuple(given)) else written.lower()


def check(
    where: Where,
    properties: Iterable[Property],
    declared: Mapping[str, Kind] | None = None,
    *,
    pass_through: tuple[str, ...] = (),
    explain: Callable[[str], tuple[str, str, str] | None] = lambda _: None,
) -> dict[str, Property]:
    """Returns the properties by name, each known and with a value that it accepts.

    Args:
        where: The statement they belong to.
        properties: As they are written.
        declared: Properties that this statement accepts besides Millstream's own.
        pass_through: Prefixes of names that are not checked.
        explain: Code, cause and fix for an unknown name, if it is known why it is out of place.
    """
    known = {**PROPERTIES[where], **(declared or {})}
    free = (*PREFIXES.get(where, ()), *pass_through)
    checked: dict[str, Property] = {}
    for item in properties:
        name = item.name
        if found := not_text(item.name + item.value):
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
                fix=f"It takes {known[name].says}{known[name].limit(item.value)}.",
                place=item.value_place,
            )
        checked[name] = item if known[name].cased else replace(item, value=item.value.lower())
    return checked


def _unknown(
    where: Where, item: Property, known: Iterable[str], why: tuple[str, str, str] | None
) -> PropertyError:
    if item.name in _REMOVED:
        why = (
            "MS-PROP-REMOVED",
            f"the property '{item.name}' no longer exists.",
            _REMOVED[item.name],
        )
    elif why is None:
        cause = f"a {where} has no property '{shortened(item.name)}'."
        why = "MS-PROP-UNKNOWN", cause, _nearest(where, item.name, known)
    code, cause, fix = why
    return PropertyError(code, cause, fix=fix, place=item.place)


def shortened(value: str) -> str:
    return value if len(value) <= 100 else f"{value[:100]}…"


def _nearest(where: Where, name: str, known: Iterable[str]) -> str:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f"Did you mean '{near[0]}'?"
    elsewhere = [str(place) for place, own in PROPERTIES.items() if name in own]
    if elsewhere:
        return f"It belongs to a {' or a '.join(elsewhere)}."
    return f"A {where} knows {', '.join(names)}."
