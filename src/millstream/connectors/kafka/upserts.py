"""Decodes upserts to changes: a value is +U, a tombstone -D with the columns of its key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.connectors.kafka.changes import AFTER, DELETE, ChangeRows, record_times
from millstream.connectors.kafka.values import Decoder


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
        places = np.flatnonzero(~deleted).tolist()
        decoded = self.decoder.decode([messages[place].value() for place in places])
        flaws = {places[row]: flaw for row, flaw in decoded.flaws.items()}
        tombstones = np.flatnonzero(deleted).tolist()
        keys = self.keys.decode([messages[place].key() for place in tombstones])
        for row, flaw in keys.flaws.items():
            flaws[tombstones[row]] = replace(flaw, message=f"the key: {flaw.message}")
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
            columns.append(both.take(pa.array(np.argsort(places + tombstones))))
        ops = np.where(deleted, DELETE, AFTER).astype(np.int8)
        return ChangeRows(columns, np.arange(len(messages)), ops, flaws)
