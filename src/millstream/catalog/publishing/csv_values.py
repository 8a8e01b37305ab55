"""Finds values of CSV files that Arrow reads and Spark, which executes projects, does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.rejections import shown_path
from millstream.errors import CatalogError

# What Spark accepts, given that Arrow does: Arrow trims, and reads 0x1F and inf.
_ACCEPTED = (
    (pa.types.is_integer, r"^[+-]?[0-9]*$"),
    (pa.types.is_decimal, r"^[^ \t]*$"),
    (pa.types.is_floating, r"^(-?Inf|[ \t]*([+-]?([0-9.]|NaN|Infinity).*)?)$"),
)


def check_values(files: CsvFiles, paths: Sequence[str]) -> None:
    """Raises MS-CATALOG-ROWS for a value that Spark does not read. All values fit for Arrow."""
    patterns = {
        column.name: pattern
        for column in files.columns
        for is_one, pattern in _ACCEPTED
        if is_one(column.type)
    }
    if not patterns:
        return
    types = {column.name: column for column in files.columns}
    as_texts = replace(
        files, columns=tuple(replace(each, type=pa.string()) for each in files.columns)
    )
    for path in paths:
        rows = 0
        for batch in as_texts.read(path, dict.fromkeys(patterns, pa.string())):
            for name, pattern in patterns.items():
                texts = batch.column(name)
                fits = pc.fill_null(pc.match_substring_regex(texts, pattern), True)
                if (row := pc.index(fits, False).as_py()) >= 0:
                    raise CatalogError(
                        "MS-CATALOG-ROWS",
                        f"{shown_path(path)}, record {rows + row + 1:,}: column {name}: "
                        f"{texts[row].as_py()!r} is not {types[name].type_name} that Spark reads.",
                        fix="Write numbers without spaces, integers in decimal digits, and NaN, "
                        "Infinity or -Infinity in this spelling.",
                    )
            rows += batch.num_rows
