"""Reads the columns and counts the rows of files. All records of text files are validated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.catalog.model import Column, DataFormat, Dataset, Table, VersionFile
from millstream.catalog.publishing.csv_values import check_values
from millstream.catalog.publishing.files import file_path
from millstream.catalog.publishing.json_records import check_records
from millstream.catalog.publishing.key_check import KeyCheck
from millstream.catalog.types import arrow_type, spark_type
from millstream.connectors.dead_letters import BAD, Rejection
from millstream.connectors.file.csv_files import CsvFiles
from millstream.connectors.file.csv_records import CsvForm
from millstream.connectors.file.json_lines import JsonFiles
from millstream.connectors.file.text_file import UnreadableFileError
from millstream.connectors.file.values import Column as FileColumn
from millstream.connectors.paths import filesystem
from millstream.errors import CatalogError, MillstreamError
from millstream.suggestions import nearest, same

_FIX = "Correct the files, or the columns of the dataset."


@dataclass(frozen=True, slots=True)
class Inspection:
    """The columns of files, in their order, and the number of their rows."""

    schema: tuple[Column, ...]
    row_count: int


def inspect(
    dataset: Dataset,
    form: DataFormat,
    location: str,
    options: Mapping[str, str],
    files: Sequence[VersionFile],
) -> Inspection:
    """Returns the columns and rows of files. Raises MS-CATALOG-COLUMNS if they do not fit the
    dataset, MS-CATALOG-ROWS if a record does not, and MS-CATALOG-KEY-DUPLICATE if the key of the
    table does not identify its rows."""
    paths = [file_path(location, file) for file in files]
    with KeyCheck(dataset.table) as check:
        if form is DataFormat.PARQUET:
            found = _parquet(dataset, paths, check)
        elif form is DataFormat.CSV:
            found = _csv(dataset, location, options, paths, check)
        else:
            found = _json(dataset, location, options, paths, check)
        check.require_unique(dataset)
    return found


def _json(
    dataset: Dataset,
    location: str,
    options: Mapping[str, str],
    paths: Sequence[str],
    check: KeyCheck,
) -> Inspection:
    schema = dataset.table.all_columns
    json = JsonFiles(location, _file_columns(schema), options["encoding"])
    check_records(dataset, json, paths)
    return Inspection(schema, _count(json, paths, check))


def _parquet(dataset: Dataset, paths: Sequence[str], check: KeyCheck) -> Inspection:
    schemas: dict[str, tuple[Column, ...]] = {}
    rows = 0
    for path in paths:
        try:
            system, name = filesystem(path)
            with system.open_input_file(name) as opened:
                file = pq.ParquetFile(opened)
                schemas[path] = _columns_of(file.schema_arrow, path, dataset)
                rows += file.metadata.num_rows
        except (pa.ArrowInvalid, OSError) as error:
            why = str(error).splitlines()[0].rstrip(".")
            raise CatalogError(
                "MS-CATALOG-ROWS", f"{path} is not a whole Parquet file: {why}.", fix=_FIX
            ) from None
    first = _common_schema(schemas)
    _check_columns(dataset, first, paths[0])
    for path in paths if check.columns else ():
        check.start_file(path)
        for batch in _read_columns(path, dataset.table, check.columns):
            check.add(batch)
    return Inspection(first, rows)


def _read_columns(path: str, table: Table, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yields columns of a table under their declared names and types, from a file whose schema has
    been checked. Raises MS-CATALOG-ROWS if the file cannot be read."""
    types = {column.name: arrow_type(column.type) for column in table.all_columns}
    try:
        system, name = filesystem(path)
        with system.open_input_file(name) as opened:
            file = pq.ParquetFile(opened)
            spelt = {each.lower(): each for each in file.schema_arrow.names}
            stored = [spelt[each.lower()] for each in names]
            for batch in file.iter_batches(columns=stored):
                arrays = [
                    batch.column(own).cast(types[each])
                    for own, each in zip(stored, names, strict=True)
                ]
                yield pa.record_batch(arrays, names=list(names))
    except (pa.ArrowInvalid, OSError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise CatalogError(
            "MS-CATALOG-ROWS", f"{path} cannot be read: {why}.", fix="Write the file again."
        ) from None


def _columns_of(schema: pa.Schema, path: str, dataset: Dataset) -> tuple[Column, ...]:
    columns = []
    declared = {column.name.lower(): column.name for column in dataset.table.all_columns}
    for field in schema:
        kind = spark_type(field.type)
        if kind is None:
            fix = "Write it as another type, such as timestamp[us] for times."
            cause = f"the column {field.name} of {path} is {field.type}, which Spark does not read."
            raise CatalogError("MS-CATALOG-COLUMNS", cause, fix=fix)
        columns.append(Column(declared.get(field.name.lower(), field.name), kind))
    return tuple(columns)


def _csv(
    dataset: Dataset,
    location: str,
    options: Mapping[str, str],
    paths: Sequence[str],
    check: KeyCheck,
) -> Inspection:
    escape = "" if options["escape"] == options["quote"] else options["escape"]
    multiline, header = options["multiline"] == "true", options["header"] == "true"
    form = CsvForm(options["delimiter"], options["quote"], escape, multiline)
    schema = dataset.table.all_columns
    if header:
        reader = CsvFiles(location, (), header, form, encoding=options["encoding"])
        schema = _common_schema({path: _header(reader, path, dataset) for path in paths})
        _check_columns(dataset, schema, paths[0])
    files = CsvFiles(location, _file_columns(schema), header, form, encoding=options["encoding"])
    rows = _count(files, paths, check)
    check_values(files, paths)
    return Inspection(schema, rows)


def _header(reader: CsvFiles, path: str, dataset: Dataset) -> tuple[Column, ...]:
    try:
        names = reader.header_names(path)
    except UnreadableFileError as why:
        raise _rows_error(f"{path} cannot be read: {why}") from None
    if names is None:
        raise CatalogError(
            "MS-CATALOG-COLUMNS",
            f"{path} is empty and has no header.",
            fix="Remove it, or set the option header to false.",
        )
    declared = {column.name.lower(): column for column in dataset.table.all_columns}
    return tuple(declared.get(name.lower(), Column(name, "string")) for name in names)


def _common_schema(schemas: Mapping[str, tuple[Column, ...]]) -> tuple[Column, ...]:
    """Spark takes the columns of all files of a version from one of them."""
    (first_path, first), *others = schemas.items()
    for path, schema in others:
        if schema != first:
            raise CatalogError(
                "MS-CATALOG-COLUMNS",
                f"the columns of {path} are {_column_list(schema)}; those of {first_path} are "
                f"{_column_list(first)}.",
                fix="Write all files of a version with the same columns in the same order.",
            )
    return first


def _check_columns(dataset: Dataset, found: Sequence[Column], path: str) -> None:
    names = [column.name for column in found]
    if twice := next((n for n in names if [x.lower() for x in names].count(n.lower()) > 1), None):
        cause = f"{path} has the column {twice} more than once."
        raise CatalogError("MS-CATALOG-COLUMNS", cause, fix=_FIX)
    for column in dataset.table.all_columns:
        own = next((each for each in found if same(each.name, column.name)), None)
        if own is None:
            raise CatalogError(
                "MS-CATALOG-COLUMNS",
                f"{path} has no column {column.name}, which {dataset.name} declares. Its columns "
                f"are {', '.join(names)}.",
                fix=nearest(column.name, names) if names else _FIX,
            )
        if own.type != column.type:
            raise CatalogError(
                "MS-CATALOG-COLUMNS",
                f"the column {column.name} of {path} is {own.type}; {dataset.name} declares "
                f"{column.type}.",
                fix=_FIX,
            )


def _file_columns(schema: Sequence[Column]) -> tuple[FileColumn, ...]:
    return tuple(FileColumn(each.name, arrow_type(each.type), each.type.upper()) for each in schema)


def _count(files: CsvFiles | JsonFiles, paths: Sequence[str], check: KeyCheck) -> int:
    wanted = {column.name: column.type for column in files.columns}
    rows = 0
    for path in paths:
        check.start_file(path)
        try:
            for batch in files.read(path, wanted):
                if len(bad := batch.column(BAD).drop_null()):
                    raise _rows_error(str(Rejection.decode(bad[0].as_py())))
                rows += batch.num_rows
                check.add(batch)
        except MillstreamError as error:
            if isinstance(error, CatalogError):
                raise
            raise CatalogError("MS-CATALOG-ROWS", error.cause, fix=_FIX) from None
    return rows


def _rows_error(why: str) -> CatalogError:
    return CatalogError("MS-CATALOG-ROWS", why if why.endswith(".") else f"{why}.", fix=_FIX)


def _column_list(columns: Sequence[Column]) -> str:
    return ", ".join(f"{column.name} ({column.type})" for column in columns)
