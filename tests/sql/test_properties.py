"""Properties by place: known names, values they take, and the nearest name to a misspelt one."""

from __future__ import annotations

import pytest

from millstream.errors import Place, PropertyError
from millstream.sql.properties import PROPERTIES, Where, check
from millstream.sql.statements import Property

HERE = Place(1, 1)


def given(name: str, value: str) -> Property:
    return Property(name, value, HERE, Place(1, 9))


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (Where.SOURCE, "connector", "FILE"),
        (Where.SOURCE, "idle.timeout", "30s"),
        (Where.SOURCE, "event.missing", "wall_clock"),
        (Where.SOURCE, "malformed", "dead_letter"),
        (Where.TABLE, "lookup.cache.ttl", "10m"),
        (Where.TABLE, "lookup.retries", "0"),
        (Where.TABLE, "lookup.batch", "500"),
        (Where.TABLE, "lookup.on_error", "side_output"),
        (Where.TABLE, "connector", "postgresql"),
        (Where.TABLE, "table.mode", "Broadcast"),
        (Where.TABLE, "refresh.on", "change"),
        (Where.TABLE, "broadcast.max_bytes", "1000"),
        (Where.QUERY, "join.type", "regular"),
        (Where.QUERY, "join.salt", "2"),
        (Where.SINK, "connector", "noop"),
        (Where.QUERY, "join.lower_bound", "-5 minutes"),
        (Where.QUERY, "state.max_bytes", "1073741824"),
        (Where.JOB, "spark.sql.shuffle.partitions", "8"),
        (Where.JOB, "key_groups", "32"),
    ],
)
def test_known_property_with_a_good_value_passes(where: Where, name: str, value: str) -> None:
    assert check(where, [given(name, value)])[name].value.lower() == value.lower()


@pytest.mark.parametrize(
    ("where", "name", "value", "fix"),
    [
        (Where.SOURCE, "watermark.every", "0", "It takes a whole number above 0."),
        (Where.TABLE, "lookup.retries", "-1", "It takes a whole number, 0 or more."),
        (
            Where.SOURCE,
            "watermark.every",
            "2147483648",
            "It takes a whole number above 0, at most 2147483647.",
        ),
        (
            Where.QUERY,
            "state.max_rows",
            "99999999999999999999",
            "It takes a whole number above 0, at most 9223372036854775807.",
        ),
        (Where.TABLE, "table.mode", "cached", "It takes one of lookup, broadcast."),
        (
            Where.TABLE,
            "refresh.interval",
            "0s",
            "It takes a duration above 0, such as 500ms, 5s or 24h.",
        ),
        (Where.QUERY, "join.salt", "1", "It takes a whole number, 2 or more."),
        (Where.QUERY, "join.retention", "-1h", "It takes a duration such as 500ms, 5s or 24h."),
        (Where.JOB, "engine", "fast", "It takes one of auto, columnar, native."),
        (Where.JOB, "checkpoint", "", "It takes a text."),
    ],
)
def test_bad_value_is_refused_at_the_value(where: Where, name: str, value: str, fix: str) -> None:
    with pytest.raises(PropertyError) as caught:
        check(where, [given(name, value)])
    assert str(caught.value) == (
        f"MS-PROP-VALUE at line 1, column 9: '{name}' cannot be '{value}'. {fix}"
    )


def test_misspelt_property_names_the_nearest() -> None:
    with pytest.raises(PropertyError) as caught:
        check(Where.SOURCE, [given("event.mising", "skip")])
    assert str(caught.value) == (
        "MS-PROP-UNKNOWN at line 1, column 1: a source has no property 'event.mising'. "
        "Did you mean 'event.missing'?"
    )


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (Where.QUERY, ("join.type", "join.salt", "late.budget", "window.lateness", "output.mode")),
        (Where.TABLE, ("lookup.async_capacity", "lookup.timeout", "refresh.interval")),
        (Where.JOB, ("checkpoint", "trigger", "batch.target", "key_groups", "engine")),
    ],
)
def test_properties_of_the_design_are_known(where: Where, names: tuple[str, ...]) -> None:
    assert set(names) <= set(PROPERTIES[where])
