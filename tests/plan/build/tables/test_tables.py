"""CREATE TABLE: which tables are versioned, which are looked up, and how these are read."""

from __future__ import annotations

import pytest
from tests.plan.plans import SOURCES, job

from millstream.errors import MillstreamError
from millstream.plan.build.job import build_job
from millstream.plan.connectors import ConnectorSpec
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Broadcast, ReferenceTable
from millstream.plan.nodes.traversal import reference_tables_of, sources_of
from millstream.values import Lookup, OnError

QUERY = "CREATE SINK x AS SELECT o.total FROM orders o JOIN t ON t.k = o.order_id"
PG = "'connector' = 'postgresql', 'url' = 'postgresql://db/shop'"


def table(properties: str, columns: str = "k STRING, v INT") -> ReferenceTable:
    with_ = f" WITH ({properties})" if properties else ""
    (found,) = reference_tables_of(job(f"CREATE TABLE t ({columns}){with_}; {QUERY}"))
    return found


def rejected(properties: str, columns: str = "k STRING, v INT") -> MillstreamError:
    with_ = f" WITH ({properties})" if properties else ""
    with pytest.raises(MillstreamError) as caught:
        job(f"CREATE TABLE t ({columns}){with_}; {QUERY}")
    return caught.value


def test_databases_are_lookup_tables_and_others_are_broadcast() -> None:
    assert table("") == table("'connector' = 'memory'")
    assert table("").access == Broadcast()
    assert table("'connector' = 'file', 'path' = 'a.csv'").access == Broadcast()
    assert table(PG).access == Lookup()
    assert table("'connector' = 'sqlite', 'path' = 'a.db'").access == Lookup()
    assert table(f"{PG}, 'table.mode' = 'broadcast'").access == Broadcast()
    assert table(f"{PG}, 'table.mode' = 'LOOKUP'").access == Lookup()


def test_a_table_with_a_watermark_or_a_changelog_has_versions() -> None:
    joined = QUERY.replace("JOIN t", "JOIN t FOR SYSTEM_TIME AS OF o.event_time")
    versions = job(
        f"CREATE TABLE t (k STRING PRIMARY KEY, at TIMESTAMP, WATERMARK FOR at AS at); {joined}"
    )
    assert reference_tables_of(versions) == ()
    assert [source.name for source in sources_of(versions.pipelines[0].root)] == ["orders", "t"]
    changelog = "CREATE TABLE t (k STRING PRIMARY KEY, op STRING) WITH ('changelog.op' = 'op')"
    with pytest.raises(MillstreamError, match="MS-PLAN-NO-WATERMARK"):
        job(f"{changelog}; {joined}")


def test_properties_of_a_lookup() -> None:
    lookup = table(
        f"""{PG}, 'lookup.cache.rows' = '10', 'lookup.cache.ttl' = '5m',
        'lookup.async_capacity' = '2', 'lookup.batch' = '50', 'lookup.timeout' = '3s',
        'lookup.retries' = '0', 'lookup.on_error' = 'NULL'"""
    ).access
    assert lookup == Lookup(10, 300_000_000, 2, 50, 3_000_000, 0, OnError.NULL)


def test_properties_of_a_broadcast() -> None:
    broadcast = table(
        """'connector' = 'file', 'path' = 'a', 'refresh.interval' = '1m', 'refresh.on' = 'change',
        'broadcast.max_rows' = '10', 'broadcast.max_bytes' = '1000'"""
    ).access
    assert broadcast == Broadcast(interval=60_000_000, watch=True, max_rows=10, max_bytes=1000)
    assert broadcast.refreshed


def test_a_table_can_be_refreshed_by_command() -> None:
    broadcast = table(f"{PG}, 'table.mode' = 'broadcast', 'refresh.on' = 'command'").access
    assert broadcast == Broadcast(command=True)


@pytest.mark.parametrize(
    ("properties", "connector", "options"),
    [
        (PG, "postgresql", {"url": "postgresql://db/shop", "table": "t"}),
        (
            "'connector' = 'jdbc', 'url' = 'jdbc:postgresql://db/shop', 'table' = 'crm.t'",
            "postgresql",
            {"url": "jdbc:postgresql://db/shop", "table": "crm.t"},
        ),
        (
            "'connector' = 'jdbc', 'url' = 'postgres://db/shop', 'user' = 'me', 'password' = 'p'",
            "postgresql",
            {"url": "postgres://db/shop", "table": "t", "user": "me", "password": "p"},
        ),
        ("'connector' = 'sqlite', 'path' = 'a.db'", "sqlite", {"path": "a.db", "table": "t"}),
        (
            "'connector' = 'jdbc', 'url' = 'jdbc:sqlite:data/a.db'",
            "sqlite",
            {"path": "data/a.db", "table": "t"},
        ),
        (
            "'connector' = 'sqlite', 'url' = 'sqlite:////srv/a.db'",
            "sqlite",
            {"path": "/srv/a.db", "table": "t"},
        ),
        (
            "'connector' = 'sqlite', 'url' = 'sqlite:///a.db'",
            "sqlite",
            {"path": "a.db", "table": "t"},
        ),
        (
            "'connector' = 'file', 'path' = 'a', 'format' = 'csv', 'header' = 'true'",
            "file",
            {"path": "a", "format": "csv", "header": "true"},
        ),
    ],
)
def test_options_that_the_connector_gets(
    properties: str, connector: str, options: dict[str, str]
) -> None:
    found = table(properties)
    assert (found.connector, dict(found.options)) == (connector, options)


