"""What a checkpoint depends on, derived from the fields of plan nodes.

Each field declares its role in its annotation (`millstream.field_roles`). The identity has:
`state`, which must be the same for a checkpoint to be resumed, and `output`, which is recorded
beside it. A field is encoded by its own value only: durations in microseconds, enums by value,
expressions by their canonical text. No wording of explain and no text of a library is part of it,
so only a change of the plan changes an identity.

The columns and filters above the last operator are output. Where results may be retracted they are
state: with others, rows would be retracted that the sink never received.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin, get_type_hints

from millstream.field_roles import Form, Only, Role
from millstream.plan import nodes
from millstream.plan.build.query_groups import engine_of
from millstream.plan.expressions import Expression
from millstream.plan.facts.branches import query_operators, query_sources
from millstream.plan.nodes import Operator, Pipeline, Query, Source
from millstream.plan.nodes.traversal import bottom_of, retracts
from millstream.plan.secrets import masked
from millstream.sql.normal_type import normal_type
from millstream.state_format import STATE_FORMAT

Document = dict[str, Any]
# what annotations of nodes name
ANNOTATION_NAMES = {**vars(nodes), "Expression": Expression}


class Declaration(NamedTuple):
    """A field with its role; None: the role of the field that holds the value."""

    name: str
    role: Role | None
    form: Form | None
    only: tuple[str, ...] | None

    @property
    def key(self) -> str:
        return f"{self.name}_us" if self.form is Form.DURATION else self.name


@cache
def declarations(kind: type) -> tuple[Declaration, ...]:
    """The fields of a node or value with what they declare."""
    hints = get_type_hints(kind, localns=ANNOTATION_NAMES, include_extras=True)
    return tuple(_declaration(each.name, hints[each.name]) for each in fields(kind))


def _declaration(name: str, hint: Any) -> Declaration:
    marks = tuple(_marks(hint))

    def first(kind: type) -> Any:
        return next((mark for mark in marks if isinstance(mark, kind)), None)

    only = first(Only)
    return Declaration(name, first(Role), first(Form), only.names if only else None)


def _marks(hint: Any) -> list[Any]:
    """The marks of an annotation, from the outside in."""
    own = list(hint.__metadata__) if get_origin(hint) is Annotated else []
    inner = get_args(hint)[:1] if own else get_args(hint)
    return own + [mark for each in inner for mark in _marks(each)]


def kind_name(kind: type) -> str:
    """The name of a kind of operator: WindowJoin is "window_join"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def query_identity(query: Query) -> Document:
    """What a query's checkpoint depends on, and what only its output depends on."""
    sources, operators = query_sources(query), query_operators(query)
    parts: dict[Role, Document] = {}
    for role in (Role.STATE, Role.OUTPUT):
        described = {source.name: describe(source, role) for source in sources}
        parts[role] = {
            "outputs": _outputs(query, role),
            "sources": {name: _without(each, "name") for name, each in described.items()},
            "operators": [_operator(each, role) for each in operators],
        }
    parts[Role.STATE]["engine"] = engine_of(query)[0].value
    return {"format": STATE_FORMAT, **{role.value: part for role, part in parts.items()}}


def _outputs(query: Query, role: Role) -> Document:
    """What `role` depends on of the outputs, by name."""
    found: Document = {}
    for name, output in zip(query.output_names, query.outputs, strict=True):
        document = _without(describe(output, role), "root")
        document["sink"] = _without(document.get("sink", {}), "name")
        if role is _role_of_result(output):
            document["result"] = describe(output.root, Role.STATE)
        found[name] = document
    return found


def _role_of_result(output: Pipeline) -> Role:
    """What depends on the columns and filters above the last operator."""
    return Role.STATE if retracts(output.root) else Role.OUTPUT


def operator_identities(query: Query) -> tuple[Document, ...]:
    """What the state of each operator depends on, by its number. The last operator of an output
    whose results may be retracted depends on the columns and filters above it."""
    operators = query_operators(query)
    found = [_operator(operator, Role.STATE) for operator in operators]
    for output in query.outputs:
        if retracts(output.root):
            result = describe(output.root, Role.STATE)
            document = found[operators.index(cast("Operator", bottom_of(output.root)))]
            document.setdefault("results", []).append(result)
    return tuple(found)


def _operator(operator: Operator, role: Role) -> Document:
    return {"operator": kind_name(type(operator)), **describe(operator, role)}


def _without(document: Document, name: str) -> Document:
    return {key: value for key, value in document.items() if key != name}


def describe(value: Any, role: Role) -> Document:
    """The fields of a node or value on which `role` depends."""
    found: Document = {}
    for each in declarations(cast("type", type(value))):
        held, own = getattr(value, each.name), each.role or Role.STATE
        if each.only is not None:
            held = {name: masked(name, text) for name, text in held if name in each.only}
        if own is Role.STATE and role is Role.OUTPUT:
            inner = encoded(held, role)
            if not _is_empty(inner):
                found[each.key] = inner
        elif own is role:
            # The whole value of an output-only field is output, also its fields declared as state.
            found[each.key] = encoded(held, Role.STATE, each.form)
            if own is Role.OUTPUT and not _is_empty(more := encoded(held, Role.OUTPUT)):
                found[each.key] = _merged(found[each.key], more)
    return found


def encoded(value: Any, role: Role, form: Form | None = None) -> Any:
    """Encodes a value for JSON; for the output only the parts declared output-only, None if there
    are none."""
    if isinstance(value, Source):
        return value.name if role is Role.STATE else None
    if isinstance(value, Operator):
        return {"operator": kind_name(type(value))} if role is Role.STATE else None
    if isinstance(value, Expression):
        return value.canonical() if role is Role.STATE else None
    if is_dataclass(value):
        return describe(value, role)
    if isinstance(value, tuple):
        items = [encoded(item, role, form) for item in value]
        return None if role is Role.OUTPUT and all(map(_is_empty, items)) else items
    if role is Role.OUTPUT:
        return None
    return _scalar(value, form)


def _scalar(value: Any, form: Form | None) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str) and form is Form.TYPE:
        return normal_type(value)
    if value is None or isinstance(value, bool | int | float | str | dict):
        return value
    raise TypeError(f"no identity of a {type(value).__name__}")


def _is_empty(value: Any) -> bool:
    return value is None or value in ({}, [])


def _merged(one: Any, other: Any) -> Any:
    return {**one, **other} if isinstance(one, dict) and isinstance(other, dict) else one
