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
_NOT_IN_THIS_RELEASE = ("jdbc",)
_WHERE = {
    CreateSource: PropertyOwner.SOURCE,
    CreateTable: PropertyOwner.TABLE,
    CreateSink: PropertyOwner.SINK,
}


@dataclass(frozen=True, slots=True)
class ConnectorProperties:
    """A statement's connector, all its properties, the options passed to the connector, and whether
    the rows of a source retract earlier rows."""

    spec: ConnectorSpec
    properties: dict[str, Property]
    options: tuple[tuple[str, str], ...]
    retracts: bool = False


def validate_properties(
    statement: CreateSource | CreateTable | CreateSink, role: Role, registry: ConnectorRegistry
) -> ConnectorProperties:
    """Validates a statement's properties; raises PropertyError or PlanError at the first invalid
    one."""
    where = _WHERE[type(statement)]
    given = {item.name: item for item in statement.properties}
    spec = _spec(where, given.get("connector"), role, registry)
    if spec.resolve is not None:
        alias = _declaration(statement, role, spec, given)
        _require(alias, spec)
        spec = registry[spec.resolve(alias)]
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
    _require(declared, spec)
    options = _options(declared, spec)
    retracts = spec.retracts is not None and spec.retracts(declared)
    return ConnectorProperties(spec, properties, tuple(options.items()), retracts)


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


def _spec(
    where: PropertyOwner, item: Property | None, role: Role, registry: ConnectorRegistry
) -> ConnectorSpec:
    name = item.value.lower() if item else _DEFAULT
    found = registry.get(name)
    if found is not None and found.in_sql and found.has_role(role):
        return found
    assert item is not None
    raise _no_connector(where, item, role, registry)


def _no_connector(
    where: PropertyOwner, item: Property, role: Role, registry: ConnectorRegistry
) -> MillstreamError:
    name, names = item.value.lower(), registry.names(role)
    offered = f"A {where} supports {', '.join(names)}."
    if name in _NOT_IN_THIS_RELEASE:
        cause = f"the connector {name} is not available for a {where}."
        return PlanError("MS-PLAN-NOT-YET", cause, fix=offered, place=item.value_place)
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


def _require(declared: ConnectorStatement, spec: ConnectorSpec) -> None:
    for each in spec.properties_of(declared.role).values():
        if each.required and each.name not in declared.properties:
            raise declared.missing_property_error(each.name, each.required)