def test_the_primary_key_has_the_letter_case_of_the_columns() -> None:
    assert table(PG, "K STRING, v INT, PRIMARY KEY (k, V)").primary_key == ("K", "v")
    assert table(PG).primary_key == ()


def test_rows_that_cannot_be_looked_up_go_to_a_sink() -> None:
    aside = f"{PG}, 'lookup.on_error' = 'side_output', 'dead_letter.sink' = 'Bad'"
    found = job(f"CREATE TABLE t (k STRING) WITH ({aside}); CREATE SINK bad; {QUERY}")
    assert [each.dead_letter for each in reference_tables_of(found)] == ["bad"]
    with pytest.raises(MillstreamError, match="Bad is not a sink of this job"):
        job(f"CREATE TABLE t (k STRING) WITH ({aside}); {QUERY}")
    with pytest.raises(MillstreamError, match="dead letters and a query both write to the sink x"):
        job(f"CREATE TABLE t (k STRING) WITH ({aside.replace('Bad', 'x')}); {QUERY}")


FILE = "'connector' = 'file', 'path' = 'a'"


def unused(name: str, why: str, fix: str = "Remove it.") -> str:
    return f"MS-PROP-UNUSED: '{name}' does not apply to the table t: {why}. {fix}"


@pytest.mark.parametrize(
    ("properties", "at", "error"),
    [
        (
            "'connector' = 'rate'",
            "'rate'",
            "MS-PLAN-TABLE: the table t has no WATERMARK, and the connector 'rate' reads a "
            "stream, which does not support lookups. Declare WATERMARK FOR column AS column - "
            "INTERVAL 5 SECONDS: its rows are then versions.",
        ),
        (
            "'connector' = 'postgresql'",
            "CREATE TABLE",
            "MS-PROP-MISSING: the table t does not say its 'url', which 'postgresql' needs. "
            "Add 'url' = 'postgresql://host:5432/database'.",
        ),
        (
            "'connector' = 'jdbc'",
            "CREATE TABLE",
            "MS-PROP-MISSING: the table t does not say its 'url', which 'jdbc' needs. "
            "Add 'url' = 'jdbc:postgresql://host:5432/database'.",
        ),
        (
            "'connector' = 'sqlite'",
            "CREATE TABLE",
            "MS-PROP-MISSING: the table t does not say its 'path', which 'sqlite' needs. "
            "Add 'path' = 'customers.db'.",
        ),
        (
            "'connector' = 'jdbc', 'url' = 'mysql.db'",
            "'mysql.db'",
            "MS-PROP-VALUE: 'url' of the table t is not the URL of a supported database. Use a "
            "URL that begins with jdbc:postgresql:// or jdbc:sqlite:, or one of SQLAlchemy, such "
            "as mysql+pymysql://host/database.",
        ),
        (
            "'connector' = 'jdbc', 'url' = 'jdbc:mysql://me:hidden@db'",
            "'jdbc:mysql",
            "MS-PROP-VALUE: 'url' contains a password, which every reader of the job could see. "
            "Remove it from 'url', and name an environment variable in 'password.env' or a file "
            "in 'password.file'.",
        ),
        (
            f"{FILE}, 'table.mode' = 'lookup'",
            "'lookup'",
            "MS-PROP-VALUE: 'table.mode' is 'lookup', and 'file' does not support lookups. "
            "Remove it: the table is broadcast to every worker.",
        ),
        (
            f"{FILE}, 'lookup.retries' = '3'",
            "'lookup.retries'",
            unused("lookup.retries", "the table is broadcast to every worker"),
        ),
        (
            f"{PG}, 'refresh.interval' = '3m'",
            "'refresh.interval'",
            unused("refresh.interval", "the table is looked up by key, not broadcast"),
        ),
        (
            f"{PG}, 'broadcast.max_rows' = '3'",
            "'broadcast.max_rows'",
            unused("broadcast.max_rows", "the table is looked up by key, not broadcast"),
        ),
        (
            f"{PG}, 'table.mode' = 'broadcast', 'lookup.batch' = '3'",
            "'lookup.batch'",
            unused("lookup.batch", "the table is broadcast to every worker"),
        ),
        (
            f"{PG}, 'table.mode' = 'broadcast', 'refresh.on' = 'change'",
            "'refresh.on'",
            unused(
                "refresh.on",
                "the connector postgresql cannot detect changes",
                "Write 'refresh.interval' = '10m' or 'refresh.on' = 'command', or remove it.",
            ),
        ),
        (
            "'refresh.interval' = '3m'",
            "'refresh.interval'",
            unused("refresh.interval", "its rows are passed when the job starts"),
        ),
        (
            f"{PG}, 'lookup.cache.rows' = '0', 'lookup.cache.ttl' = '3m'",
            "'lookup.cache.ttl'",
            unused("lookup.cache.ttl", "the cache is disabled"),
        ),
        (
            f"{PG}, 'dead_letter.sink' = 'x'",
            "'dead_letter.sink'",
            unused(
                "dead_letter.sink",
                "no failed lookup is written to a sink",
                "Add 'lookup.on_error' = 'side_output', or remove it.",
            ),
        ),
        (
            f"{FILE}, 'idle.timeout' = '3m'",
            "'idle.timeout'",
            unused("idle.timeout", "the table has no event time"),
        ),
        (
            f"{FILE}, 'max.files.per.batch' = '3'",
            "'max.files.per.batch'",
            "MS-PROP-UNUSED: 'max.files.per.batch' of 'file' is for a source, not for the table "
            "t. Remove it.",
        ),
        (
            f"{FILE}, 'url' = 'x'",
            "'url'",
            "MS-PROP-UNUSED: 'url' belongs to the connectors postgresql, sqlite, jdbc and "
            "database, and the table t uses 'file'. Remove it, or set 'connector' = 'postgresql'.",
        ),
        (
            f"{PG}, 'lookup.timeout' = '0s'",
            "'0s'",
            "MS-PROP-VALUE: 'lookup.timeout' cannot be '0s'. Use a duration above 0 and at most "
            "24h, such as 500ms or 5s.",
        ),
        (
            f"{PG}, 'lookup.on_error' = 'skip'",
            "'skip'",
            "MS-PROP-VALUE: 'lookup.on_error' cannot be 'skip'. Use one of fail, null, "
            "side_output.",
        ),
    ],
)
def test_invalid_properties_of_a_table_are_rejected_at_their_position(
    properties: str, at: str, error: str
) -> None:
    found = rejected(properties)
    assert found.place is not None
    assert found.place.text[found.place.column - 1 :].startswith(at)
    assert f"{found.code}: {found.cause} {found.fix}" == error


