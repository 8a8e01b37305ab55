"""Derives the identity of a query: what its checkpoint depends on.

Each field declares its role in its annotation (`millstream.field_roles`). The identity has:
`state`, which must be the same for a checkpoint to be resumed, and `output`, which is recorded
beside it. A field is encoded by its own value only: durations in microseconds, enums by value,
expressions by their canonical text. Texts of explain and of libraries are not part of it, so only a
change of the plan changes an identity.

The columns and filters above the last operator are output, and so is the location of a sink. If
results can be retracted, these are state: after a change, the job would retract rows that the sink
never received. Columns of a source that no operator reads are output, and so is a watermark delay,
since watermarks never decrease. Operators of the native engine depend on unread columns and on
watermark delays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, NamedTuple, cast, get_args, get_origin, get_type_hints

from millstream.field_roles import OptionNames, Presence, Role, ValueForm
from millstream.plan import nodes
from millstream.plan.build.query_groups import choose_query_engine
from millstream.plan.expressions import Expression
from millstream.plan.facts.output_groups import query_operators, query_sources
from millstream.plan.facts.side_outputs import side_sinks
from millstream.plan.facts.used_columns import used_columns
from millstream.plan.nodes import Engine, Operator, Pipeline, Query, SinkDef, Source
from millstream.plan.nodes.traversal import can_retract, upstream_of
from millstream.plan.secrets import mask_secret
from millstream.sql.normal_type import normal_type
from millstream.state_format import STATE_FORMAT

Document = dict[str, Any]
# what annotations of nodes name
ANNOTATION_NAMES = {**vars(nodes), "Expression": Expression}


class FieldDeclaration(NamedTuple):
    """A field with its role; None: the role of the field that holds the value."""

    name: str
    role: Role | None
    form: ValueForm | None
    only: tuple[str, ...] | None
    if_set: bool = False  # omitted if it is None

    @property
    def key(self) -> str:
        return f"{self.name}_us" if self.form is ValueForm.DURATION else self.name


@cache
def field_declarations(kind: type) -> tuple[FieldDeclaration, ...]:
    """Returns the fields of a node or value with their roles."""
    hints = get_type_hints(kind, localns=ANNOTATION_NAMES, include_extras=True)
    return tuple(_declaration(each.name, hints[each.name]) for each in fields(kind))


def _declaration(name: str, hint: Any) -> FieldDeclaration:
    marks = tuple(_marks(hint))

    def first(kind: type) -> Any:
        return next((mark for mark in marks if isinstance(mark, kind)), None)

    only = first(OptionNames)
    names = only.names if only else None
    if_set = first(Presence) is Presence.IF_SET
    return FieldDeclaration(name, first(Role), first(ValueForm), names, if_set)


def _marks(hint: Any) -> list[Any]:
    """Returns the marks of an annotation, outermost first."""
    own = list(hint.__metadata__) if get_origin(hint) is Annotated else []
    inner = get_args(hint)[:1] if own else get_args(hint)
    return own + [mark for each in inner for mark in _marks(each)]


def kind_name(kind: type) -> str:
    """Returns the name of a kind of operator: WindowJoin is "window_join"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def query_identity(query: Query, sinks: Sequence[SinkDef] = ()) -> Document:
    """Returns what a query's checkpoint depends on, and what only its output depends on.

    `sinks` are those that side outputs of the query may name.
    """
    sources, operators = query_sources(query), query_operators(query)
    engine = choose_query_engine(query)[0]
    is_native = engine is Engine.NATIVE and bool(operators)
    parts: dict[Role, Document] = {}
    for role in (Role.STATE, Role.OUTPUT):
        parts[role] = {
            "outputs": _describe_outputs(query, role),
            "sources": {
                source.name: _describe_source(source, role, operators, is_native=is_native)
                for source in sources
            },
            "operators": [_describe_operator(each, role) for each in operators],
        }
    parts[Role.STATE]["engine"] = engine.value
    if is_native:
        delays = {f"{each.name}_us": each.watermark.delay for each in sources if each.watermark}
        parts[Role.STATE]["watermark delay"] = delays
    if found := _describe_side_sinks(query, sinks):
        parts[Role.OUTPUT]["side_sinks"] = found
    return {"format": STATE_FORMAT, **{role.value: part for role, part in parts.items()}}


def _describe_source(
    source: Source, role: Role, operators: Sequence[Operator], *, is_native: bool
) -> Document:
    """Returns what `role` depends on: state on the columns that operators read, output on all
    others."""
    document = _without(describe_fields(source, role), "name")
    read = {name for each in operators for name in used_columns(each, source)}
    is_state = {each.name: is_native or each.name in read for each in source.columns}
    columns = [each for each in source.columns if is_state[each.name] is (role is Role.STATE)]
    return {**document, "columns": encode(tuple(columns), Role.STATE)}


def _describe_outputs(query: Query, role: Role) -> Document:
    """Returns the parts of the outputs that `role` depends on, by name."""
    found: Document = {}
    for name, output in zip(query.output_names, query.outputs, strict=True):
        document = _without(describe_fields(output, role), "root")
        document = _without(document, "sink")
        if not output.errors.diverts:
            document = _without(document, "errors")
        sink = _describe_sink(output.sink)
        if role is _role_of_result(output):
            format_ = {key: sink.format[key] for key in ("format",) if key in sink.format}
            document["sink"] = {**sink.location, **format_}
            document["result"] = describe_fields(output.root, Role.STATE)
        if role is Role.OUTPUT:
            document["sink"] = {**document.get("sink", {}), **sink.format}
        found[name] = document
    return found


