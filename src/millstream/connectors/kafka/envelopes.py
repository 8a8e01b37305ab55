"""Decodes Debezium's envelopes to changes: before, after and op of each record.

c, r    +I after
u       -U before, +U after
d       -D before
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.file.rejections import Flaw
from millstream.connectors.file.values import Column, Epoch, in_range
from millstream.connectors.kafka.changes import AFTER, BEFORE, DELETE, INSERT, ChangeRows
from millstream.connectors.kafka.values import DecodedValues, Decoder


@dataclass(frozen=True, slots=True)
class Envelopes:
    """Debezium's envelopes.

    Attributes:
        columns: The declared columns.
        decoder: Decodes the columns of an envelope: before, after, op and, of JSON, payload.
        old_values: Whether an update needs its old row. Otherwise changes are ordinary rows.
    """

    columns: tuple[Column, ...]
    decoder: Decoder
    old_values: bool

    @property
    def is_binary(self) -> bool:
        return self.decoder.is_binary

    def changes(self, messages: Sequence[Any]) -> ChangeRows:
        # A tombstone follows the envelope of a delete, for the log's compaction.
        places = [place for place, each in enumerate(messages) if each.value() is not None]
        decoded = self.decoder.decode([messages[place].value() for place in places])
        envelope = EnvelopeColumns.of(self.decoder, decoded)
        flaws = dict(decoded.flaws)
        for row in envelope.incomplete(old_values=self.old_values):
            flaws.setdefault(row, envelope.flaw(row))
        old = [self._side(envelope, number, flaws, is_old=True) for number in self._numbers]
        new = [self._side(envelope, number, flaws, is_old=False) for number in self._numbers]
        sound = np.ones(len(places), np.bool_)
        sound[list(flaws)] = False
        is_update, is_delete = envelope.has_op("u") & sound, envelope.has_op("d") & sound
        has_old = is_update & self.old_values
        rows = np.repeat(np.arange(len(places)), 1 + has_old)
        first = np.searchsorted(rows, np.arange(len(places)))
        is_before = np.zeros(rows.size, np.bool_)  # the old row of an update is before the new one
        is_before[first[has_old]] = True
        ops = np.where(is_delete[rows], DELETE, np.where(is_update[rows], AFTER, INSERT))
        ops[is_before] = BEFORE
        taken = pa.array(rows, mask=~sound[rows])
        is_old = pa.array(is_before | is_delete[rows])
        columns = [
            pc.if_else(is_old, before.take(taken), after.take(taken))
            for before, after in zip(old, new, strict=True)
        ]
        of_rows = {int(first[row]): flaw for row, flaw in flaws.items()}
        return ChangeRows(columns, np.array(places, np.int64)[rows], ops.astype(np.int8), of_rows)

    @property
    def _numbers(self) -> range:
        return range(len(self.columns))

    def _side(
        self, envelope: EnvelopeColumns, number: int, flaws: dict[int, Flaw], *, is_old: bool
    ) -> pa.Array:
        """Returns a column of old or new rows; adds a flaw for each value that does not fit."""
        column = self.columns[number]
        values = pc.struct_field(envelope.before if is_old else envelope.after, number)
        found, unfit = from_json(column, values)
        for row in unfit:
            if not is_old or self.old_values or envelope.op[row].as_py() == "d":
                flaws.setdefault(row, Flaw.of(column, str(values[row].as_py())))
        return found


@dataclass(frozen=True, slots=True)
class EnvelopeColumns:
    """The envelopes of a block."""

    before: pa.StructArray
    after: pa.StructArray
    op: pa.Array

    @classmethod
    def of(cls, decoder: Decoder, decoded: DecodedValues) -> EnvelopeColumns:
        named = dict(zip((each.name for each in decoder.columns), decoded.columns, strict=True))
        parts = [named["before"], named["after"], named["op"]]
        if "payload" in named:  # the converter of Kafka Connect adds the schema beside it
            payload = named["payload"]
            inner = [pc.struct_field(payload, number) for number in range(3)]
            parts = [
                pc.if_else(payload.is_valid(), one, other)
                for one, other in zip(inner, parts, strict=True)
            ]
        return cls(*parts)

    def has_op(self, *ops: str) -> npt.NDArray[np.bool_]:
        return mask_of(pc.is_in(self.op, value_set=pa.array(ops)))

    def incomplete(self, *, old_values: bool) -> list[int]:
        """Returns the envelopes that lack what their op needs."""
        needs_old = self.has_op("u", "d") if old_values else self.has_op("d")
        needs_new = self.has_op("c", "r", "u")
        lacks = (needs_old & mask_of(self.before.is_null())) | ~self.has_op("c", "r", "u", "d")
        lacks |= needs_new & mask_of(self.after.is_null())
        return [int(row) for row in np.flatnonzero(lacks)]

    def flaw(self, row: int) -> Flaw:
        op = self.op[row].as_py()
        if op in ("c", "r", "u") and not self.after[row].is_valid:
            return Flaw(f"the Debezium envelope has op '{op}' but no field 'after'.")
        if op in ("u", "d"):
            return Flaw(_NO_OLD.format(op))
        return Flaw(f"the Debezium envelope has op {op!r}, which is not c, r, u or d.", "op", op)


def mask_of(array: pa.Array) -> npt.NDArray[np.bool_]:
    return np.asarray(array.to_numpy(zero_copy_only=False), np.bool_)


_NO_OLD = (
    "the Debezium envelope has op '{}' but no field 'before'; PostgreSQL needs ALTER TABLE … "
    "REPLICA IDENTITY FULL."
)


def envelope_columns(columns: tuple[Column, ...], *, is_json: bool) -> tuple[Column, ...]:
    """Returns the columns of an envelope. In JSON, times and bytes are read as text at first: a
    block reader of JSON has no others inside of objects."""
    times = columns[0].format if columns else None
    side = pa.struct([(each.name, json_type(each) if is_json else each.type) for each in columns])
    found = (
        Column("before", side, "STRUCT", times),
        Column("after", side, "STRUCT", times),
        Column("op", pa.string(), "STRING"),
    )
    if not is_json:
        return found
    payload = pa.struct([(each.name, each.type) for each in found])
    return (*found, Column("payload", payload, "STRUCT"))


def json_type(column: Column) -> pa.DataType:
    kind = column.type
    if pa.types.is_timestamp(kind) and isinstance(column.format, Epoch):
        return pa.int64()
    textual = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_binary)
    return pa.string() if any(each(kind) for each in textual) else kind


def from_json(column: Column, values: pa.Array) -> tuple[pa.Array, Sequence[int]]:
    """Returns values of `json_type` as those of the column, and the rows that do not fit."""
    if values.type == column.type:
        return values, ()
    if pa.types.is_integer(values.type):
        factor = 1_000 if column.format is Epoch.MILLIS else 1_000_000
        return _by_halves(
            values,
            lambda each: in_range(pc.multiply_checked(each, factor).cast(column.type)),
            column.type,
        )
    if pa.types.is_binary(column.type):
        return _by_halves(values, lambda each: _from_base64(each, column.type), column.type)
    found, unfit = column.convert_strings(values)
    return found, np.flatnonzero(unfit).tolist()


def _by_halves(
    values: pa.Array, convert: Callable[[pa.Array], pa.Array], kind: pa.DataType
) -> tuple[pa.Array, list[int]]:
    try:
        return convert(values), []
    except (pa.ArrowInvalid, binascii.Error):
        if len(values) == 1:
            return pa.nulls(1, kind), [0]
    half = len(values) // 2
    first, unfit = _by_halves(values[:half], convert, kind)
    second, others = _by_halves(values[half:], convert, kind)
    return pa.concat_arrays([first, second]), unfit + [half + row for row in others]


def _from_base64(values: pa.Array, kind: pa.DataType) -> pa.Array:
    found = (each and base64.b64decode(each, validate=True) for each in values.to_pylist())
    return pa.array(list(found), kind)
