"""A join with a table as a block of `explain`."""

from __future__ import annotations

from millstream.plan.connectors import ConnectorRegistry, ConnectorSpec
from millstream.plan.explain.blocks import Block, labelled
from millstream.plan.explain.secrets import masked_options, options_text
from millstream.plan.explain.words import used_text
from millstream.plan.facts.joins import stream_name
from millstream.plan.facts.tables import TableFacts
from millstream.plan.nodes import Reference
from millstream.values import Lookup


def table_join_block(facts: TableFacts, child: Block, connectors: ConnectorRegistry) -> Block:
    join = facts.join
    where = [("asks for", facts.conditions)] if join.conditions else []
    before = [("before", f"{join.left_where} (or it finds nothing)")] if join.left_where else []
    across = [("on pairs", f"{join.across_sql} (Spark decides)")] if join.across_sql else []
    told = [
        ("key", facts.key),
        ("strategy", str(facts.strategy)),
        *where,
        *before,
        *across,
        ("time", "the table as it is when a row is read"),
        ("state", "none"),
        ("columns", f"of {stream_name(join.left)}: {used_text(join.left)}"),
        ("", f"of {join.table.name}: {', '.join(join.used) or 'none but the key'}"),
        *labelled("comes out", facts.comes_out),
    ]
    kind = "Lookup" if isinstance(join.table.access, Lookup) else "Broadcast"
    left = stream_name(join.left)
    row = left if left == join.left.alias else f"{left} {join.left.alias}"
    name = join.table.name
    table = name if name == join.alias else f"{name} {join.alias}"
    children = (child, _table(join.table, join.alias, facts, connectors[join.table.connector]))
    return Block(f"{kind} join, {join.how}: {row}, {table}", tuple(told), children)


def asked_text(table: Reference, spec: ConnectorSpec) -> str:
    """Which table is read of what, for the whole job."""
    options = masked_options(spec, table.options)
    where = " ".join(options[name] for name in ("url", "path") if options.get(name))
    there = table.option("table")
    of = f"{table.connector}{f' {where}' if where else ''}{f', table {there}' if there else ''}"
    asked = isinstance(table.access, Lookup)
    return f"{table.name}: {'asked of' if asked else 'held whole, read from'} {of}"


def _table(table: Reference, alias: str, facts: TableFacts, spec: ConnectorSpec) -> Block:
    told = [("columns", ", ".join(f"{c.name} {c.type or '?'}" for c in table.columns))]
    if table.primary_key:
        told.append(("key", ", ".join(table.primary_key)))
    told += facts.access
    if table.options:
        told.append(("options", options_text(spec, table.options)))
    called = "" if alias == table.name else f" as {alias}"
    return Block(f"Table {table.name}{called}: {table.connector}", tuple(told))
