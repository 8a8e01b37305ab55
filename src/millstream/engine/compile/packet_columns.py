"""Builds the columns that Spark sends to a packer: each column of the stream once, and expressions
that only Spark can evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    IntegralType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from millstream.connectors.dead_letters import BAD
from millstream.connectors.file.names import to_reader_type
from millstream.connectors.work_items import ITEM
from millstream.engine.compile.expressions import referenced_column
from millstream.engine.compile.stateless import StreamFrame, file_predicate
from millstream.engine.scan.loop import KEEP, Scan, ScannedColumn
from millstream.engine.scan.predicates import AndOr, ScanPredicate, columns_in
from millstream.engine.scan.window_bounds import WindowBound
from millstream.engine.shuffle.column_names import Kind
from millstream.engine.shuffle.format import PROGRESS
from millstream.engine.shuffle.layout import GROUP, ColumnMapping, PacketLayout
from millstream.kernels.core.kernel import HASH, TIME
from millstream.plan.expressions import Expression

_USED_BY_PACKERS = (TIME, PROGRESS)
_HASHED_BY_PACKERS = (IntegralType, BooleanType, DateType, TimestampType)
_HASHED_WITH_FILES = (
    StringType,
    BinaryType,
)  # slower than in Spark, but only then can packers read files


@dataclass(frozen=True, slots=True)
class PacketColumn:
    """A column of packets.

    Attributes:
        name: The name in packets.
        column: The expression that Spark evaluates, if the packer cannot.
        source_column: The column of the stream that it is, possibly as a 64-bit integer.
        as_int64: Whether it is `source_column` as a 64-bit integer.
        constant: Whether it is the same for all rows of a micro-batch.
        predicate: The predicate that it is, which a packer can evaluate on files that it reads.
        buffered_column: The column of the stream that it is, in the form of packets.
    """

    name: str
    column: Column
    source_column: str | None = None
    as_int64: bool = False
    constant: bool = False
    predicate: ScanPredicate | None = None
    buffered_column: str | None = (
        None  # the stream's column that it is, in the form in which packets hold it
    )


@dataclass(frozen=True, slots=True)
class PackedInput:
    """An input, ready to be packed.

    Attributes:
        frame: The DataFrame that Spark sends to the packer.
        layout: How the packer computes the packet columns from it.
        schema: The columns of the packets.
        source_columns: The packet columns that are columns of the stream, by name.
        hash_columns: The packet columns whose hash is HASH, if HASH is not sent.
        scan: How the packer reads files, if Spark sends names of files.
        file_bytes: About how many bytes of a file are read.
    """

    frame: DataFrame
    layout: PacketLayout
    schema: StructType
    source_columns: Mapping[str, str]
    hash_columns: tuple[str, ...] = ()
    scan: Scan | None = None
    file_bytes: int = 0


@dataclass(slots=True)
class PacketColumnBuilder:
    """Collects the packet columns of one input."""

    rows: StreamFrame
    alias: str
    columns: list[PacketColumn] = field(default_factory=list)
    types: dict[str, DataType] = field(init=False)  # of the columns of the stream

    def __post_init__(self) -> None:
        self.types = self.rows.rows.types

    def source_column_of(self, expression: Expression) -> str | None:
        """Returns the column of the stream that an expression references, if it is a reference."""
        return referenced_column(expression, self.alias, self.types)

    def packer_predicate(self, expression: Expression) -> ScanPredicate | None:
        """Returns the predicate if a packer can evaluate it on files."""
        return file_predicate(expression, self.alias, self.rows)

    def hashable_columns(self, source_columns: Sequence[str | None]) -> tuple[str, ...] | None:
        """Returns the columns if a packer can hash them as Spark does."""
        known = tuple(
            source_column for source_column in source_columns if source_column is not None
        )
        kinds = (
            _HASHED_BY_PACKERS
            if self.rows.files is None
            else (*_HASHED_BY_PACKERS, *_HASHED_WITH_FILES)
        )
        here = all(
            isinstance(kind, kinds)
            for kind in (self.types[source_column] for source_column in known)
        )
        return known if here and len(known) == len(source_columns) else None

    def build(
        self,
        packer_columns: Sequence[PacketColumn],
        *,
        hash_columns: Sequence[str] | None = None,
        null_if_missing: bool = False,
        group_columns: Sequence[str] | None = None,
        may_match: PacketColumn | None = None,
    ) -> PackedInput:
        """Returns the packed input.

        Args:
            packer_columns: Columns that the packer reads but does not pack.
            hash_columns: The packet columns whose hash is HASH.
            null_if_missing: Whether HASH is NULL if one of them is.
            group_columns: The columns of the stream whose hash determines the key group.
            may_match: True for rows that may have a HASH.
        """
        input_names: dict[str, str] = {}  # by the name in the stream
        mappings, equal_columns = [], []
        first: dict[tuple[str, bool], str] = {}
        for each in self.columns:
            name = each.name
            if each.source_column is not None:
                name = input_names.setdefault(
                    each.source_column, Kind.INPUT.name_of(len(input_names))
                )
            same = first.setdefault((name, each.as_int64), each.name)
            own = each.name in _USED_BY_PACKERS or (each.name == HASH and may_match is not None)
            if same == each.name or own:
                mappings.append(ColumnMapping(each.name, name, each.as_int64))
            else:
                equal_columns.append((each.name, same))
        hash_inputs: tuple[str, ...] | None = None
        if hash_columns is not None:
            source_columns = {each.name: each.source_column for each in self.columns}
            hash_inputs = self.hashable_columns([source_columns[name] for name in hash_columns])
        by_spark = hash_columns is not None and hash_inputs is None
        needed = (*self.columns, *((may_match,) if may_match else ()))
        scan, file_bytes = None if by_spark else self._scan(input_names, needed), 0
        computed = [each for each in (*needed, *packer_columns) if each.source_column is None]
        if scan is not None:
            assert self.rows.files is not None
            constant = [each.column.alias(each.name) for each in computed if each.constant]
            constant += [F.col(own).alias(name) for own, name in self._item_columns(input_names)]
            frame = self.rows.files.names.select(ITEM, *constant)
            file_bytes = scan.size_of(self.rows.files.sample)
        else:
            columns = [
                F.col(f"`{source_column}`").alias(name)
                for source_column, name in input_names.items()
            ]
            columns += [each.column.alias(each.name) for each in computed]
            frame = self.rows.frame.alias(self.alias).select(*columns)
        known = {mapping.name: mapping.input_name for mapping in mappings}
        known |= {name: known[same] for name, same in equal_columns}
        mappings += [ColumnMapping(each.name, each.name) for each in packer_columns]
        if by_spark:
            # Of columns already computed: a non-deterministic expression would have another value.
            value = F.xxhash64(*(F.col(known[name]) for name in hash_columns or ()))
            frame = frame.select(value.alias(HASH), "*")
            mappings.insert(0, ColumnMapping(HASH, HASH))
        layout = PacketLayout(
            tuple(mappings),
            None
            if hash_inputs is None
            else tuple(input_names[source_column] for source_column in hash_inputs),
            null_if_missing,
            None
            if group_columns is None
            else tuple(input_names[source_column] for source_column in group_columns),
            tuple(equal_columns),
            None if may_match is None else may_match.name,
        )
        types: dict[str, DataType] = {KEEP: BooleanType(), BAD: StringType()}
        types |= {each.name: BooleanType() for each in needed if each.predicate is not None}
        types |= {each.name: each.dataType for each in frame.schema}
        types |= {name: self.types[source_column] for source_column, name in input_names.items()}
        read = {
            each.name: of
            for each in self.columns
            if (of := each.source_column or each.buffered_column)
        }
        packets = _packet_schema(types, layout)
        return PackedInput(
            frame, layout, packets, read, tuple(hash_columns or ()), scan, file_bytes
        )

    def _item_columns(self, input_names: Mapping[str, str]) -> list[tuple[str, str]]:
        """Returns the columns that are sent with the name of a file, and the names to send."""
        files, file_columns = self.rows.files, self.rows.file_columns
        of_item = files.item_columns if files else frozenset[str]()
        return [
            (origin, name)
            for own, name in input_names.items()
            if isinstance(origin := file_columns.get(own), str) and origin in of_item
        ]

    def _scan(
        self, input_names: Mapping[str, str], needed_columns: Sequence[PacketColumn]
    ) -> Scan | None:
        """How the packer reads these columns from files, if it can."""
        files, file_columns = self.rows.files, self.rows.file_columns
        if files is None or not all(
            each.source_column or each.constant or each.predicate for each in needed_columns
        ):
            return None
        columns, window_bounds = [], []
        of_item = {name for _, name in self._item_columns(input_names)}
        for own, name in input_names.items():
            if name in of_item:
                continue
            kind, origin = to_reader_type(self.types[own]), file_columns.get(own)
            if kind is None or origin is None:
                return None
            if isinstance(origin, WindowBound):
                window_bounds.append((name, origin))
            else:
                columns.append(ScannedColumn(name, origin, kind))
        flags = [
            (each.name, each.predicate) for each in needed_columns if each.predicate is not None
        ]
        if self.rows.file_predicates:
            flags.append((KEEP, AndOr("and_kleene", self.rows.file_predicates)))
        needed = set().union(*(columns_in(predicate) for _, predicate in flags))
        needed |= {window_bound.column for _, window_bound in window_bounds}
        if needed & files.item_columns:
            return None
        for own in sorted(needed - {each.name for each in columns}):
            kind = to_reader_type(files.types[own])
            assert kind is not None
            columns.append(ScannedColumn(Kind.FILE.name_of(len(columns)), own, kind))
        # Without a column, the number of rows would be unknown.
        if not columns:
            return None
        return Scan(files.reader, tuple(columns), tuple(flags), tuple(window_bounds))


def _packet_schema(types: Mapping[str, DataType], layout: PacketLayout) -> StructType:
    evaluate = [
        StructField(mapping.name, LongType() if mapping.as_int64 else types[mapping.input_name])
        for mapping in layout.mappings
    ]
    kinds = {each.name: each.dataType for each in evaluate}
    evaluate += [StructField(name, kinds[same]) for name, same in layout.equal_columns]
    if layout.hash_columns is not None:
        evaluate.insert(0, StructField(HASH, LongType()))
    if layout.group_columns is not None:
        evaluate.append(StructField(GROUP, IntegerType()))
    return StructType(evaluate)
