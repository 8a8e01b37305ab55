"""Opens sources, tables and sinks by the implementation that their connector declares.

A declaration names a function as "module:function"; this module imports it when it is needed. The
signatures of these functions are in `connectors/protocols.py`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, cast

from millstream.connectors.protocols import (
    OpenOutput,
    OpenSink,
    OpenSource,
    OpenSourceWithState,
    OpenTable,
    SinkOutput,
    TableReader,
)
from millstream.errors import PlanError
from millstream.plan.connectors import PATH, ConnectorRegistry, Role
from millstream.plan.nodes import ReferenceTable, SinkDef, Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from millstream.connectors.deferred_frame import DeferredFrame
    from millstream.connectors.sink import Sink
    from millstream.connectors.work_items import WorkStream


def open_source(
    connectors: ConnectorRegistry,
    spark: SparkSession,
    source: Source,
    base: Path,
    columns: Collection[str] | None = None,
    state: Path | None = None,
) -> DataFrame | DeferredFrame | WorkStream:
    """Opens the stream of a source; columns that are not in `columns` may be omitted. `state` is
    the file of the checkpoint in which a source may store what it has read; None: there is no
    checkpoint of Millstream."""
    spec = connectors[source.connector]
    named = spec.source
    if named is None:
        raise _cannot(Role.SOURCE, source)
    read = [column.name for column in source.columns] if columns is None else columns
    if spec.source_state:
        opener = cast("OpenSourceWithState", pkgutil.resolve_name(named))
        return opener(spark, source, base, read, state)
    return cast("OpenSource", pkgutil.resolve_name(named))(spark, source, base, read)


def open_sink(connectors: ConnectorRegistry, sink: SinkDef, base: Path) -> Sink:
    """Opens a sink; relative paths are relative to `base`."""
    named = connectors[sink.connector].sink
    if named is None:
        raise _cannot(Role.SINK, sink)
    return cast("OpenSink", pkgutil.resolve_name(named))(sink, base)


def open_table(
    connectors: ConnectorRegistry, spark: SparkSession, table: ReferenceTable, base: Path
) -> TableReader:
    """Opens a reference table that is read whole."""
    named = connectors[table.connector].table
    if named is None:
        raise _cannot(Role.TABLE, table)
    return cast("OpenTable", pkgutil.resolve_name(named))(spark, table, base)


def open_output(connectors: ConnectorRegistry, sink: SinkDef, base: Path) -> SinkOutput | None:
    """Returns the output of a sink so far; None if its connector does not provide it."""
    named = connectors[sink.connector].output
    if named is None:
        return None
    return cast("OpenOutput", pkgutil.resolve_name(named))(sink, base)


def options_of(
    connectors: ConnectorRegistry, table: ReferenceTable, base: Path
) -> tuple[tuple[str, str], ...]:
    """Returns the options of a table with absolute paths."""
    from millstream.connectors.paths import resolve

    declared = connectors[table.connector].properties_of(Role.TABLE)
    paths = {name for name, each in declared.items() if each.kind is PATH}
    return tuple(
        (name, resolve(value, base) if name in paths else value) for name, value in table.options
    )


def _cannot(role: Role, node: Source | SinkDef | ReferenceTable) -> PlanError:
    return PlanError(
        "MS-PLAN-NOT-YET",
        f"the {role} {node.name} cannot be opened: the connector '{node.connector}' does not "
        f"support {role}s.",
        fix="Use another connector; `millstream connectors` lists them.",
        place=node.place,
    )