def test_columns_are_checked_whether_the_table_is_used_or_not() -> None:
    assert str(rejected("", "k STRING, K INT")).startswith(
        "MS-PLAN-DUPLICATE-COLUMN at line 1, column 27"
    )
    assert str(rejected("", "k STRING, PRIMARY KEY (id)")) == (
        "MS-PLAN-UNKNOWN-COLUMN at line 1, column 1: the primary key uses id, which is not a "
        "column of t. Known: k."
    )
    other = "CREATE TABLE u (k STRING) WITH ('lookup.batch' = '3')"
    with pytest.raises(MillstreamError, match="MS-PROP-UNUSED"):
        job(f"{other}; CREATE TABLE t (k STRING); {QUERY}")


def test_a_database_without_a_stream_cannot_be_a_versioned_table() -> None:
    columns = "k STRING, at TIMESTAMP, PRIMARY KEY (k), WATERMARK FOR at AS at"
    joined = QUERY.replace("JOIN t", "JOIN t FOR SYSTEM_TIME AS OF o.event_time")
    directory = ConnectorSpec("ldap", "", lookup="millstream_ldap.lookup:open_store")
    connectors = installed_connectors().with_spec(directory)
    sql = f"CREATE TABLE t ({columns}) WITH ('connector' = 'ldap'); {joined}"
    with pytest.raises(MillstreamError) as caught:
        build_job(sql, sources=SOURCES, connectors=connectors)
    assert str(caught.value) == (
        "MS-PLAN-TABLE at line 1, column 102: the table t is versioned, and the connector "
        "'ldap' does not read a stream of versions. Remove WATERMARK and 'changelog.op' to "
        "join the current rows."
    )


def test_two_tables_with_one_name_are_rejected() -> None:
    with pytest.raises(MillstreamError, match="T is declared twice"):
        job(f"CREATE TABLE t (k STRING); CREATE TABLE T (k STRING); {QUERY}")
