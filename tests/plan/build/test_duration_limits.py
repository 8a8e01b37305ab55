"""A duration out of range is rejected at planning wherever a duration may stand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.api.values import span_of
from millstream.errors import MillstreamError, Place, PropertyError
from millstream.plan.build.job import build_job
from millstream.plan.explain.render import explain
from millstream.sql.properties import PROPERTIES, PropertyOwner, check_properties
from millstream.sql.statements import Property
from millstream.temporal import MAX_SPAN, DurationRangeError, format_span, parse_span

SOURCES = """
CREATE SOURCE a (k STRING, v INT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 5 SECONDS);
CREATE SOURCE b (k STRING, v INT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL 5 SECONDS);
CREATE TABLE versions (k STRING PRIMARY KEY, v INT, t TIMESTAMP, WATERMARK FOR t AS t);
"""
SINK = "CREATE SINK out WITH ('connector' = 'console') AS\n"
JOIN = f"{SINK}SELECT a.k FROM a JOIN b ON a.k = b.k"
WINDOWED = f"{SINK}SELECT k, COUNT(*) AS n FROM a"
# Each statement has its duration, `§` as a property or interval, on the last line.
PROPERTY_PLACES = {
    "idle timeout": "CREATE SOURCE c (t TIMESTAMP, WATERMARK FOR t AS t) WITH (\n"
    "'idle.timeout' = '§');",
    "cache ttl": "CREATE TABLE c (k STRING PRIMARY KEY, v INT) WITH ('connector' = 'sqlite',\n"
    "'path' = 'x', 'table' = 'c', 'lookup.cache.ttl' = '§');",
    "lookup timeout": "CREATE TABLE c (k STRING PRIMARY KEY, v INT) WITH ('connector' = 'sqlite',\n"
    "'path' = 'x', 'table' = 'c', 'lookup.timeout' = '§');",
    "refresh": "CREATE TABLE c (k STRING PRIMARY KEY, v INT) WITH ('connector' = 'file',\n"
    "'path' = 'x', 'refresh.interval' = '§');",
    "bounds": f"{JOIN} EMIT CHANGES WITH ('join.lower_bound' = '0s',\n'join.upper_bound' = '§');",
    "retention": f"{JOIN} AND b.t = a.t EMIT CHANGES WITH (\n'join.retention' = '§');",
    "join ttl": f"{JOIN} EMIT CHANGES WITH (\n'state.ttl' = '§');",
    "late budget": f"{JOIN} AND b.t = a.t EMIT CHANGES WITH ('late.policy' = 'reassign',\n"
    "'late.budget' = '§');",
    "lateness": f"{WINDOWED} WINDOW TUMBLING(INTERVAL '1' HOUR) GROUP BY k EMIT CHANGES WITH (\n"
    "'window.lateness' = '§');",
    "group ttl": f"{WINDOWED} GROUP BY k EMIT CHANGES WITH (\n'state.ttl' = '§');",
    "tolerance": f"{SINK}SELECT a.k, versions.v FROM a JOIN versions FOR SYSTEM_TIME AS OF a.t "
    "ON a.k = versions.k WITH (\n'temporal.tolerance' = '§');",
    "trigger": "SET 'trigger' =\n'§';",
}
INTERVAL_PLACES = {
    "watermark": "CREATE SOURCE c (t TIMESTAMP,\nWATERMARK FOR t AS t - §);",
    "bound": f"{JOIN}\nAND b.t BETWEEN a.t AND a.t + §;",
    "difference": f"{JOIN}\nAND b.t >= a.t AND b.t - a.t <= §;",
    "within": f"{SINK}SELECT a.k FROM a JOIN b\nWITHIN § ON a.k = b.k;",
    "window": f"{WINDOWED}\nWINDOW TUMBLING(§) GROUP BY k EMIT FINAL;",
    "slide": f"{WINDOWED}\nWINDOW SLIDING(SIZE §, SLIDE INTERVAL '1' DAY) GROUP BY k EMIT FINAL;",
    "session": f"{WINDOWED}\nWINDOW SESSION(§) GROUP BY k EMIT FINAL;",
    "offset": f"{WINDOWED}\nWINDOW TUMBLING(INTERVAL '1' DAY, OFFSET §) GROUP BY k EMIT FINAL;",
}
UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "s": 1_000_000, "ms": 1_000}
WORDS = {"d": "DAYS", "h": "HOURS", "s": "SECONDS", "ms": "MILLISECONDS"}
FIX = "The longest is 36500d (100 years), positive or negative."


@st.composite
def too_long(draw: st.DrawFn, digits: int = 5000) -> tuple[str, str]:
    """A number and a unit that make more than the longest duration."""
    unit = draw(st.sampled_from(sorted(UNITS)))
    least = MAX_SPAN // UNITS[unit] + 1
    numbers = st.integers(least, least * 10) | st.integers(least, 10**30)
    return draw(numbers.map(str) | st.just("9" * digits)), unit


def _rejected(text: str) -> MillstreamError:
    with pytest.raises(MillstreamError) as caught:
        build_job(SOURCES + text)
    return caught.value


@pytest.mark.parametrize("place", PROPERTY_PLACES)
@settings(max_examples=4)
@given(too_long())
def test_a_property_out_of_range_is_rejected_with_its_place(place, duration):
    text = PROPERTY_PLACES[place]
    error = _rejected(text.replace("§", "".join(duration)))
    assert (error.code, error.fix) == ("MS-PROP-DURATION", FIX)
    assert error.place is not None
    assert error.place.line == (SOURCES + text).split("§")[0].count("\n") + 1


@pytest.mark.parametrize("place", INTERVAL_PLACES)
@pytest.mark.parametrize("form", ["INTERVAL '{}' {}", "INTERVAL {} {}", "INTERVAL '{} {}'"])
@settings(max_examples=4)
@given(too_long(digits=90))
def test_an_interval_out_of_range_is_rejected_with_its_place(place, form, duration):
    text = INTERVAL_PLACES[place]
    number, unit = duration
    error = _rejected(text.replace("§", form.format(number, WORDS[unit])))
    assert (error.code, error.fix) == ("MS-PROP-DURATION", FIX)
    assert error.place is not None
    assert error.place.line == (SOURCES + text).split("§")[0].count("\n") + 1


@pytest.mark.parametrize("place", [name for name in INTERVAL_PLACES if name != "within"])
def test_sums_and_products_out_of_range_are_rejected(place):
    for interval in (
        "(INTERVAL '36500' DAYS + INTERVAL '1' MILLISECOND)",
        "(INTERVAL '30000' DAYS * 2)",
        "(INTERVAL '1' DAY * 99999999999999999999999999999)",
    ):
        error = _rejected(INTERVAL_PLACES[place].replace("§", interval))
        assert (error.code, error.fix) == ("MS-PROP-DURATION", FIX)


@settings(max_examples=4)
@given(st.lists(st.integers(0, MAX_SPAN // 1000), min_size=2, max_size=4))
def test_sums_of_valid_durations_are_planned_or_rejected_with_a_reason(parts):
    sum_of = " + ".join(f"INTERVAL '{part}' MILLISECONDS" for part in parts)
    text = f"{SOURCES}{JOIN} AND b.t BETWEEN a.t AND a.t + {sum_of};"
    if sum(parts) * 1000 > MAX_SPAN:
        assert _rejected(text.removeprefix(SOURCES)).code == "MS-PROP-DURATION"
    else:
        assert format_span(sum(parts) * 1000) in explain(build_job(text))


def test_sums_of_the_longest_durations_do_not_overflow():
    longest = "INTERVAL '36500' DAYS"
    text = f"""
