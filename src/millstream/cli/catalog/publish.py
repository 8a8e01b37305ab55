"""`millstream catalog publish`: a new version of a dataset."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from millstream.cli.catalog.context import DatasetName, data_of, dataset_key, open_catalog
from millstream.cli.errors import CommandError, print_json
from millstream.cli.formats import count, size
from millstream.cli.options import AsJson, CatalogUrl

if TYPE_CHECKING:
    from millstream.catalog.model import DatasetVersion


def publish(
    dataset: DatasetName,
    location: Annotated[
        str,
        typer.Argument(
            metavar="PATH",
            help="A file or folder of Parquet, CSV or JSON files, or a database: jdbc:….",
        ),
    ],
    format: Annotated[  # noqa: A002 -- the name of the option
        str | None,
        typer.Option(help="parquet, csv, json or jdbc; by default as the files are named."),
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            help="An option of the format: header, delimiter, quote, escape, encoding, multiline; "
            "table of a database. May be given several times.",
        ),
    ] = None,
    note: Annotated[str, typer.Option(help="A text that is stored with the version.")] = "",
    catalog: CatalogUrl = None,
    as_json: AsJson = False,
) -> None:
    """Publish files as a new, immutable version of a dataset.

    The files stay where they are; their hashes, columns and number of rows are recorded. Every
    record of a CSV or JSON file is validated.
    """
    with open_catalog(catalog, as_json) as found:
        key = dataset_key(dataset)
        before = found.versions(key)
        version = found.publish(key, location, format=format, options=_options(options), note=note)
        same_place = [each.number for each in before if each.location == version.location]
        if same_place and version.file_count:
            numbers = ", ".join(map(str, same_place))
            print(
                f"Warning: version {numbers} has the same location, and its files are no longer "
                "as published. Publish each version from a location of its own.",
                file=sys.stderr,
            )
        if as_json:
            print_json(data_of(version))
        else:
            _print(found.dataset(key).name, version)


def _print(name: str, version: DatasetVersion) -> None:
    print(f"Published {name} version {version.number}: {version.format.value}, {version.location}")
    if version.reproducible:
        rows, files = count(version.row_count or 0, "row"), count(version.file_count, "file")
        print(f"{rows}, {files}, {size(version.total_bytes)}, {version.content_hash}")
    else:
        print("It is a table of a database: its rows may change, so it is not reproducible.")


def _options(given: list[str] | None) -> dict[str, str]:
    options = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not name or not equals:
            raise CommandError(
                "MS-CLI-VALUE",
                f"--option {item} has no name or no value.",
                fix="Write --option NAME=VALUE, such as --option 'delimiter=;'.",
            )
        options[name.strip()] = {"\\t": "\t"}.get(value, value)
    return options
