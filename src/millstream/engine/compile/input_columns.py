"""What any operator's input is packed with: its event time, the columns it holds, the rest."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, MapType, TimestampType

from millstream.connectors.work_items import PARTITION
from millstream.engine.compile.packet_columns import Made, Ready, Sent
from millstream.engine.compile.stateless import Flow, source_of
from millstream.engine.processor.watermarks import InputSpec
from millstream.engine.shuffle.column_names import BLOB, CHANGE, FROM, NOW, PORT, Kind
from millstream.engine.shuffle.key_groups import labels
from millstream.engine.shuffle.packer import BAD, KEEP, PROGRESS, Packing
from millstream.engine.shuffle.types import from_wire, held, to_wire
from millstream.kernels.core.kernel import OP, TIME
from millstream.plan.expressions import Expression, column
from millstream.plan.nodes import Input

NOTHING = "_ms_nothing"


@dataclass(frozen=True, slots=True)
class Field:
    """A column that is held: its name in packets, its own name and type."""

    wire: str
    name: str
    type: DataType

    @property
    def shown(self) -> Column:
        return from_wire(self.wire, self.type).alias(self.name)


def time_column(side: Input) -> Column:
    """The time that counts: the row's own, or that of the batch that read it."""
    return F.current_timestamp() if side.time is None else F.col(f"`{side.time}`")


def time_of(side: Input, sent: Sent) -> Made:
    if side.time is None:
        return Made(TIME, F.unix_micros(time_column(side)), constant=True)
    return micros_of(sent, TIME, column(None, side.time), time_column(side))


def micros_of(sent: Sent, name: str, time: Expression, value: Column) -> Made:
    """A time, in microseconds."""
    plain = sent.plain(time)
    if plain is None or not isinstance(sent.types[plain], TimestampType):
        return Made(name, F.unix_micros(value))
    return Made(name, F.unix_micros(value), plain, wide=True)


def fields_of(side: Input, rows: Flow, kind: Kind) -> tuple[Field, ...]:
    """The columns of an input that its operator holds."""
    types = rows.rows.types
    fields = tuple(Field(kind.name_of(i), name, types[name]) for i, name in enumerate(side.used))
    for field in fields:
        held(field.name, field.type)
    # A frame without columns has no rows; one that nobody reads counts them.
    return fields or (Field(kind.name_of(0), NOTHING, BooleanType()),)


def wired_as(field: Field) -> Made:
    if field.name == NOTHING:
        return Made(field.wire, F.lit(None).cast(field.type), constant=True)
    value = to_wire(F.col(f"`{field.name}`"), field.type)
    plain = None if isinstance(field.type, MapType) else field.name
    wide = isinstance(field.type, TimestampType)
    return Made(field.wire, value, plain, wide, held=field.name)


def beside(side: Input, rows: Flow, sent: Sent) -> list[Made]:
    """The columns that a packer reads and, but for OP, does not pack."""
    names = [KEEP] if rows.filtered else []
    names += [BAD] if rows.checked else []
    names += [PORT, FROM, BLOB] if rows.sided else []
    made = [Made(name, F.col(name)) for name in names]
    if rows.partitioned:  # the same for all rows of a work item
        made.append(Made(PARTITION, F.col(PARTITION), constant=True))
    if rows.changes:
        made.append(Made(OP, F.col(CHANGE)))
    made.append(Made(NOW, F.unix_micros(F.current_timestamp()), constant=True))
    if side.progress is not None and moves_apart(side, rows):
        moved = F.col(f"`{side.progress}`")
        sent.made.append(micros_of(sent, PROGRESS, column(None, side.progress), moved))
    return made


def moves_apart(side: Input, rows: Flow) -> bool:
    """Is the watermark moved by another column than the time that counts? Results of an operator
    move it by what that one says."""
    return side.progress is not None and rows.upstream is None


def packing_of(number: int, side: Input, rows: Flow, groups: int, ready: Ready) -> Packing:
    source = source_of(side.node)
    policies = (source.missing_time, source.malformed) if source else ()
    return Packing(
        number,
        source.name if source else side.alias,
        labels(groups),
        rows.filtered,
        rows.checked,
        moves_apart(side, rows),
        False,
        rows.partitioned,
        rows.upstream,
        rows.sided,
        1,
        ready.form,
        ready.scan,
        None,
        rows.tables,
        *policies,
    )


def host_input(
    name: str,
    side: Input,
    rows: Flow,
    packing: Packing,
    hash_from: str | None = None,
    keys: tuple[str, ...] = (),
) -> InputSpec:
    source = source_of(side.node)
    watermark = source.watermark if source else None
    return InputSpec(
        name,
        side.delay,
        hash_from,
        every=watermark.every if watermark and side.time else 1,
        idle=source.idle if source else None,
        derived=rows.upstream is not None,
        wall_clock=side.time is None and rows.upstream is None,
        keys=keys,
        copies=packing.form.copies if packing.form and packing.fold is None else (),
        source=source.name if source and rows.upstream is None else None,
    )
