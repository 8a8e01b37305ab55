"""Checks what Spark, which executes projects, reads differently in JSON records: it ignores unknown
keys, reads missing ones as NULL, and rejects decimals with spaces around them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from millstream.catalog.model import Dataset
from millstream.connectors.file.folders import folder_values
from millstream.connectors.file.json_lines import JsonFiles
from millstream.connectors.file.rejections import shown_path
from millstream.connectors.file.text_file import BOM, UnreadableFileError, open_text
from millstream.errors import CatalogError
from millstream.suggestions import nearest


def check_records(dataset: Dataset, files: JsonFiles, paths: Sequence[str]) -> None:
    """Raises MS-CATALOG-COLUMNS if a record has a key that is not a column, or no record has a
    column, and MS-CATALOG-ROWS for a decimal that Spark does not read. Letter case of keys counts,
    as in Spark. Lines that are not JSON objects are skipped."""
    row = pa.struct([(column.name, column.type) for column in files.columns])
    decimals = [column for column in files.columns if pa.types.is_decimal(column.type)]
    found: set[str] = set()
    records = 0
    for path in paths:
        try:
            found.update(folder_values(path, files.base, files.columns))
            for line, record in _records(path, files.encoding):
                records += 1
                if not found.issuperset(record):
                    found.update(record)
                for parent, key, known in _unknown(record, row, ""):
                    raise CatalogError(
                        "MS-CATALOG-COLUMNS",
                        f"{shown_path(path)}, line {line}: the key {parent}{key} is not a column "
                        f"of {dataset.name}.",
                        fix=nearest(key, known),
                    )
                for column in decimals:
                    value = record.get(column.name)
                    if isinstance(value, str) and value != value.strip():
                        raise CatalogError(
                            "MS-CATALOG-ROWS",
                            f"{shown_path(path)}, line {line}: column {column.name}: {value!r} is "
                            f"not {column.type_name} that Spark reads.",
                            fix="Write numbers without spaces.",
                        )
        except UnreadableFileError:
            continue  # reported when its values are read
    missing = [column.name for column in files.columns if column.name not in found]
    if records and missing:
        raise CatalogError(
            "MS-CATALOG-COLUMNS",
            f"no record of {shown_path(files.base)} has the key {missing[0]}, which "
            f"{dataset.name} declares.",
            fix="Add the key, with null if there is no value, or remove the column from the "
            "dataset.",
        )


def _records(path: str, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    with open_text(path, encoding) as text:
        for _, block in text.blocks(0, text.size, _end_of):
            lines = block.removeprefix(BOM if number == 0 else b"").split(b"\n")
            for line in lines:
                number += 1
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(record, dict):
                    yield number, record
            if not lines[-1]:
                number -= 1  # the block ends with a line end


def _end_of(data: bytes, last: bool) -> int:
    return len(data) if last else data.rfind(b"\n") + 1


def _unknown(
    value: Any, kind: pa.DataType, parent: str
) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yields the unknown keys of objects: where they are, their name, and the known names."""
    if pa.types.is_struct(kind) and isinstance(value, dict):
        types = {field.name: field.type for field in kind}
        for key, inner in value.items():
            if key not in types:
                yield parent, key, list(types)
            elif pa.types.is_nested(types[key]):
                yield from _unknown(inner, types[key], f"{parent}{key}.")
    elif pa.types.is_list(kind) and isinstance(value, list):
        for inner in value:
            yield from _unknown(inner, kind.value_type, parent)
    elif pa.types.is_map(kind) and isinstance(value, dict):
        for key, inner in value.items():
            yield from _unknown(inner, kind.item_type, f"{parent}{key}.")
