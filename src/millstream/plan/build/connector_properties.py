"""Validates the properties of a CREATE statement against the declaration of its connector."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.errors import MillstreamError, PlanError, PropertyError
from millstream.plan.connectors import (
    ConnectorRegistry,
    ConnectorSpec,
    ConnectorStatement,
    Options,
    Role,
)
from millstream.sql.properties import PROPERTIES, PropertyOwner, check_properties, shortened
from millstream.sql.statements import CreateSink, CreateSource, CreateTable, Property

_DEFAULT = "memory"  # rows from tests or Python
_COLUMN_LISTS = ("key.columns", "partition.by")
_WHERE = {
    CreateSource: PropertyOwner.SOURCE,
    CreateTable: PropertyOwner.TABLE,
    CreateSink: PropertyOwner.SINK,
}


@dataclass(frozen=True, slots=True)
class ConnectorProperties:
    """A statement's connector, all its properties, the options passed to the connector, whether
    the rows of a source retract earlier rows, and the key by which they replace them."""

    spec: ConnectorSpec
    properties: dict[str, Property]
    options: tuple[tuple[str, str], ...]
    retracts: bool = False
    upsert_key: tuple[str, ...] = ()


def validate_properties(
    statement: CreateSource | CreateTable | CreateSink, role: Role, registry: ConnectorRegistry
) -> ConnectorProperties:
    """Validates a statement's properties; raises PropertyError or PlanError at the first invalid
    one."""
    where = _WHERE[type(statement)]
    given = {item.name: item for item in statement.properties}
    spec = _spec(given.get("connector"), role, registry)
    if spec.resolve is not None:
        alias = _declaration(statement, role, spec, given)
        _require(alias, spec)
        spec = registry[spec.resolve(alias)]
        if not spec.has_role(role):
            raise PlanError(
                "MS-PLAN-NOT-YET",
                f"the connector {spec.name} is not available for a {where}.",
                fix=_offered(where, role, registry),
                place=given["connector"].value_place,
            )
    own = spec.properties_of(role)
    properties = check_properties(
        where,
        statement.properties,
        {name: each.kind for name, each in own.items()},
        pass_through=spec.pass_through,
        explain=lambda name: _misplaced(name, statement, role, spec, registry),
    )
    declared = _declaration(statement, role, spec, properties)
    _reject_other_formats(declared, spec)
    _reject_duplicate_names(declared)
    _require(declared, spec)
    options = _options(declared, spec)
    retracts = spec.retracts is not None and spec.retracts(declared)
    key = spec.upsert_key(declared) if spec.upsert_key is not None else ()
    return ConnectorProperties(spec, properties, tuple(options.items()), retracts, key)


def _declaration(
    statement: CreateSource | CreateTable | CreateSink,
    role: Role,
    spec: ConnectorSpec,
    properties: dict[str, Property],
) -> ConnectorStatement:
    what = str(_WHERE[type(statement)])
    columns = () if isinstance(statement, CreateSink) else statement.columns
    return ConnectorStatement(
        role,
        what,
        statement.name,
        spec.name,
        properties,
        statement.place,
        tuple((column.name, column.type) for column in columns),
    )


def _options(declared: ConnectorStatement, spec: ConnectorSpec) -> Options:
    """Returns the properties passed to the connector; those of a table in the declared order."""
    common = PROPERTIES[PropertyOwner(declared.noun)]
    written = {name: item.value for name, item in declared.properties.items() if name not in common}
    if declared.role is Role.TABLE:
        first = {
            name: written[name] for name in spec.properties_of(declared.role) if name in written
        }
        written = {**first, **written}
    return spec.check(declared, written) if spec.check else written


def _spec(item: Property | None, role: Role, registry: ConnectorRegistry) -> ConnectorSpec:
    name = item.value.lower() if item else _DEFAULT
    found = registry.get(name)
    if found is not None and found.in_sql and found.has_role(role):
        return found
    assert item is not None
    raise _no_connector(item, role, registry)


def _offered(where: PropertyOwner, role: Role, registry: ConnectorRegistry) -> str:
    return f"A {where} supports {', '.join(registry.names(role))}."


def _no_connector(item: Property, role: Role, registry: ConnectorRegistry) -> MillstreamError:
    name, names = item.value.lower(), registry.names(role)
    broken = [each for each in registry.problems if f"connector {name} " in each]
    return PropertyError(
        "MS-PROP-VALUE",
        f"'connector' cannot be '{shortened(item.value)}'.",
        fix=f"{broken[0]}." if broken else f"Use one of {', '.join(names)}.",
        place=item.value_place,
    )


def _misplaced(
    name: str,
    statement: CreateSource | CreateTable | CreateSink,
    role: Role,
    spec: ConnectorSpec,
    registry: ConnectorRegistry,
) -> tuple[str, str, str] | None:
    """Returns code, cause and fix if a property belongs to another connector or role."""
    what = f"the {_WHERE[type(statement)]} {statement.name}"
    if spec.declares(name):
        roles = {str(each) for prop in spec.properties if prop.name == name for each in prop.roles}
        cause = (
            f"'{name}' of '{spec.name}' is for a {' or a '.join(sorted(roles))}, not for {what}."
        )
        return "MS-PROP-UNUSED", cause, "Remove it."
    owners = registry.owners(name)
    if not owners:
        return None
    owned = f"'{name}' belongs to the connector{'s' if len(owners) > 1 else ''} {_list(owners)}"
    chosen = any(item.name == "connector" for item in statement.properties)
    uses = f"uses '{spec.name}'" if chosen else "has no 'connector'"
    usable = registry.owners(name, role)
    fix = f"'connector' = '{usable[0]}'" if usable else ""
    if chosen:
        fix = f"Remove it, or set {fix}." if fix else "Remove it."
    else:
        fix = f"Add {fix}, or remove it." if fix else "Remove it."
    return "MS-PROP-UNUSED", f"{owned}, and {what} {uses}.", fix


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _reject_other_formats(declared: ConnectorStatement, spec: ConnectorSpec) -> None:
    own = spec.properties_of(declared.role)
    form = declared.value("format", (own["format"].default or "") if "format" in own else "")
    for name, item in declared.properties.items():
        formats = own[name].formats if name in own else ()
        if formats and form.lower() not in formats:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' applies to the format {' or '.join(formats)}, and the format of the "
                f"{declared.noun} {declared.name} is {form.lower()}.",
                fix=f"Remove it, or set 'format' = '{formats[0]}'.",
                place=item.place,
            )


def _reject_duplicate_names(declared: ConnectorStatement) -> None:
    """Rejects a list of columns that has a name twice."""
    for item in (declared.properties.get(name) for name in _COLUMN_LISTS):
        names = [name.strip().lower() for name in item.value.split(",")] if item else []
        twice = next((name for name in names if name and names.count(name) > 1), None)
        if item and twice:
            raise PropertyError(
                "MS-PROP-VALUE",
                f"'{item.name}' has the column {twice} twice.",
                fix="Remove one.",
                place=item.value_place,
            )


def _require(declared: ConnectorStatement, spec: ConnectorSpec) -> None:
    for each in spec.properties_of(declared.role).values():
        if each.required and each.name not in declared.properties:
            raise declared.missing_property_error(each.name, each.required)
