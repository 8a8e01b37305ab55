"""Column values in folder names: `column=value`, as Hive and Spark write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import unquote

import pyarrow as pa

from millstream.connectors.file.file_patterns import split_pattern, split_query
from millstream.connectors.file.text_file import UnreadableFileError
from millstream.connectors.file.values import Column
from millstream.connectors.paths import to_local_path

_NONE = "__HIVE_DEFAULT_PARTITION__"


def base_of(path: str) -> str:
    """Returns the path up to its first component with a glob pattern."""
    return split_pattern(split_query(path)[0])[0]


def folder_values(path: str, base: str, columns: Sequence[Column]) -> Mapping[str, pa.Scalar]:
    """Returns the values of columns in the names of a file's folders."""
    name = to_local_path(path) if path.startswith("file:") else path
    if "://" in name:
        name = unquote(name)
    known = {column.name.lower(): column for column in columns}
    found = {}
    for folder in name.removeprefix(base).split("/")[:-1]:
        key, equals, text = folder.partition("=")
        column = known.get(unquote(key).lower())
        if not equals or column is None:
            continue
        text = unquote(text)
        given = pa.array([None if text == _NONE else text.encode()], pa.binary())
        value, unfit = column.convert_strings(given)
        if unfit.any():
            raise UnreadableFileError(
                f"its folder {folder} has a value that is not {column.type_name}."
            )
        found[column.name] = value[0]
    return found
