"""Reads JSON envelopes one by one, where a block reader rejects one.

Rows inside of an envelope are read like plain JSON values: by the same rules, and with errors that
name the column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.connectors.file.json_values import as_json, parse_line
from millstream.connectors.file.rejections import Flaw
from millstream.connectors.file.values import Column
from millstream.connectors.kafka.envelope_block import EnvelopeBlock
from millstream.connectors.kafka.values import DecodedValues, JsonValues

_SIDES = ("before", "after")


def single_envelopes(
    values: Sequence[bytes],
    reasons: Sequence[Flaw],
    columns: tuple[Column, ...],
    outer: Sequence[Column],
    *,
    old_values: bool,
) -> EnvelopeBlock:
    """Reads envelopes. `reasons`: why a block reader rejected them, which remain if a part is no
    object. `outer`: the columns of an envelope. `old_values`: whether updates need an old row."""
    envelopes = [_envelope(value, outer) for value in values]
    ops = [None if each is None else _text(each.get("op")) for each in envelopes]
    sides = {side: [_line(each, side, columns) for each in envelopes] for side in _SIDES}
    decoded = {side: JsonValues(columns).decode(sides[side]) for side in _SIDES}
    flaws: dict[int, Flaw] = {}
    for row, envelope in enumerate(envelopes):
        if envelope is None:
            flaws[row] = reasons[row]
            continue
        for side in _SIDES:
            is_needed = side == "after" or old_values or ops[row] == "d"
            if is_needed and (flaw := _flaw(row, sides[side], decoded[side], reasons[row])):
                flaws.setdefault(row, flaw)
    has_before, has_after = (
        np.array([line is not None for line in sides[side]], np.bool_) for side in _SIDES
    )
    before, after = (decoded[side].columns for side in _SIDES)
    return EnvelopeBlock(pa.array(ops, pa.string()), has_before, has_after, before, after, flaws)


def _envelope(value: bytes, outer: Sequence[Column]) -> Mapping[str, Any] | None:
    found = parse_line(value, outer)
    if isinstance(found, Flaw):
        return None
    inner = found.get("payload")
    if inner is None:
        return found
    return inner if isinstance(inner, dict) else None


def _text(op: Any) -> str | None:
    return None if op is None else op if type(op) is str else as_json(op)


def _line(envelope: Mapping[str, Any] | None, side: str, columns: Sequence[Column]) -> bytes | None:
    """A row as JSON; of a part that is no object, too, which the caller rejects."""
    row = None if envelope is None else envelope.get(side)
    if row is None:
        return None
    if not isinstance(row, dict):
        return b"0"
    if columns:  # an object without the declared columns is a row of NULLs
        row = {columns[0].name: None} | row
    return as_json(row).encode("utf-8", "backslashreplace")


def _flaw(
    row: int, lines: Sequence[bytes | None], decoded: DecodedValues, reason: Flaw
) -> Flaw | None:
    line = lines[row]
    if line is None:
        return None
    return reason if line == b"0" else decoded.flaws.get(row)
