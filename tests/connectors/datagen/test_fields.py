"""Options of generated columns are checked when a job is planned."""

from __future__ import annotations

import pytest

from millstream.connectors.datagen.fields import fields_of, row_limit, start_micros
from millstream.errors import PropertyError
from millstream.plan.build.job import build_job

COLUMNS = "id BIGINT, price DECIMAL(6, 2), x DOUBLE, name STRING, ok BOOLEAN, t TIMESTAMP"


def plan(*properties: str, columns: str = COLUMNS) -> None:
    given = ", ".join(("'connector' = 'datagen'", *properties))
    build_job(
        f"CREATE SOURCE a ({columns}) WITH ({given});\n"
        "CREATE SINK out WITH ('connector' = 'blackhole') AS SELECT * FROM a;"
    )


@pytest.mark.parametrize(
    ("properties", "code", "error"),
    [
        (("'fields.ID.mim' = '1'",), "MS-PROP-UNKNOWN", "with one of the options min, max"),
        (("'fields.idd.min' = '1'",), "MS-PROP-UNKNOWN", "names the column idd, which the source"),
        (("'fields.id.min' = 'x'",), "MS-PROP-VALUE", "Use a whole number, at least -92233720"),
        (("'fields.id.max' = '-1'",), "MS-PROP-VALUE", "Use a whole number, at least 0, at most"),
        (("'fields.price.max' = '10000'",), "MS-PROP-VALUE", "at least 0, at most 9999.99"),
        (("'fields.price.min' = '1.001'",), "MS-PROP-VALUE", "cannot be '1.001'"),
        (("'fields.x.min' = 'NaN'",), "MS-PROP-VALUE", "cannot be 'NaN'"),
        (("'fields.x.kind' = 'sequence'",), "MS-PROP-VALUE", "Use one of random."),
        (("'fields.id.skew' = '2'",), "MS-PROP-UNUSED", "applies to the distribution zipf"),
        (("'fields.id.mean' = '2'",), "MS-PROP-UNUSED", "the distribution normal or exponential"),
        (("'fields.x.distribution' = 'zipf'",), "MS-PROP-VALUE", "at most 1,000,000 whole numbers"),
        (("'fields.ok.min' = '0'",), "MS-PROP-UNUSED", "the options are kind, null.rate."),
        (("'fields.t.max.past' = '5'",), "MS-PROP-DURATION", "'5' is not a duration"),
        (("'fields.name.null.rate' = '1.5'",), "MS-PROP-VALUE", "at least 0, at most 1"),
        (("'start.time' = 'noon'",), "MS-PROP-VALUE", "Use a time such as 2026-01-01T00:00:00Z."),
        (("'seed' = 'x'",), "MS-PROP-VALUE", "Use a whole number, 0 or more."),
    ],
)
def test_an_option_that_a_column_does_not_have_is_rejected_with_its_place(
    properties: tuple[str, ...], code: str, error: str
) -> None:
    with pytest.raises(PropertyError) as caught:
        plan(*properties)
    assert caught.value.code == code
    assert error in str(caught.value)
    assert caught.value.place is not None


def test_a_column_of_a_type_that_cannot_be_generated_is_rejected() -> None:
    with pytest.raises(PropertyError, match="column tags: its type is ARRAY<INT>") as caught:
        plan(columns="tags ARRAY<INT>")
    assert caught.value.code == "MS-PROP-DATAGEN"


def test_options_of_all_types_are_accepted() -> None:
    plan(
        "'fields.id.kind' = 'sequence'",
        "'fields.id.start' = '5'",
        "'fields.price.distribution' = 'normal'",
        "'fields.price.mean' = '10.5'",
        "'fields.x.distribution' = 'exponential'",
        "'fields.name.values' = 'red, green'",
        "'fields.name.distribution' = 'zipf'",
        "'fields.t.max.past' = '5s'",
        "'fields.ok.null.rate' = '0.1'",
    )


def test_a_sequence_with_an_end_ends_the_source() -> None:
    options = {"fields.id.kind": "sequence", "fields.id.start": "5", "fields.id.end": "9"}
    fields = fields_of([("id", "BIGINT"), ("x", "DOUBLE")], options)
    assert row_limit(fields, "") == 5
    assert row_limit(fields, "3") == 3
    assert row_limit(fields_of([("id", "BIGINT")], {}), "") is None


def test_a_start_time_without_an_offset_is_utc() -> None:
    assert start_micros("1970-01-01T00:00:01.5") == 1_500_000
    assert start_micros("1970-01-01T01:00:00+01:00") == 0
    assert start_micros("") is None
