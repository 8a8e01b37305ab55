"""Resolves datasets of a catalog in a job.

`JOIN CATALOG.fx FOR VERSION AS OF 3` joins a version as a broadcast table. A CREATE TABLE with
'catalog.dataset' reads its rows from a version, so that it can declare a key and a watermark.
Planning calls a resolver function, which returns the columns and properties of a dataset.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp

from millstream.errors import MillstreamError, Place, PlanError, PropertyError
from millstream.plan.reject import place_of
from millstream.sql.statements import ColumnDef, CreateTable, Property, Query
from millstream.suggestions import same

NAMESPACE = "CATALOG"
_DATASET, _VERSION = "catalog.dataset", "catalog.version"
_REPLACED = ("connector", "path", "format", "url", "table")


@dataclass(frozen=True, slots=True)
class DatasetTable:
    """A version of a dataset as a table: columns (name, type) and properties."""

    columns: tuple[tuple[str, str], ...]
    properties: tuple[tuple[str, str], ...]


class DatasetResolver(Protocol):
    """Returns a version of a dataset, by default the version that the job has chosen.

    `table` is the name of the dataset's table in the job: that of CREATE TABLE, `CATALOG.x`, or
    `CATALOG.x.v3` for a version that the query names.
    """

    def __call__(self, name: str, version: int | None, table: str) -> DatasetTable: ...


def declare_datasets(
    query: Query, resolver: DatasetResolver | None, declare: Callable[[CreateTable], None]
) -> None:
    """Declares each `CATALOG.x` of a query as a table, and rewrites the query to read it."""
    for item in list(_catalog_tables(query.tree)):
        place = place_of(item, query.text) or query.place
        version = _version_of(item, place)
        name = f"{NAMESPACE}.{item.name}" + (f".v{version}" if version is not None else "")
        found = _resolve(resolver, item.name, version, name, place)
        columns = tuple(ColumnDef(*column, place) for column in found.columns)
        properties = tuple(Property(*each, place, place) for each in found.properties)
        declare(CreateTable(name, columns, None, (), properties, place))
        if not item.alias:
            item.set("alias", exp.TableAlias(this=exp.to_identifier(item.name)))
        identifier = exp.to_identifier(name, quoted=True)
        identifier.meta.update(item.this.meta)
        item.set("this", identifier)
        item.set("db", None)
        item.set("version", None)


def reads_dataset(statement: CreateTable) -> bool:
    """Tests whether CREATE TABLE reads its rows from a dataset."""
    return any(item.name == _DATASET for item in statement.properties)


def resolve_dataset(statement: CreateTable, resolver: DatasetResolver | None) -> CreateTable:
    """Returns CREATE TABLE with the properties of its dataset in place of 'catalog.dataset'."""
    given = {item.name: item for item in statement.properties}
    item = given.get(_DATASET)
    if item is None:
        return statement
    for name in _REPLACED:
        if name in given:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' and 'catalog.dataset' both define the rows of {statement.name}.",
                fix="Remove one of them.",
                place=given[name].place,
            )
    version = _number(given[_VERSION]) if _VERSION in given else None
    found = _resolve(resolver, item.value, version, statement.name, item.value_place)
    other_properties = [
        each for each in statement.properties if each.name not in (_DATASET, _VERSION)
    ]
    added = (Property(*each, item.place, item.value_place) for each in found.properties)
    return replace(statement, properties=(*other_properties, *added))


def _catalog_tables(tree: exp.Expr) -> Iterator[exp.Table]:
    for item in tree.find_all(exp.Table):
        if same(item.db, NAMESPACE) and not item.catalog:
            yield item


def _version_of(item: exp.Table, place: Place) -> int | None:
    version = item.args.get("version")
    if version is None:
        return None
    number = version.expression
    is_number = isinstance(number, exp.Literal) and not number.is_string and number.name.isdigit()
    if not same(str(version.this), "VERSION") or not is_number:
        raise PlanError(
            "MS-PLAN-CATALOG",
            f"{NAMESPACE}.{item.name} can be joined by version number only, not by time.",
            fix=f"Write {NAMESPACE}.{item.name} FOR VERSION AS OF 3. For the version valid at a "
            "row's time, declare CREATE TABLE with 'catalog.dataset', WATERMARK and PRIMARY KEY.",
            place=place,
        )
    return int(number.name)


def _number(item: Property) -> int:
    if not item.value.isdigit() or int(item.value) < 1:
        raise PropertyError(
            "MS-PROP-VALUE",
            f"'{item.name}' is '{item.value}'.",
            fix="Write the number of a version, such as 3.",
            place=item.value_place,
        )
    return int(item.value)


def _resolve(
    resolver: DatasetResolver | None, name: str, version: int | None, table: str, place: Place
) -> DatasetTable:
    if resolver is None:
        raise PlanError(
            "MS-PLAN-CATALOG",
            f"{NAMESPACE}.{name} is a dataset of a catalog, and the job has no catalog.",
            fix="Run the job with --catalog, or set MILLSTREAM_CATALOG.",
            place=place,
        )
    try:
        return resolver(name, version, table)
    except MillstreamError as error:
        raise error.at(place) from None
