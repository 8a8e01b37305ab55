"""The statements of a job's text with their positions. Queries are sqlglot trees."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import Place
from millstream.sql.text import SourceText


@dataclass(frozen=True, slots=True)
class Property:
    """'name' = 'value' with the positions of both."""

    name: str
    value: str
    place: Place
    value_place: Place


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A declared column; the type is Spark SQL text."""

    name: str
    type: str
    place: Place


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """A column of a source that is computed from declared columns."""

    name: str
    tree: exp.Expr
    text: SourceText
    place: Place


@dataclass(frozen=True, slots=True)
class WatermarkDef:
    """WATERMARK FOR column AS column - delay, with the delay in microseconds."""

    column: str
    delay: int
    place: Place


@dataclass(frozen=True, slots=True)
class CreateSource:
    name: str
    columns: tuple[ColumnDef, ...]
    watermark: WatermarkDef | None
    properties: tuple[Property, ...]
    place: Place
    computed: tuple[ComputedColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A versioned, broadcast or lookup table."""

    name: str
    columns: tuple[ColumnDef, ...]
    watermark: WatermarkDef | None
    primary_key: tuple[str, ...]
    properties: tuple[Property, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Query:
    """A query: its tree, and the text that the spans of the tree refer to."""

    tree: exp.Query
    text: SourceText
    place: Place


@dataclass(frozen=True, slots=True)
class CreateStream:
    name: str
    query: Query
    place: Place
    watermark: WatermarkDef | None = None


@dataclass(frozen=True, slots=True)
class CreateSink:
    """A sink, and the query that writes to it if it has one."""

    name: str
    properties: tuple[Property, ...]
    query: Query | None
    place: Place


@dataclass(frozen=True, slots=True)
class InsertInto:
    sink: str
    query: Query
    place: Place


@dataclass(frozen=True, slots=True)
class SetProperty:
    property: Property
    place: Place


@dataclass(frozen=True, slots=True)
class SelectStatement:
    """A SELECT without a sink: the Python API plans it, a job rejects it."""

    query: Query
    place: Place


Statement = (
    CreateSource
    | CreateTable
    | CreateStream
    | CreateSink
    | InsertInto
    | SetProperty
    | SelectStatement
)
