"""Describes table joins and their reference tables for `explain`."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.connectors import ConnectorRegistry, ConnectorSpec
from millstream.plan.document import Fact, Section, data, fact, text
from millstream.plan.document.formats import keys_data, used_columns_text
from millstream.plan.explain.sources import columns_fact
from millstream.plan.expressions.spark_sql import sql_or_none
from millstream.plan.facts.table_join import TableFacts
from millstream.plan.kinds.stream_names import stream_name, with_alias
from millstream.plan.nodes import ReferenceTable
from millstream.plan.secrets import mask_options, options_text
from millstream.values import Lookup


def table_join_facts(facts: TableFacts) -> tuple[str, tuple[Fact, ...]]:
    """Returns the title of a table join, and its facts."""
    join = facts.join
    lookup = isinstance(join.table.access, Lookup)
    left = stream_name(join.left)
    where = [f"{join.left_where} (otherwise no match)"] if join.left_where else []
    across = [f"{join.across_sql} (evaluated by Spark)"] if join.across_sql else []
    conditions = [f"{facts.conditions} (of {join.table.name})"] if facts.conditions else []
    sides = f"{with_alias(left, join.left.alias)}, {with_alias(join.table.name, join.alias)}"
    return f"{'Lookup' if lookup else 'Broadcast'} join, {join.how}: {sides}", (
        data("kind", "lookup_join" if lookup else "broadcast_join"),
        data("how", str(join.how)),
        fact("keys", keys_data(join.keys), "key", facts.key),
        fact("strategy", str(facts.strategy), "strategy", str(facts.strategy)),
        fact("conditions", facts.conditions or None, "filter", *conditions),
        fact("left_where", sql_or_none(join.left_where), "on rows", *where),
        fact("across", sql_or_none(join.across_sql), "on pairs", *across),
        text("time", "processing time: the table's content when the row is read"),
        text("state size", "none"),
        data("alias", join.alias),
        fact(
            "columns_read",
            list(join.used),
            "columns",
            f"{left}: {used_columns_text(join.left)}",
            f"{join.table.name}: {', '.join(join.used) or 'key only'}",
        ),
        fact("emits", list(facts.emits), "emits", *facts.emits),
    )


def table_section(
    table: ReferenceTable,
    connectors: ConnectorRegistry,
    alias: str | None = None,
    facts: TableFacts | None = None,
) -> Section:
    """Describes a table and how it is read. `facts` are those of the join that reads it."""
    renamed = f" as {alias}" if alias and alias != table.name else ""
    own = _facts(table, connectors[table.connector], facts)
    return Section(f"Table {table.name}{renamed}: {table.connector}", tuple(own))


def table_line(table: ReferenceTable, spec: ConnectorSpec) -> str:
    """Returns a line for the head of the job: the table, its access and its location."""
    options = mask_options(spec, table.options)
    url = " ".join(options[name] for name in ("url", "path") if options.get(name))
    name = table.option("table")
    origin = f"{table.connector}{f' {url}' if url else ''}{f', table {name}' if name else ''}"
    is_lookup = isinstance(table.access, Lookup)
    return f"{table.name}: {'lookup in' if is_lookup else 'broadcast from'} {origin}"


def _facts(table: ReferenceTable, spec: ConnectorSpec, facts: TableFacts | None) -> Iterator[Fact]:
    access = table.access
    yield data("name", table.name)
    yield data("connector", table.connector)
    yield data("mode", "lookup" if isinstance(access, Lookup) else "broadcast")
    yield columns_fact(table.columns)
    key = [", ".join(table.primary_key)] if table.primary_key else []
    yield fact("primary_key", list(table.primary_key), "key", *key)
    if isinstance(access, Lookup):
        yield data("cache_rows", access.cache_rows)
        yield data("cache_ttl_us", access.cache_ttl)
        yield data("async_capacity", access.capacity)
        yield data("batch", access.batch)
        yield data("timeout_us", access.timeout)
        yield data("retries", access.retries)
        yield data("on_error", str(access.on_error))
    else:
        yield data("refresh_us", access.interval)
        yield data("refresh_on_change", access.watch)
        yield data("refresh_on_command", access.command)
        yield data("max_rows", access.max_rows)
        yield data("max_bytes", access.max_bytes)
    if facts is not None:
        yield Fact(None, lines=facts.access)
    yield data("dead_letter", table.dead_letter)
    options = [options_text(spec, table.options)] if table.options else []
    yield fact("options", mask_options(spec, table.options), "options", *options)
