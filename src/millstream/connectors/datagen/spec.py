"""Declares the connector `datagen`."""

from __future__ import annotations

from millstream.connectors.datagen.field import PREFIX
from millstream.connectors.datagen.fields import check_datagen
from millstream.plan.connectors import ConnectorSpec, Property, Role
from millstream.sql.properties import COUNT, LARGE_COUNT, NUMBER, TEXT

_SOURCE = (Role.SOURCE,)

SPEC = ConnectorSpec(
    "datagen",
    "Random rows: typed columns with distributions, the same for the same seed.",
    (
        Property(
            "rows.per.second",
            COUNT,
            "The maximum number of rows per second.",
            _SOURCE,
            default="10000",
        ),
        Property(
            "number.of.rows",
            LARGE_COUNT,
            "Rows in total; without it, the source has no end. A column that is a sequence with an "
            "end ends the source, too.",
            _SOURCE,
        ),
        Property("seed", NUMBER, "Another seed gives other rows.", _SOURCE, default="0"),
        Property(
            "start.time",
            TEXT,
            "The time of the first row, such as 2026-01-01T00:00:00Z, so that times repeat, too; "
            "by default, the time when the row is generated.",
            _SOURCE,
        ),
        Property(
            "max.rows.per.batch",
            COUNT,
            "The maximum number of rows per micro-batch.",
            _SOURCE,
            default="1000000",
        ),
        Property(
            f"{PREFIX}NAME.OPTION",
            TEXT,
            "How the column NAME is generated: kind, min, max, distribution, mean, stddev, skew, "
            "start, end, length, values, max.past, null.rate "
            "(see chapter 12, Generated rows).",
            _SOURCE,
        ),
    ),
    source="millstream.connectors.datagen.source:open_source",
    executor_reads=True,
    admission_control=True,
    pass_through=(PREFIX,),
    check=check_datagen,
)
