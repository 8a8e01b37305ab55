"""The changes that records of a changelog are: rows with the kind of each.

debezium    before, after and op of each record: c and r +I, u -U and +U, d -D
upsert      a value +U, a tombstone -D with the columns of the record's key
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.file.rejections import Flaw
from millstream.connectors.file.values import Column, Epoch, in_range
from millstream.connectors.kafka.values import DecodedValues, Decoder

OPS = ("+I", "-U", "+U", "-D")  # by the number in the column CHANGE
INSERT, BEFORE, AFTER, DELETE = range(4)
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChangeRows:
    """Rows of a block of records.

    Attributes:
        columns: The declared columns.
        records: The place of each row's record in the block.
        ops: The kind of each row, a number of OPS.
        flaws: By row.
    """

    columns: list[pa.Array]
    records: Ints
    ops: npt.NDArray[np.int8]
    flaws: dict[int, Flaw]


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
        places = [place for place, each in enumerate(messages) if each.value() is not None]
        # A tombstone follows the envelope of a delete, for the log's compaction.
        decoded = self.decoder.decode([messages[place].value() for place in places])
        before, after, op = _envelope(self.decoder, decoded)
        flaws = dict(decoded.flaws)
        for row, each in enumerate(op.to_pylist()):
            if row not in flaws and (flaw := self._flaw(each, before[row], after[row])):
                flaws[row] = flaw
        kinds = np.array(op.fill_null("").to_pylist(), dtype=object)
        sound = np.ones(len(places), np.bool_)
        sound[list(flaws)] = False
        is_update = (kinds == "u") & sound
        is_delete = (kinds == "d") & sound
        has_old = is_update & self.old_values
        # The old row of an update is just before the new one.
        counts = 1 + has_old.astype(np.int64)
        rows = np.repeat(np.arange(len(places)), counts)
        is_first = np.ones(rows.size, np.bool_)
        is_first[1:] = rows[1:] != rows[:-1]
        old = (has_old[rows] & is_first) | is_delete[rows]
        ops = np.where(is_delete[rows], DELETE, np.where(is_update[rows], AFTER, INSERT))
        ops = np.where(has_old[rows] & is_first, BEFORE, ops)
        own = {int(np.flatnonzero(rows == row)[0]): flaw for row, flaw in flaws.items()}
        columns = self._columns(before, after, rows, old, sound[rows], own)
        records = np.array(places, np.int64)[rows] if places else np.array([], np.int64)
        return ChangeRows(columns, records, ops.astype(np.int8), own)

    def _flaw(self, op: str | None, before: pa.Scalar, after: pa.Scalar) -> Flaw | None:
        if op in ("c", "r", "u") and not after.is_valid:
            return Flaw(f"the envelope has op {op} and no after.")
        if op == "u" and self.old_values and not before.is_valid:
            return Flaw(_NO_OLD.format("update"))
        if op == "d" and not before.is_valid:
            return Flaw(_NO_OLD.format("delete"))
        if op not in ("c", "r", "u", "d"):
            return Flaw(f"the op of the envelope is {op!r}, and not c, r, u or d.", "op", op)
        return None

    def _columns(
        self,
        before: pa.StructArray,
        after: pa.StructArray,
        rows: Ints,
        old: npt.NDArray[np.bool_],
        sound: npt.NDArray[np.bool_],
        flaws: dict[int, Flaw],
    ) -> list[pa.Array]:
        taken = pa.array(rows, mask=~sound)
        is_old = pa.array(old)
        found = []
        for number, column in enumerate(self.columns):
            sides = (pc.struct_field(side, number).take(taken) for side in (before, after))
            values, unfit = from_json(column, pc.if_else(is_old, *sides))
            for row in unfit:
                flaws.setdefault(row, Flaw.of(column, "the value"))
            found.append(values)
        return found


_NO_OLD = "the envelope of {} has no before; PostgreSQL needs ALTER TABLE … REPLICA IDENTITY FULL."


def _envelope(
    decoder: Decoder, decoded: DecodedValues
) -> tuple[pa.StructArray, pa.StructArray, pa.Array]:
    named = dict(zip((each.name for each in decoder.columns), decoded.columns, strict=True))
    parts = [named["before"], named["after"], named["op"]]
    if "payload" in named:  # the converter of Kafka Connect adds the schema beside it
        payload = named["payload"]
        inner = [pc.struct_field(payload, number) for number in range(3)]
        has_payload = payload.is_valid()
        parts = [
            pc.if_else(has_payload, one, other) for one, other in zip(inner, parts, strict=True)
        ]
    return parts[0], parts[1], parts[2]


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


@dataclass(frozen=True, slots=True)
class Upserts:
    """Values and tombstones.

    Attributes:
        decoder: Decodes values.
        keys: Decodes the keys of tombstones to the key columns.
        time: The column of event time, which a tombstone does not have: it gets the record's.
    """

    decoder: Decoder
    keys: Decoder
    time: str | None

    @property
    def is_binary(self) -> bool:
        return self.decoder.is_binary

    def changes(self, messages: Sequence[Any]) -> ChangeRows:
        deleted = np.array([each.value() is None for each in messages], np.bool_)
        places = np.flatnonzero(~deleted)
        decoded = self.decoder.decode([messages[place].value() for place in places])
        flaws = {int(places[row]): flaw for row, flaw in decoded.flaws.items()}
        tombstones = np.flatnonzero(deleted)
        keys = self.keys.decode([messages[place].key() for place in tombstones])
        for row, flaw in keys.flaws.items():
            flaws[int(tombstones[row])] = replace(flaw, message=f"the key: {flaw.message}")
        of_keys = {
            column.name: values
            for column, values in zip(self.keys.columns, keys.columns, strict=True)
        }
        columns = []
        for column, values in zip(self.decoder.columns, decoded.columns, strict=True):
            others = of_keys.get(column.name)
            if others is None and column.name == self.time:
                others = record_times([messages[place] for place in tombstones]).cast(column.type)
            if others is None:
                others = pa.nulls(len(tombstones), column.type)
            both = pa.concat_arrays([values, others])
            columns.append(both.take(pa.array(np.argsort(np.concatenate([places, tombstones])))))
        ops = np.where(deleted, DELETE, AFTER).astype(np.int8)
        return ChangeRows(columns, np.arange(len(messages)), ops, flaws)


def record_times(messages: Sequence[Any]) -> pa.Array:
    """Returns the times of records; NULL if they have none."""
    millis = (message.timestamp() for message in messages)
    micros = [None if kind == 0 else time * 1000 for kind, time in millis]
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))
