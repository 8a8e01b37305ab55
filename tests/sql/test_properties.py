"""Properties by place: known names, values they take, and the nearest name to a misspelt one."""

from __future__ import annotations

import pytest

from millstream.errors import Place, PropertyError
from millstream.sql.properties import PROPERTIES, PropertyOwner, check_properties
from millstream.sql.statements import Property

HERE = Place(1, 1)


def given(name: str, value: str) -> Property:
    return Property(name, value, HERE, Place(1, 9))


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (PropertyOwner.SOURCE, "connector", "FILE"),
        (PropertyOwner.SOURCE, "idle.timeout", "30s"),
        (PropertyOwner.SOURCE, "event.missing", "wall_clock"),
        (PropertyOwner.SOURCE, "malformed", "dead_letter"),
        (PropertyOwner.TABLE, "lookup.cache.ttl", "10m"),
        (PropertyOwner.TABLE, "lookup.retries", "0"),
        (PropertyOwner.TABLE, "lookup.batch", "500"),
        (PropertyOwner.TABLE, "lookup.on_error", "side_output"),
        (PropertyOwner.TABLE, "connector", "postgresql"),
        (PropertyOwner.TABLE, "table.mode", "Broadcast"),
        (PropertyOwner.TABLE, "refresh.on", "change"),
        (PropertyOwner.TABLE, "broadcast.max_bytes", "1000"),
        (PropertyOwner.QUERY, "join.type", "regular"),
        (PropertyOwner.QUERY, "join.salt", "2"),
        (PropertyOwner.SINK, "connector", "noop"),
        (PropertyOwner.QUERY, "join.lower_bound", "-5 minutes"),
        (PropertyOwner.QUERY, "state.max_bytes", "1073741824"),
        (PropertyOwner.JOB, "spark.sql.shuffle.partitions", "8"),
        (PropertyOwner.JOB, "key_groups", "32"),
    ],
)
def test_a_valid_property_is_accepted(where: PropertyOwner, name: str, value: str) -> None:
    assert check_properties(where, [given(name, value)])[name].value.lower() == value.lower()


@pytest.mark.parametrize(
    ("where", "name", "value", "fix"),
    [
        (PropertyOwner.SOURCE, "watermark.every", "0", "Use a whole number above 0."),
        (PropertyOwner.TABLE, "lookup.retries", "-1", "Use a whole number, 0 or more."),
        (
            PropertyOwner.SOURCE,
            "watermark.every",
            "2147483648",
            "Use a whole number above 0, at most 2147483647.",
        ),
        (
            PropertyOwner.QUERY,
            "state.max_rows",
            "99999999999999999999",
            "Use a whole number above 0, at most 9223372036854775807.",
        ),
        (PropertyOwner.TABLE, "table.mode", "cached", "Use one of lookup, broadcast."),
        (
            PropertyOwner.TABLE,
            "refresh.interval",
            "0s",
            "Use a duration above 0, such as 500ms, 5s or 24h.",
        ),
        (PropertyOwner.QUERY, "join.salt", "1", "Use a whole number, 2 or more."),
        (
            PropertyOwner.QUERY,
            "join.retention",
            "-1h",
            "Use a duration such as 500ms, 5s or 24h.",
        ),
        (PropertyOwner.JOB, "engine", "fast", "Use one of auto, columnar, native."),
        (PropertyOwner.JOB, "checkpoint", "", "Use a non-empty string."),
    ],
)
def test_an_invalid_value_is_rejected_at_its_position(
    where: PropertyOwner, name: str, value: str, fix: str
) -> None:
    with pytest.raises(PropertyError) as caught:
        check_properties(where, [given(name, value)])
    assert str(caught.value) == (
        f"MS-PROP-VALUE at line 1, column 9: '{name}' cannot be '{value}'. {fix}"
    )


def test_a_misspelt_property_suggests_the_nearest() -> None:
    with pytest.raises(PropertyError) as caught:
        check_properties(PropertyOwner.SOURCE, [given("event.mising", "skip")])
    assert str(caught.value) == (
        "MS-PROP-UNKNOWN at line 1, column 1: a source has no property 'event.mising'. "
        "Did you mean 'event.missing'?"
    )


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (
            PropertyOwner.QUERY,
            ("join.type", "join.salt", "late.budget", "window.lateness", "output.mode"),
        ),
        (PropertyOwner.TABLE, ("lookup.async_capacity", "lookup.timeout", "refresh.interval")),
        (PropertyOwner.JOB, ("checkpoint", "trigger", "batch.target", "key_groups", "engine")),
    ],
)
def test_properties_of_the_design_are_known(where: PropertyOwner, names: tuple[str, ...]) -> None:
    assert set(names) <= set(PROPERTIES[where])
