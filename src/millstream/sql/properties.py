"""Every property by the place it may stand in, with the values it takes."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from millstream.errors import PropertyError
from millstream.sql.statements import Property
from millstream.temporal import LateAction, Malformed, MissingTime, OnLimit, parse_span


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


def _is_span(value: str) -> bool:
    try:
        return parse_span(value) >= 0
    except PropertyError:
        return False


def _is_signed_span(value: str) -> bool:
    try:
        parse_span(value)
    except PropertyError:
        return False
    return True


def one_of(*values: str) -> Kind:
    """A value out of a list; letter case does not matter."""
    return Kind("one of " + ", ".join(values), lambda value: value.lower() in values, cased=False)


TEXT = Kind("a text", lambda value: value != "")
SPAN = Kind("a duration such as 500ms, 5s or 24h", _is_span)
SOME_SPAN = Kind(
    "a duration above 0, such as 500ms, 5s or 24h",
    lambda value: _is_span(value) and parse_span(value) > 0,
)
SIGNED_SPAN = Kind("a duration such as -5m, 0s or 24h", _is_signed_span)
COUNT = Kind("a whole number above 0", lambda value: value.isdecimal() and int(value) > 0)
SEVERAL = Kind("a whole number, 2 or more", lambda value: value.isdecimal() and int(value) > 1)
NUMBER = Kind("a whole number, 0 or more", str.isdecimal)
SPAN_OR_FOREVER = Kind(
    "a duration such as 5m, 24h or 7d, or forever",
    lambda value: value.lower() == "forever" or _is_span(value),
)
FLAG = one_of("true", "false")
ENGINE = one_of("auto", "columnar", "native")

SOURCE_CONNECTORS = ("file", "memory", "rate", "kafka", "jdbc")
# Of a table: what is not a stream is a database, asked through a driver of its own. "jdbc" with a
# URL of one of them is another name for it.
TABLE_CONNECTORS = (*SOURCE_CONNECTORS, "postgresql", "sqlite")
SINK_CONNECTORS = ("file", "memory", "console", "noop", "kafka", "jdbc")

_EXTERNAL = {
    "path": TEXT,
    "format": one_of("csv", "json", "parquet", "orc", "text", "avro"),
    "header": FLAG,
    "delimiter": TEXT,
    "timestamp.format": TEXT,
    "compression": TEXT,
    "topic": TEXT,
    "url": TEXT,
    "table": TEXT,
    "driver": TEXT,
    "user": TEXT,
    "password": TEXT,
}
_SOURCE = {
    **_EXTERNAL,
    "connector": one_of(*SOURCE_CONNECTORS),
    "idle.timeout": SPAN,
    "watermark.every": COUNT,
    "event.missing": one_of(*MissingTime),
    "malformed": one_of(*Malformed),
    "dead_letter.sink": TEXT,
    "max.rows.per.batch": COUNT,
    "max.files.per.batch": COUNT,
    "rows.per.second": COUNT,
    "reader": one_of("auto", "spark", "arrow"),
}
PROPERTIES: Mapping[Where, Mapping[str, Kind]] = {
    Where.SOURCE: _SOURCE,
    Where.TABLE: {
        **_SOURCE,
        "connector": one_of(*TABLE_CONNECTORS),
        "table.mode": one_of("lookup", "broadcast"),
        "lookup.cache.rows": NUMBER,
        "lookup.cache.ttl": SPAN,
        "lookup.async_capacity": COUNT,  # questions at a time, a worker
        "lookup.batch": COUNT,  # keys a question
        "lookup.timeout": SOME_SPAN,
        "lookup.retries": NUMBER,
        "lookup.on_error": one_of("fail", "null", "side_output"),
        "refresh.interval": SOME_SPAN,
        "refresh.on": one_of("change", "command"),
        "broadcast.max_rows": COUNT,
        "broadcast.max_bytes": COUNT,
        "changelog.op": TEXT,
        "reader": one_of("auto", "spark"),  # a table is read once, and whole
    },
    Where.SINK: {
        **_EXTERNAL,
        "connector": one_of(*SINK_CONNECTORS),
        "partition.by": TEXT,
        "rows": COUNT,
    },
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
        "state.max_rows": COUNT,
        "state.max_bytes": COUNT,
        "state.on_limit": one_of(*OnLimit),
        "engine": ENGINE,
    },
    Where.JOB: {
        "checkpoint": TEXT,
        "trigger": TEXT,
        "batch.target": SPAN,
        "key_groups": COUNT,
        "engine": ENGINE,
    },
}
# Names below these prefixes go to Spark or Kafka as they are; the case of others does not matter.
PREFIXES: Mapping[Where, tuple[str, ...]] = {
    Where.SOURCE: ("kafka.",),
    Where.TABLE: ("kafka.",),
    Where.SINK: ("kafka.",),
    Where.QUERY: (),
    Where.JOB: ("spark.",),
}


def named(written: str) -> str:
    """The name of a property, however it is written."""
    given = {prefix for prefixes in PREFIXES.values() for prefix in prefixes}
    return written if written.startswith(tuple(given)) else written.lower()


def check(where: Where, properties: Iterable[Property]) -> dict[str, Property]:
    """The properties by name, each known and with a value it can take."""
    known = PROPERTIES[where]
    checked: dict[str, Property] = {}
    for item in properties:
        name = item.name
        if name.startswith(PREFIXES[where]):
            checked[name] = item
            continue
        if name not in known:
            raise PropertyError(
                "MS-PROP-UNKNOWN",
                f"a {where} has no property '{name}'.",
                fix=_nearest(where, name),
                place=item.place,
            )
        if not known[name].accepts(item.value):
            raise PropertyError(
                "MS-PROP-VALUE",
                f"'{name}' cannot be '{item.value}'.",
                fix=f"It takes {known[name].says}.",
                place=item.value_place,
            )
        checked[name] = item if known[name].cased else replace(item, value=item.value.lower())
    return checked


def _nearest(where: Where, name: str) -> str:
    near = difflib.get_close_matches(name, PROPERTIES[where], n=1)
    if near:
        return f"Did you mean '{near[0]}'?"
    elsewhere = [str(place) for place, known in PROPERTIES.items() if name in known]
    if elsewhere:
        return f"It belongs to a {' or a '.join(elsewhere)}."
    return f"A {where} knows {', '.join(sorted(PROPERTIES[where]))}."
