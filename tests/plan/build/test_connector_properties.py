"""Connectors are declared as values: planning validates properties without their code."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.plan.plans import SOURCES

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.plan.connectors import (
    ConnectorRegistry,
    ConnectorSpec,
    ConnectorStatement,
    Delivery,
    Options,
    Property,
    Role,
    spec_json,
)
from millstream.plan.explain.render import explain, explain_json
from millstream.plan.installed_connectors import BUILT_IN, installed_connectors
from millstream.plan.nodes import Job
from millstream.sql.properties import COUNT, PROPERTIES, TEXT, PropertyOwner

SELECT = "AS SELECT order_id FROM orders"


def planned(sql: str, *specs: ConnectorSpec) -> Job:
    connectors = installed_connectors().with_spec(*specs)
    return build_job(sql, sources=SOURCES, connectors=connectors)


def rejected(sql: str, *specs: ConnectorSpec) -> str:
    with pytest.raises(MillstreamError) as caught:
        planned(sql, *specs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        (
            f"CREATE SINK a WITH ('connector' = 'console', 'path' = 'out') {SELECT}",
            "MS-PROP-UNUSED at line 1, column 46: 'path' belongs to the connectors file, "
            "sqlite and delta, and the sink a uses 'console'. Remove it, or set 'connector' = "
            "'file'.",
        ),
        (
            f"CREATE SINK a WITH ('path' = 'out') {SELECT}",
            "MS-PROP-UNUSED at line 1, column 21: 'path' belongs to the connectors file, "
            "sqlite and delta, and the sink a has no 'connector'. Add 'connector' = 'file', or "
            "remove it.",
        ),
        (
            f"CREATE SINK a WITH ('connector' = 'noop', 'password' = 'x') {SELECT}",
            "MS-PROP-UNUSED at line 1, column 43: 'password' belongs to the connector "
            "postgresql, and the sink a uses 'noop'. Remove it.",
        ),
        (
            "CREATE SOURCE a (k STRING) WITH ('connector' = 'file', 'path' = 'x', "
            "'partition.by' = 'k')",
            "MS-PROP-UNUSED at line 1, column 70: 'partition.by' of 'file' is for a sink, not "
            "for the source a. Remove it.",
        ),
        (
            "CREATE SOURCE a (k STRING) WITH ('connector' = 'file', 'path' = 'x', 'colour' = 't')",
            "MS-PROP-UNKNOWN at line 1, column 70: a source has no property 'colour'. The "
            "properties of a source are connector, dead_letter.sink, deleted.retention, "
            "delimiter, encoding, escape, event.missing, format, header, idle.timeout, malformed, "
            "max.files.per.batch, max.rows.per.batch, multiline, null.value, path, quote, "
            "recursive, timestamp.format, trim, watermark.every, watermark.max_ahead.",
        ),
        (
            "CREATE SOURCE a (k STRING) WITH ('connector' = 'file', 'path' = 'x', 'fromat' = 'x')",
            "MS-PROP-UNKNOWN at line 1, column 70: a source has no property 'fromat'. "
            "Did you mean 'format'?",
        ),
        (
            "CREATE SOURCE a (k STRING) WITH ('connector' = 'file', 'path' = 'x', 'header' = 'no')",
            "MS-PROP-VALUE at line 1, column 81: 'header' cannot be 'no'. Use one of true, false.",
        ),
        (
            "CREATE SOURCE a (k STRING) WITH ('connector' = 'file', 'path' = 'x', "
            "'format' = 'parquet', 'quote' = '|')",
            "MS-PROP-UNUSED at line 1, column 92: 'quote' applies to the format csv, and the "
            "format of the source a is parquet. Remove it, or set 'format' = 'csv'.",
        ),
        (
            "CREATE SOURCE a (k STRING) WITH ('connector' = 'pulsar')",
            "MS-PROP-VALUE at line 1, column 48: 'connector' cannot be 'pulsar'. Use one of "
            "file, kafka, memory, rate, datagen, postgresql, sqlite, jdbc, database, delta, "
            "iceberg.",
        ),
        (
            "CREATE SOURCE a (k STRING) WITH ('connector' = 'console')",
            "MS-PROP-VALUE at line 1, column 48: 'connector' cannot be 'console'. Use one of "
            "file, kafka, memory, rate, datagen, postgresql, sqlite, jdbc, database, delta, "
            "iceberg.",
        ),
        (
            "CREATE SOURCE a (k STRING) WITH ('connector' = 'dataframe')",
            "MS-PROP-VALUE at line 1, column 48: 'connector' cannot be 'dataframe'. Use one of "
            "file, kafka, memory, rate, datagen, postgresql, sqlite, jdbc, database, delta, "
            "iceberg.",
        ),
        (
            "CREATE TABLE a (k STRING) WITH ('connector' = 'console')",
            "MS-PROP-VALUE at line 1, column 47: 'connector' cannot be 'console'. Use one of "
            "file, memory, postgresql, sqlite, jdbc, database.",
        ),
        (
            "CREATE TABLE a (k STRING) WITH ('connector' = 'kafka')",
            "MS-PLAN-TABLE at line 1, column 47: the table a has no WATERMARK, and the connector "
            "'kafka' reads a stream, which does not support lookups. Declare WATERMARK FOR column "
            "AS column - INTERVAL 5 SECONDS: its rows are then versions.",
        ),
    ],
)
def test_properties_are_validated_against_the_declaration(sql: str, error: str) -> None:
    assert rejected(sql) == error


TAP = ConnectorSpec(
    "tap",
    "A tap.",
    (
        Property("litres", COUNT, "How much.", (Role.SOURCE,), required="5"),
        Property("key", TEXT, "The key.", secret=True),
    ),
    source="taps:open_source",
    sink="taps:open_sink",
    pass_through=("tap.",),
)


def test_properties_of_an_added_connector_are_validated_without_its_code() -> None:
    found = planned(
        "CREATE SOURCE a (k STRING) WITH ('connector' = 'Tap', 'litres' = '3', 'tap.x' = 'y');"
        "CREATE SINK b AS SELECT k FROM a",
        TAP,
    )
    root = found.pipelines[0].root
    assert getattr(root.input, "options", None) == (("litres", "3"), ("tap.x", "y"))
    assert "taps" not in sys.modules
    missing = "CREATE SOURCE a (k STRING) WITH ('connector' = 'tap')"
    assert rejected(missing, TAP) == (
        "MS-PROP-MISSING at line 1, column 1: the source a does not say its 'litres', which 'tap' "
        "needs. Add 'litres' = '5'."
    )
    other = "CREATE SOURCE a (k STRING) WITH ('connector' = 'file', 'path' = 'x', 'litres' = '3')"
    assert rejected(other, TAP) == (
        "MS-PROP-UNUSED at line 1, column 70: 'litres' belongs to the connector tap, and the "
        "source a uses 'file'. Remove it, or set 'connector' = 'tap'."
    )


def test_a_declaration_can_complete_the_options() -> None:
    def check(declared: ConnectorStatement, options: Options) -> Options:
        return {**options, "owner": declared.name}

    spec = ConnectorSpec("tap", "A tap.", sink="taps:open_sink", check=check)
    found = planned(f"CREATE SINK b WITH ('connector' = 'tap') {SELECT}", spec)
    assert found.pipelines[0].sink.options == (("owner", "b"),)


def test_planning_sees_only_the_connectors_that_it_is_given() -> None:
    with pytest.raises(MillstreamError, match=r"'connector' cannot be 'file'. Use one of tap"):
        build_job(
            f"CREATE SINK b WITH ('connector' = 'file') {SELECT}",
            sources=SOURCES,
            connectors=ConnectorRegistry((TAP,)),
        )


def test_planning_a_job_imports_no_implementation() -> None:
    sql = (
        "CREATE SOURCE a (k STRING) WITH ('connector' = 'file', 'path' = 'x');"
        "CREATE TABLE t (k STRING) WITH ('connector' = 'sqlite', 'path' = 'x.db');"
        "CREATE SINK b WITH ('connector' = 'console') AS SELECT a.k FROM a JOIN t ON a.k = t.k"
    )
    code = (
        f"import sys; from millstream.plan.build.job import build_job; build_job({sql!r}); "
        "print([name for name in ('pyspark', 'polars', 'pyarrow', 'sqlite3') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_declaration_is_complete() -> None:
    registry = installed_connectors()
    assert len(registry.specs) >= len(BUILT_IN)
    common = {name for where in PropertyOwner for name in PROPERTIES[where]}
    for spec in registry:
        assert spec.help.endswith("."), spec.name
        assert spec.modes or not spec.sink
        for role in Role:
            own = [each for each in spec.properties if role in each.roles]
            assert len(own) == len(spec.properties_of(role)), (
                f"{spec.name} declares a property twice"
            )
            for each in own:
                assert each.help.endswith("."), f"{spec.name} {each.name}"
                assert each.name not in common, f"{spec.name} {each.name}"
                if each.default is not None:
                    assert each.kind.accepts(each.default) or each.default == "iso8601"


def test_a_declaration_is_data_for_programs() -> None:
    found = spec_json(TAP)
    assert found["roles"] == ["source", "sink"]
    assert found["delivery"] == Delivery.NONE
    assert found["properties"][0] == {
        "name": "litres",
        "roles": ["source"],
        "type": "a whole number above 0",
        "default": None,
        "required": True,
        "secret": False,
        "formats": [],
        "help": "How much.",
    }


def test_explain_shows_the_delivery_guarantee_of_each_sink() -> None:
    plan = planned(f"CREATE SINK a WITH ('connector' = 'console') {SELECT}")
    assert "delivery   at least once: rows may be written again after a failure" in explain(plan)
    assert explain_json(plan)["pipelines"][0]["sink"]["delivery"] == "at_least_once"
    assert explain_json(plan)["sinks"][0]["delivery"] == "at_least_once"


def test_a_property_that_is_declared_secret_is_masked_whatever_its_name() -> None:
    spec = ConnectorSpec(
        "tap",
        "A tap.",
        (
            Property("pin", TEXT, "The secret number.", secret=True),
            Property("key", TEXT, "Which key: no secret."),
        ),
        sink="taps:open_sink",
    )
    connectors = installed_connectors().with_spec(spec)
    sql = f"CREATE SINK a WITH ('connector' = 'tap', 'pin' = '1234', 'key' = 'left') {SELECT}"
    plan = build_job(sql, sources=SOURCES, connectors=connectors)
    assert "options    pin = ***, key = left" in explain(plan, connectors)
    sink = explain_json(plan, connectors)["sinks"][0]
    assert sink["options"] == {"pin": "***", "key": "left"}
