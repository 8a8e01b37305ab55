"""Merges files of a sink into one, in their order: `millstream compact`.

Files are merged only if they have the same format, schema and compression.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.connectors.file.avro_container import AvroHeader, read_blocks, read_header
from millstream.errors import RunError

_CODECS = {".gz": "gzip", ".bz2": "bz2"}


def merge_key(path: Path, *, header: bool) -> object:
    """Returns a value that is equal for files that can be merged."""
    form = format_of(path)
    if form == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            return form, str(file.schema_arrow), _parquet_codec(file)
    if form == "orc":
        from pyarrow import orc

        found = orc.ORCFile(path)
        return form, str(found.schema), found.compression
    if form == "avro":
        with path.open("rb") as opened:
            known = read_header(opened)
        return form, str(known.schema), known.codec
    return form, path.suffix, _first_line(path) if form == "csv" and header else b""


def format_of(path: Path) -> str:
    name = path.with_suffix("") if path.suffix in _CODECS else path
    return name.suffix[1:]


def merge(paths: Sequence[Path], target: Path, *, header: bool) -> None:
    """Writes the rows of some files to a new one. `header`: CSV files begin with the names of
    columns."""
    form = format_of(paths[0])
    if form in _MERGES:
        _MERGES[form](paths, target)
    else:
        _merge_text(paths, target, skip_first=form == "csv" and header)


def _merge_parquet(paths: Sequence[Path], target: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(paths[0]) as first:
        schema, codec = first.schema_arrow, _parquet_codec(first)
    rows = 0
    with pq.ParquetWriter(target, schema, compression=codec) as writer:
        waiting: list[pa.Table] = []
        for path in paths:
            with pq.ParquetFile(path) as file:
                for group in range(file.num_row_groups):
                    waiting.append(file.read_row_group(group))
                    if sum(each.nbytes for each in waiting) >= _ROW_GROUP:
                        writer.write_table(pa.concat_tables(waiting))
                        waiting = []
                rows += file.metadata.num_rows
        if waiting:
            writer.write_table(pa.concat_tables(waiting))
    _check(rows, pq.read_metadata(target).num_rows, target)


_ROW_GROUP = 64 << 20  # bytes in memory


def _parquet_codec(file: Any) -> str:
    known = file.metadata
    if not known.num_row_groups or not known.num_columns:
        return "SNAPPY"
    codec = str(known.row_group(0).column(0).compression)
    return "NONE" if codec == "UNCOMPRESSED" else codec


def _merge_orc(paths: Sequence[Path], target: Path) -> None:
    from pyarrow import orc

    codec = orc.ORCFile(paths[0]).compression.lower().replace("none", "uncompressed")
    rows = 0
    with orc.ORCWriter(str(target), compression=codec) as out:
        for path in paths:
            table = orc.ORCFile(path).read()
            out.write(table)
            rows += table.num_rows
    _check(rows, orc.ORCFile(target).nrows, target)


def _merge_avro(paths: Sequence[Path], target: Path) -> None:
    with target.open("wb") as out:
        first: AvroHeader | None = None
        for path in paths:
            data = path.read_bytes()
            file = io.BytesIO(data)
            header = read_header(file)
            if first is None:
                first = header
                out.write(header.encoded())
            for block in read_blocks(file, header, len(data)):
                out.write(data[block.offset : block.offset + block.size - len(header.sync)])
                out.write(first.sync)


_MERGES: dict[str, Callable[[Sequence[Path], Path], None]] = {
    "parquet": _merge_parquet,
    "orc": _merge_orc,
    "avro": _merge_avro,
}


def _merge_text(paths: Sequence[Path], target: Path, *, skip_first: bool) -> None:
    with _writable(target) as out:
        for number, path in enumerate(paths):
            with _readable(path) as file:
                if skip_first and number:
                    file.readline()
                shutil.copyfileobj(file, out)


def _first_line(path: Path) -> bytes:
    with _readable(path) as file:
        return bytes(file.readline())


def _readable(path: Path) -> Any:
    if codec := _CODECS.get(path.suffix):
        return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(str(path)), codec))
    return path.open("rb")


def _writable(path: Path) -> Any:
    if codec := _CODECS.get(path.suffix):
        return pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), codec)
    return path.open("wb")


def _check(expected: int, written: int, target: Path) -> None:
    if expected != written:
        raise RunError(
            "MS-RUN-COMPACT",
            f"{target} has {written} rows instead of {expected}.",
            fix="Nothing was changed. Report this as an error of Millstream.",
        )
