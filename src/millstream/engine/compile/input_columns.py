"""The packet columns that the inputs of all operators have: event time, buffered columns,
others."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, MapType, TimestampType

from millstream.connectors.dead_letters import BAD
from millstream.connectors.work_items import CHANGE, PARTITION
from millstream.engine.compile.packet_columns import PackedInput, PacketColumn, PacketColumnBuilder
from millstream.engine.compile.stateless import StreamFrame, source_of
from millstream.engine.processor.watermarks import InputSpec
from millstream.engine.scan.loop import KEEP
from millstream.engine.shuffle.column_names import NOW, ORIGIN, PAYLOAD, ROW_KIND, Kind
from millstream.engine.shuffle.format import PROGRESS
from millstream.engine.shuffle.key_groups import labels
from millstream.engine.shuffle.packer import PackerSpec
from millstream.engine.shuffle.types import from_packet, require_supported, to_packet
from millstream.kernels.core.kernel import OP, TIME
from millstream.plan.expressions import Expression, column
from millstream.plan.nodes import Input
from millstream.temporal import MalformedAction, MissingTime

NOTHING = "_ms_nothing"


@dataclass(frozen=True, slots=True)
class Field:
    """A column that the operator buffers: its name in packets, its own name and its type."""

    packet_name: str
    name: str
    type: DataType

    @property
    def column(self) -> Column:
        return from_packet(self.packet_name, self.type).alias(self.name)


def time_column(side: Input) -> Column:
    """The event time of a row; without one, the processing time of its batch."""
    return F.current_timestamp() if side.time is None else F.col(f"`{side.time}`")


def time_packet_column(side: Input, builder: PacketColumnBuilder) -> PacketColumn:
    if side.time is None:
        return PacketColumn(TIME, F.unix_micros(time_column(side)), constant=True)
    return micros_packet_column(builder, TIME, column(None, side.time), time_column(side))


def micros_packet_column(
    builder: PacketColumnBuilder, name: str, time: Expression, value: Column
) -> PacketColumn:
    """A packet column with a time in microseconds."""
    source_column = builder.source_column_of(time)
    if source_column is None or not isinstance(builder.types[source_column], TimestampType):
        return PacketColumn(name, F.unix_micros(value))
    return PacketColumn(name, F.unix_micros(value), source_column, as_int64=True)


def buffered_fields(side: Input, rows: StreamFrame, kind: Kind) -> tuple[Field, ...]:
    """Returns the columns of an input that its operator buffers."""
    types = rows.rows.types
    fields = tuple(Field(kind.name_of(i), name, types[name]) for i, name in enumerate(side.used))
    for field in fields:
        require_supported(field.name, field.type)
    # A Polars frame without columns has no rows, so an unused column counts them.
    return fields or (Field(kind.name_of(0), NOTHING, BooleanType()),)


def field_column(field: Field) -> PacketColumn:
    if field.name == NOTHING:
        return PacketColumn(field.packet_name, F.lit(None).cast(field.type), constant=True)
    value = to_packet(F.col(f"`{field.name}`"), field.type)
    source_column = None if isinstance(field.type, MapType) else field.name
    as_int64 = isinstance(field.type, TimestampType)
    return PacketColumn(
        field.packet_name, value, source_column, as_int64, buffered_column=field.name
    )


def packer_columns(
    side: Input, rows: StreamFrame, builder: PacketColumnBuilder
) -> list[PacketColumn]:
    """The columns that a packer reads but does not pack, except OP."""
    names = [KEEP] if rows.filtered else []
    names += [BAD] if rows.has_bad_records else []
    names += [ROW_KIND, ORIGIN, PAYLOAD] if rows.has_side_rows else []
    columns = [PacketColumn(name, F.col(name)) for name in names]
    if rows.partitioned:  # the same for all rows of a work item
        columns.append(PacketColumn(PARTITION, F.col(PARTITION), constant=True))
    if rows.is_changelog:
        columns.append(PacketColumn(OP, F.col(CHANGE)))
    columns.append(PacketColumn(NOW, F.unix_micros(F.current_timestamp()), constant=True))
    if side.progress is not None and has_own_progress(side, rows):
        moved = F.col(f"`{side.progress}`")
        builder.columns.append(
            micros_packet_column(builder, PROGRESS, column(None, side.progress), moved)
        )
    return columns


def has_own_progress(side: Input, rows: StreamFrame) -> bool:
    """Whether another column than the event time moves the watermark. For results of an operator,
    the operator reports the watermark."""
    return side.progress is not None and rows.upstream is None


def create_packer_spec(
    number: int, side: Input, rows: StreamFrame, groups: int, packed_input: PackedInput
) -> PackerSpec:
    source = source_of(side.node)
    return PackerSpec(
        number,
        source.name if source else side.alias,
        labels(groups),
        has_keep_column=rows.filtered,
        has_bad_records=rows.has_bad_records,
        has_progress_column=has_own_progress(side, rows),
        has_partition_column=rows.partitioned,
        upstream=rows.upstream,
        has_side_rows=rows.has_side_rows,
        layout=packed_input.layout,
        scan=packed_input.scan,
        table_joins=rows.table_joins,
        missing_time=source.missing_time if source else MissingTime.ERROR,
        malformed=source.malformed if source else MalformedAction.DEAD_LETTER,
    )


def create_input_spec(
    name: str,
    side: Input,
    rows: StreamFrame,
    packer_spec: PackerSpec,
    hash_from: str | None = None,
    keys: tuple[str, ...] = (),
) -> InputSpec:
    source = source_of(side.node)
    watermark = source.watermark if source else None
    return InputSpec(
        name,
        side.delay,
        hash_from,
        advance_every_rows=watermark.every if watermark and side.time else 1,
        idle_timeout=source.idle if source else None,
        derived=rows.upstream is not None,
        wall_clock=side.time is None and rows.upstream is None,
        keys=keys,
        equal_columns=(
            packer_spec.layout.equal_columns
            if packer_spec.layout and packer_spec.fold is None
            else ()
        ),
        source=source.name if source and rows.upstream is None else None,
    )
