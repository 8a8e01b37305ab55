"""A dataset, files to publish, and the error of a location that is rejected."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from millstream.catalog.model import Column, Dataset, Table
from millstream.catalog.publishing.prepare import prepare
from millstream.errors import CatalogError

RATES = (Column("currency", "string"), Column("rate", "decimal(18,6)"))
FX = Dataset(uuid4(), "fx", Table("rates", RATES))
CSV = "currency,rate\nEUR,1.08\nGBP,1.27\n"
JSON = '{"currency":"EUR","rate":"1.08"}\n{"currency":"GBP","rate":1.27}\n'
DEFAULTS = {
    "header": "true",
    "delimiter": ",",
    "quote": '"',
    "escape": '"',
    "encoding": "utf-8",
    "multiline": "false",
}


def write_csv(tmp_path: Path, text: str = CSV, name: str = "fx.csv") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def write_parquet(path: Path, rate: pa.DataType | None = None, **more: pa.Array) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rates = pa.array([1, 2], pa.int8()).cast(rate or pa.decimal128(18, 6))
    pq.write_table(pa.table({"currency": ["EUR", "GBP"], "rate": rates, **more}), path)
    return path


def rejected(location: Path | str, dataset: Dataset = FX, **more: object) -> CatalogError:
    with pytest.raises(CatalogError) as error:
        prepare(dataset, str(location), **more)  # type: ignore[arg-type]
    return error.value