CREATE SOURCE a (k STRING, t TIMESTAMP, WATERMARK FOR t AS t - {longest});
CREATE SOURCE b (k STRING, t TIMESTAMP, WATERMARK FOR t AS t - {longest});
CREATE STREAM ab AS SELECT a.k, a.t FROM a JOIN b ON a.k = b.k
  AND b.t BETWEEN a.t - {longest} AND a.t + {longest}
  EMIT CHANGES WITH ('late.policy' = 'reassign', 'late.budget' = '36500d');
CREATE STREAM abb AS SELECT ab.k, ab.t FROM ab JOIN b WITHIN {longest} ON ab.k = b.k;
{SINK}SELECT k, COUNT(*) AS n FROM abb WINDOW TUMBLING({longest}) GROUP BY k
EMIT CHANGES WITH ('window.lateness' = '36500d');
"""
    assert "36500d" in explain(build_job(text))


@pytest.mark.parametrize(
    ("where", "name"),
    [
        (where, name)
        for where, known in PROPERTIES.items()
        for name, kind in known.items()
        if kind.accepts("5s") and not kind.accepts("any text")
    ],
)
def test_every_property_that_takes_a_duration_has_the_range(
    where: PropertyOwner, name: str
) -> None:
    with pytest.raises(DurationRangeError) as caught:
        check_properties(where, [Property(name, "999999999999d", Place(1, 1), Place(1, 9))])
    assert str(caught.value) == (
        f"MS-PROP-DURATION at line 1, column 9: the duration '999999999999d' is out of range. {FIX}"
    )


@pytest.mark.parametrize(
    "call",
    [
        ms.session,
        ms.tumbling,
        ms.reassign,
        span_of,
        parse_span,
        lambda text: ms.sliding("1h", text),
        lambda text: ms.tumbling("1h", offset=text),
    ],
)
@settings(max_examples=4)
@given(too_long())
def test_python_rejects_durations_out_of_range(call, duration):
    with pytest.raises(PropertyError) as caught:
        call("".join(duration))
    assert (caught.value.code, caught.value.fix) == ("MS-PROP-DURATION", FIX)