class _SinkDocument(NamedTuple):
    """Where a sink writes, and how."""

    location: Document
    format: Document


_LOCATION = ("path", "partition.by", "table", "topic")


def _describe_sink(sink: SinkDef) -> _SinkDocument:
    document = describe_fields(sink, Role.STATE)
    options = document["options"]
    location = {name: value for name, value in options.items() if name in _LOCATION}
    return _SinkDocument(
        {"connector": document["connector"], **location},
        {name: value for name, value in options.items() if name not in _LOCATION},
    )


def _describe_side_sinks(query: Query, sinks: Sequence[SinkDef]) -> Document:
    """Returns the locations of the sinks of late rows and dead letters, by kind and name."""
    known = {sink.name: sink for sink in sinks}
    found: Document = {}
    for each in side_sinks(query):
        if each.sink in known:
            of_kind = found.setdefault(each.rows.value, {})
            of_kind[each.sink] = _describe_sink(known[each.sink]).location
    return found


def moved_sinks(old: Document, new: Document) -> tuple[str, ...]:
    """Returns the names of sinks that write to another place than before. Both documents are those
    of the output."""
    before, after = _locations(old), _locations(new)
    for name in _new_error_sinks(old, new) - before.keys():
        after.pop(name, None)
    # A sink that is no longer used may have rows of a batch that is not complete.
    return tuple(name for name in {**before, **after} if before.get(name) != after.get(name))


def _new_error_sinks(old: Document, new: Document) -> set[str]:
    """Returns the sinks of rows for which an expression fails, if such rows stopped the query
    before: no batch can have written them to another place."""
    before, after = (list(each["outputs"].values()) for each in (old, new))
    if any("errors" in each for each in before):
        return set()
    found = {each["errors"]["sink"] for each in after if "errors" in each}
    # Malformed records may have gone to another place.
    return found - {each.get("dead_letter") for each in new["sources"].values()} - {None}


def _locations(output: Document) -> dict[str, Document]:
    named = [(name, each.get("sink", {})) for name, each in output["outputs"].items()]
    for of_kind in output.get("side_sinks", {}).values():
        named += of_kind.items()
    places = ("connector", *_LOCATION)
    return {name: {key: sink[key] for key in places if key in sink} for name, sink in named}


def _role_of_result(output: Pipeline) -> Role:
    """Returns the role of the columns and filters above the last operator."""
    return Role.STATE if can_retract(output.root) else Role.OUTPUT


def operator_identities(query: Query) -> tuple[Document, ...]:
    """Returns what the state of each operator depends on, by its number.

    If results can be retracted, the last operator of an output also depends on the columns and
    filters above it.
    """
    operators = query_operators(query)
    found = [_describe_operator(operator, Role.STATE) for operator in operators]
    for output in query.outputs:
        upstream = upstream_of(output.root)
        if upstream.retracts and isinstance(upstream, Operator):
            result = describe_fields(output.root, Role.STATE)
            document = found[operators.index(upstream)]
            document.setdefault("results", []).append(result)
    return tuple(found)


def _describe_operator(operator: Operator, role: Role) -> Document:
    return {"operator": kind_name(type(operator)), **describe_fields(operator, role)}


def _without(document: Document, name: str) -> Document:
    return {key: value for key, value in document.items() if key != name}


def describe_fields(value: Any, role: Role) -> Document:
    """Returns the fields of a node or value on which `role` depends."""
    found: Document = {}
    for each in field_declarations(cast("type", type(value))):
        field_value, own = getattr(value, each.name), each.role or Role.STATE
        if each.if_set and field_value is None:
            continue
        if each.only is not None:
            field_value = {
                name: mask_secret(name, text) for name, text in field_value if name in each.only
            }
        if own is Role.STATE and role is Role.OUTPUT:
            inner = encode(field_value, role)
            if not _is_empty(inner):
                found[each.key] = inner
        elif own is role:
            # The whole value of an output-only field is output, also its fields declared as state.
            found[each.key] = encode(field_value, Role.STATE, each.form)
            if own is Role.OUTPUT and not _is_empty(more := encode(field_value, Role.OUTPUT)):
                found[each.key] = _merge(found[each.key], more)
    return found


def encode(value: Any, role: Role, form: ValueForm | None = None) -> Any:
    """Encodes a value for JSON.

    For the role output, only the parts declared output-only; None if there are none.
    """
    if isinstance(value, Source):
        return value.name if role is Role.STATE else None
    if isinstance(value, Operator):
        return {"operator": kind_name(type(value))} if role is Role.STATE else None
    if isinstance(value, Expression):
        return value.canonical() if role is Role.STATE else None
    if is_dataclass(value):
        return describe_fields(value, role)
    if isinstance(value, tuple):
        items = [encode(item, role, form) for item in value]
        return None if role is Role.OUTPUT and all(map(_is_empty, items)) else items
    if role is Role.OUTPUT:
        return None
    return _encode_scalar(value, form)


def _encode_scalar(value: Any, form: ValueForm | None) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str) and form is ValueForm.TYPE:
        return normal_type(value)
    if value is None or isinstance(value, bool | int | float | str | dict):
        return value
    raise TypeError(f"no identity of a {type(value).__name__}")


def _is_empty(value: Any) -> bool:
    return value is None or value in ({}, [])


def _merge(one: Any, other: Any) -> Any:
    return {**one, **other} if isinstance(one, dict) and isinstance(other, dict) else one
