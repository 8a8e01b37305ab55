"""Writes docs/reference/properties.md: the properties of statements and the settings of jobs.

    python -m scripts.property_reference

Names and accepted values are those that `millstream.sql.properties` validates. Defaults and
descriptions are in this file; a test fails if one is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from millstream.plan.nodes.tables import Broadcast
from millstream.sql.properties import PROPERTIES, PropertyOwner, PropertyType
from millstream.temporal import format_span
from millstream.values import Lookup

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "properties.md"
HEAD = """# Properties and settings

This page lists the properties of Millstream's statements and the settings of a job. The properties
of each connector are in [Connectors](../connectors.md). A property that is not used by a statement
or operator is rejected with `MS-PROP-UNKNOWN` or `MS-PROP-UNUSED`.

This page is generated: `python -m scripts.property_reference`.
"""


@dataclass(frozen=True)
class Description:
    """What a property does.

    Attributes:
        default: The value without the property. Empty: there is no default.
        links: Pages that describe the property, by title.
    """

    text: str
    default: str = ""
    links: Mapping[str, str] = field(default_factory=dict)


_TIME = {"chapter 3": "../03-time-and-watermarks.md"}
_LATE = {"chapter 4": "../04-late-data.md"}
_CHANGELOG = {"chapter 6": "../06-changelogs.md"}
_TEMPORAL = {"chapter 8": "../08-temporal-joins.md#directions"}
_REGULAR = {"chapter 9": "../09-regular-joins.md#state-ttl"}
_SALT = {"chapter 10": "../10-several-joins.md#skewed-keys"}
_TABLES = {"chapter 11": "../11-lookups-and-tables.md"}
_RUNNING = {"chapter 13": "../13-running-jobs.md"}
_LIMITS = {"chapter 14": "../14-recovery.md#state-limits"}
_ENGINES = {"chapter 15": "../15-deployment.md#engines"}
_BOUNDS = {"chapter 2": "../02-interval-joins.md#bounds"}

_LOOKUP, _BROADCAST = Lookup(), Broadcast()

DESCRIPTIONS: Mapping[str, Description] = {
    "connector": Description("The connector.", links={"connectors": "../connectors.md"}),
    "idle.timeout": Description(
        "The time without rows after which the source is idle and watermarks do not wait for it.",
        "never idle",
        _TIME,
    ),
    "watermark.every": Description(
        "The number of rows after which the watermark advances.", "1", _TIME
    ),
    "watermark.max_ahead": Description(
        "How far an event time may be ahead of processing time; rows beyond it are rejected.",
        "1d",
        _LATE,
    ),
    "event.missing": Description("What happens to rows whose event time is NULL.", "error", _LATE),
    "malformed": Description("What happens to malformed records and files.", "dead_letter", _LATE),
    "dead_letter.sink": Description("The sink of dead letters.", "files in the checkpoint", _LATE),
    "table.mode": Description(
        "Whether the table is looked up by key or broadcast to every worker.",
        "lookup for databases, broadcast for files",
        _TABLES,
    ),
    "lookup.cache.rows": Description(
        "The rows and missing keys that a worker caches; the least recently used are evicted "
        "first. 0 disables the cache.",
        f"{_LOOKUP.cache_rows}",
        _TABLES,
    ),
    "lookup.cache.ttl": Description(
        "How long a cached row is valid.", format_span(_LOOKUP.cache_ttl), _TABLES
    ),
    "lookup.async_capacity": Description(
        "The number of concurrent lookups of a worker.", f"{_LOOKUP.capacity}", _TABLES
    ),
    "lookup.batch": Description("The number of keys per lookup.", f"{_LOOKUP.batch}", _TABLES),
    "lookup.timeout": Description(
        "The time after which a lookup is cancelled and retried.",
        format_span(_LOOKUP.timeout),
        _TABLES,
    ),
    "lookup.retries": Description(
        "How often a failed lookup is retried, after pauses that grow from 0.1 s to 5 s.",
        f"{_LOOKUP.retries}",
        _TABLES,
    ),
    "lookup.on_error": Description(
        "What happens to a row when all retries of its lookup have failed.", "fail", _TABLES
    ),
    "refresh.interval": Description(
        "The time after which the table is read again.", "read once", _TABLES
    ),
    "refresh.on": Description("The event at which the table is read again.", "read once", _TABLES),
    "broadcast.max_rows": Description(
        "The maximum number of rows of a broadcast table.", f"{_BROADCAST.max_rows}", _TABLES
    ),
    "broadcast.max_bytes": Description(
        "The maximum size of a broadcast table in memory.", f"{_BROADCAST.max_bytes}", _TABLES
    ),
    "changelog.op": Description(
        "The column with the operation of a versioned table.",
        "_OP",
        {"chapter 8": "../08-temporal-joins.md#deletes"},
    ),
    "join.type": Description(
        "The kind of join; an error if the query has another one.", "from the syntax"
    ),
    "join.lower_bound": Description(
        "The lower bound of an interval join: right time minus left time.", links=_BOUNDS
    ),
    "join.upper_bound": Description("The upper bound of an interval join.", links=_BOUNDS),
    "join.retention": Description(
        "How long an interval join keeps rows in state, if longer than its bounds require.",
        "from the bounds",
        {"chapter 2": "../02-interval-joins.md#how-long-rows-stay-in-state"},
    ),
    "join.salt": Description(
        "The number of key groups over which the rows of each key are distributed.",
        "no salting",
        _SALT,
    ),
    "late.policy": Description("What happens to late rows.", "drop", _LATE),
    "late.budget": Description(
        "How far behind the watermark a row may be to be reassigned.",
        "required by reassign",
        _LATE,
    ),
    "late.sink": Description(
        "The sink of late rows, with 'late.policy' = 'side_output'.",
        "files in the checkpoint",
        _LATE,
    ),
    "temporal.direction": Description(
        "Which version of a temporal join a row matches.", "backward", _TEMPORAL
    ),
    "temporal.tolerance": Description("The maximum distance of a version.", "unlimited", _TEMPORAL),
    "window.lateness": Description("How long a window stays open after its end.", "0s", _CHANGELOG),
    "output.mode": Description(
        "How results are written to the sink.",
        "append; retract for changelogs",
        _CHANGELOG,
    ),
    "on.error": Description(
        "What happens to a row for which an expression fails. With SET, for all queries.",
        "fail",
        {"chapter 4": "../04-late-data.md#rows-for-which-an-expression-fails"},
    ),
    "state.ttl": Description(
        "How far the watermark may advance past a row before it expires.",
        "required without a window or bound",
        _REGULAR,
    ),
    "state.max_rows": Description("The maximum rows in state.", "unlimited", _LIMITS),
    "state.max_bytes": Description("The maximum bytes of state.", "unlimited", _LIMITS),
    "state.on_limit": Description("What happens at a limit of state.", "fail", _LIMITS),
    "engine": Description("The engine.", "auto", _ENGINES),
    "checkpoint": Description(
        "The folder of the checkpoint.",
        ".millstream/<job>",
        {"chapter 14": "../14-recovery.md#checkpoints"},
    ),
    "trigger": Description(
        "The time between micro-batches, or once.", "no pause between them", _RUNNING
    ),
    "batch.target": Description("Reserved; without effect."),
    "key_groups": Description(
        "The number of partitions of the state. Fixed when the checkpoint is created.",
        "the number of shuffle partitions",
        {"chapter 15": "../15-deployment.md"},
    ),
    "on.failure": Description(
        "What the other queries of a job do when one fails.",
        "stop_all",
        {"chapter 14": "../14-recovery.md#failures"},
    ),
}

SECTIONS = (
    ("Sources", PropertyOwner.SOURCE, "Properties of `CREATE SOURCE`."),
    (
        "Tables",
        PropertyOwner.TABLE,
        "Properties of `CREATE TABLE`. Those of a source apply to tables with a watermark.",
    ),
    (
        "Sinks",
        PropertyOwner.SINK,
        "Properties of `CREATE SINK`; others are those of the connector.",
    ),
    ("Queries", PropertyOwner.QUERY, "Properties in the `WITH` clause of a query."),
    (
        "Jobs",
        PropertyOwner.JOB,
        "Settings of a job: `SET 'name' = 'value'`. Settings that begin with `spark.` go to Spark.",
    ),
)


def property_reference() -> str:
    """Returns the reference page."""
    lines = [HEAD]
    for title, owner, introduction in SECTIONS:
        lines += [f"## {title}", "", introduction, "", *_table(PROPERTIES[owner]), ""]
    return "\n".join(lines).rstrip() + "\n"


def _table(types: Mapping[str, PropertyType]) -> Iterator[str]:
    yield "| property | value | default | |"
    yield "|---|---|---|---|"
    for name, type_ in types.items():
        description = DESCRIPTIONS[name]
        links = "".join(f" ([{title}]({path}))" for title, path in description.links.items())
        cells = (f"`{name}`", type_.description, description.default, description.text + links)
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(property_reference(), encoding="utf-8")
    print(f"wrote {PAGE}")
