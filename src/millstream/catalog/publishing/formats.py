"""The format of files and its options, as they are recorded with a version."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping
from contextlib import suppress

from millstream.catalog.model import DataFormat, VersionFile
from millstream.errors import CatalogError
from millstream.suggestions import nearest

_SUFFIXES = {
    ".parquet": DataFormat.PARQUET,
    ".csv": DataFormat.CSV,
    ".csv.gz": DataFormat.CSV,
    ".json": DataFormat.JSON,
    ".jsonl": DataFormat.JSON,
    ".ndjson": DataFormat.JSON,
    ".json.gz": DataFormat.JSON,
    ".jsonl.gz": DataFormat.JSON,
}
# Recorded in full, so that a version is read in the same way when a default changes. In CSV files a
# quote inside of a value is doubled: `escape` is the quote.
_DEFAULTS: Mapping[DataFormat, Mapping[str, str]] = {
    DataFormat.PARQUET: {},
    DataFormat.CSV: {
        "header": "true",
        "delimiter": ",",
        "quote": '"',
        "escape": '"',
        "encoding": "utf-8",
        "multiline": "false",
    },
    DataFormat.JSON: {"encoding": "utf-8"},
    DataFormat.JDBC: {"table": ""},
    DataFormat.TABLE: {},
}
# By Python's names: the encodings in which Spark reads files line by line, by Spark's names.
_ENCODINGS = {"utf-8": "utf-8", "iso8859-1": "iso-8859-1", "ascii": "us-ascii"}
_FLAGS = ("header", "multiline")
_CHARACTERS = ("delimiter", "quote", "escape")


def data_format(name: str) -> DataFormat:
    """Returns a format by its name. Raises MS-CATALOG-FORMAT."""
    known = [each.value for each in DataFormat if each is not DataFormat.TABLE]
    if name.lower() not in known:
        raise _wrong(f"there is no format {name}.", nearest(name, known))
    return DataFormat(name.lower())


def format_of(location: str, files: Iterable[VersionFile]) -> DataFormat:
    """Returns the format that the names of files say. Raises MS-CATALOG-FORMAT."""
    found = {format_of_name(file.path or location) for file in files}
    if len(found) == 1 and (form := found.pop()) is not None:
        return form
    raise CatalogError(
        "MS-CATALOG-FORMAT",
        f"the files in {location} have different or unknown suffixes.",
        fix="Name it with --format: parquet, csv or json.",
    )


def format_of_name(name: str) -> DataFormat | None:
    """Returns the format that the suffix of a file name says."""
    return next((form for end, form in _SUFFIXES.items() if name.lower().endswith(end)), None)


def complete_options(form: DataFormat, given: Mapping[str, str]) -> dict[str, str]:
    """Returns all options of a format: those given, and the defaults of others."""
    known = _DEFAULTS[form]
    for name, value in given.items():
        if name not in known:
            fix = nearest(name, known) if known else "It has no options."
            raise _wrong(f"the format {form.value} has no option {name}.", fix)
        if name in _FLAGS and value not in ("true", "false"):
            raise _wrong(f"the option {name} is {value!r}.", "It is true or false.")
        if name in _CHARACTERS and (len(value.encode()) != 1 or value in "\r\n "):
            raise _wrong(
                f"the option {name} is {value!r}.", "It is one ASCII character, such as ; or |."
            )
    options = {**known, **given}
    if "encoding" in options:
        options["encoding"] = _encoding(options["encoding"])
    if form is DataFormat.CSV and options["delimiter"] in (options["quote"], options["escape"]):
        raise _wrong("the delimiter is also the quote or escape character.", "Change one of them.")
    return options


def _encoding(value: str) -> str:
    with suppress(LookupError):
        if found := _ENCODINGS.get(codecs.lookup(value).name):
            return found
    fix = "Use utf-8, iso-8859-1 or us-ascii; convert files in other encodings."
    raise _wrong(f"Spark does not read files in the encoding {value!r}.", fix)


def _wrong(cause: str, fix: str) -> CatalogError:
    return CatalogError("MS-CATALOG-FORMAT", cause, fix=fix)
