"""Decodes Debezium's envelopes to changes: before, after and op of each record.

c, r    +I after
u       -U before, +U after
d       -D before
t       none, or an error: the table was truncated, and its rows are not in the topic
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.file.rejections import Flaw
from millstream.connectors.file.values import Column, Epoch, in_range
from millstream.connectors.kafka.changes import AFTER, BEFORE, DELETE, INSERT, ChangeRows
from millstream.connectors.kafka.envelope_block import EnvelopeBlock, mask_of
from millstream.connectors.kafka.single_envelopes import single_envelopes
from millstream.connectors.kafka.values import DecodedValues, Decoder, JsonValues


class TruncatedError(Exception):
    """A table was truncated. `record`: the place of the record in its block."""

    def __init__(self, record: int) -> None:
        super().__init__(record)
        self.record = record


@dataclass(frozen=True, slots=True)
class Envelopes:
    """Debezium's envelopes.

    Attributes:
        columns: The declared columns.
        decoder: Decodes the columns of an envelope: before, after, op and, of JSON, payload.
        old_values: Whether an update needs its old row. Otherwise changes are ordinary rows.
        ignores_truncate: Whether the truncation of a table has no row; otherwise it is an error.
    """

    columns: tuple[Column, ...]
    decoder: Decoder
    old_values: bool
    ignores_truncate: bool = False

    @property
    def is_binary(self) -> bool:
        return self.decoder.is_binary

    def changes(self, messages: Sequence[Any]) -> ChangeRows:
        # A tombstone follows the envelope of a delete, for the log's compaction.
        places = [place for place, each in enumerate(messages) if each.value() is not None]
        block = self._block([messages[place].value() for place in places])
        block.add_incomplete(old_values=self.old_values)
        truncates = block.truncates()
        if truncates.any() and not self.ignores_truncate:
            raise TruncatedError(places[int(np.argmax(truncates))])
        sound = np.ones(len(places), np.bool_)
        sound[list(block.flaws)] = False
        is_update, is_delete = block.has_op("u") & sound, block.has_op("d") & sound
        has_old = is_update & self.old_values
        rows = np.repeat(np.arange(len(places)), np.where(truncates, 0, 1 + has_old))
        first = np.searchsorted(rows, np.arange(len(places)))
        is_before = np.zeros(rows.size, np.bool_)  # the old row of an update is before the new one
        is_before[first[has_old]] = True
        ops = np.where(is_delete[rows], DELETE, np.where(is_update[rows], AFTER, INSERT))
        ops[is_before] = BEFORE
        taken = pa.array(rows, mask=~sound[rows])
        is_old = pa.array(is_before | is_delete[rows])
        columns = [
            pc.if_else(is_old, before.take(taken), after.take(taken))
            for before, after in zip(block.before, block.after, strict=True)
        ]
        of_rows = {int(first[row]): flaw for row, flaw in block.flaws.items()}
        return ChangeRows(columns, np.array(places, np.int64)[rows], ops.astype(np.int8), of_rows)

    def _block(self, values: Sequence[bytes]) -> EnvelopeBlock:
        decoded = self.decoder.decode(values)
        before, after, op = _parts(self.decoder, decoded)
        flaws = dict(decoded.flaws)
        block = EnvelopeBlock(
            op,
            mask_of(before.is_valid()),
            mask_of(after.is_valid()),
            [self._side(before, op, number, flaws, is_old=True) for number in self._numbers],
            [self._side(after, op, number, flaws, is_old=False) for number in self._numbers],
            flaws,
        )
        doubtful = [row for row, flaw in flaws.items() if flaw.column is not None]
        if not doubtful or not isinstance(self.decoder, JsonValues):
            return block
        single = single_envelopes(
            [values[row] for row in doubtful],
            [flaws[row] for row in doubtful],
            self.columns,
            self.decoder.columns,
            old_values=self.old_values,
        )
        return block.replaced(doubtful, single)

    @property
    def _numbers(self) -> range:
        return range(len(self.columns))

    def _side(
        self,
        rows: pa.StructArray,
        op: pa.Array,
        number: int,
        flaws: dict[int, Flaw],
        *,
        is_old: bool,
    ) -> pa.Array:
        """Returns a column of old or new rows; adds a flaw for each value that does not fit."""
        column = self.columns[number]
        values = pc.struct_field(rows, number)
        found, unfit = from_json(column, values)
        for row in unfit:
            if not is_old or self.old_values or op[row].as_py() == "d":
                flaws.setdefault(row, Flaw.of(column, str(values[row].as_py())))
        return found


def _parts(decoder: Decoder, decoded: DecodedValues) -> list[pa.Array]:
    """Returns before, after and op of envelopes."""
    named = dict(zip((each.name for each in decoder.columns), decoded.columns, strict=True))
    parts = [named["before"], named["after"], named["op"]]
    if "payload" not in named:
        return parts
    payload = named["payload"]  # the converter of Kafka Connect adds the schema beside it
    inner = [pc.struct_field(payload, number) for number in range(3)]
    return [
        pc.if_else(payload.is_valid(), one, other) for one, other in zip(inner, parts, strict=True)
    ]


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
    except ValueError:  # ArrowInvalid is one
        if len(values) == 1:
            return pa.nulls(1, kind), [0]
    half = len(values) // 2
    first, unfit = _by_halves(values[:half], convert, kind)
    second, others = _by_halves(values[half:], convert, kind)
    return pa.concat_arrays([first, second]), unfit + [half + row for row in others]


def _from_base64(values: pa.Array, kind: pa.DataType) -> pa.Array:
    found = (each and base64.b64decode(each, validate=True) for each in values.to_pylist())
    return pa.array(list(found), kind)
