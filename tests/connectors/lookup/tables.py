"""Tables to ask, in memory, and what tests of lookups share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import polars as pl
import pyarrow as pa

from millstream.connectors.lookup.entries import NUMBER
from millstream.connectors.lookup.failures import UnreachableError
from millstream.connectors.lookup.lookups import LookupRows, Lookups
from millstream.connectors.lookup.spec import LookupSpec
from millstream.connectors.lookup.values import to_frame
from millstream.values import Condition, Lookup, OnError

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("region", pa.string()),
        ("name", pa.string()),
        ("age", pa.int32()),
        ("active", pa.bool_()),
    ]
)


def spec_of(
    *,
    keys: Sequence[str] = ("id",),
    columns: Sequence[str] = ("name",),
    schema: pa.Schema = SCHEMA,
    connector: str = "sqlite",
    conditions: Iterable[Condition] = (),
    options: dict[str, str] | None = None,
    **access: Any,
) -> LookupSpec:
    return LookupSpec(
        table="customers",
        connector=connector,
        options=tuple((options or {}).items()),
        keys=tuple(keys),
        columns=tuple(columns),
        schema=schema,
        conditions=tuple(conditions),
        access=Lookup(**access),
    )


class MemoryStore:
    advice: ClassVar[str] = ""

    """A table as a list of rows. `fail` may raise before a question is answered."""

    def __init__(self, spec: LookupSpec, rows: Iterable[dict[str, Any]] = ()) -> None:
        self.spec = spec
        self.rows = list(rows)
        self.requests: list[list[tuple[Any, ...]]] = []
        self.fail: Callable[[list[tuple[Any, ...]]], None] = lambda _: None
        self._lock = threading.Lock()

    def first_rows(self, most: int) -> pl.DataFrame:
        rows = [tuple(row.get(name) for name in self.spec.read) for row in self.rows[:most]]
        return to_frame(self.spec, rows, {})

    def fetch(self, keys: pl.DataFrame) -> pl.DataFrame:
        requested = keys.rows()
        with self._lock:
            self.requests.append(requested)
        self.fail(requested)
        wanted = set(requested)
        found = [
            tuple(row.get(name) for name in self.spec.read)
            for row in self.rows
            if tuple(row[name] for name in self.spec.keys) in wanted
        ]
        return to_frame(self.spec, found, {})

    def check(self) -> None: ...

    def close(self) -> None: ...


class Failing:
    """Makes the first questions fail."""

    def __init__(self, times: int, reason: str = "connection refused") -> None:
        self.left = times
        self.reason = reason

    def __call__(self, _: list[tuple[Any, ...]]) -> None:
        if self.left:
            self.left -= 1
            raise UnreachableError(self.reason)


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def keys_of(lookups: Lookups, *keys: Any) -> pl.DataFrame:
    names = lookups.spec.keys
    rows = [key if isinstance(key, tuple) else (key,) for key in keys]
    types = {name: lookups._key_types[name] for name in names}
    return pl.DataFrame(rows, schema=types, orient="row")


def find_rows(lookups: Lookups, *keys: Any) -> dict[Any, list[Any]]:
    """The rows of each key, sorted; of one column, its values. A key that failed is not there."""
    found: LookupRows = lookups.find(keys_of(lookups, *keys))
    failed = set(found.failed[NUMBER].to_list())
    rows: dict[Any, list[Any]] = {key: [] for at, key in enumerate(keys) if at not in failed}
    one = len(lookups.spec.columns) == 1
    for number, *values in found.rows.rows():
        rows[keys[number]].append(values[0] if one else tuple(values))
    return {key: sorted(values, key=repr) for key, values in rows.items()}


__all__ = [
    "SCHEMA",
    "Clock",
    "Failing",
    "MemoryStore",
    "OnError",
    "find_rows",
    "keys_of",
    "spec_of",
]
