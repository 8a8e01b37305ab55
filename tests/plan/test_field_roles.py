"""Every field of every plan node declares what depends on it, and the identity follows."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from millstream.errors import Place
from millstream.field_roles import Role
from millstream.plan import nodes
from millstream.plan.expressions import Expression, column, template
from millstream.plan.identity import ANNOTATION_NAMES, describe_fields, field_declarations
from millstream.plan.nodes import Column, Input, Node, Operator, Select, SinkDef, Source, TableJoin
from millstream.scalars import (
    Arithmetic,
    Case,
    Cast,
    Compare,
    Constant,
    IsNull,
    Like,
    Logic,
    Negation,
    Operand,
    OperandT,
)
from millstream.sql.text import SourceText
from millstream.state_format import describe_changes

KINDS = [
    kind
    for name, kind in sorted(vars(nodes).items())
    if isinstance(kind, type) and is_dataclass(kind)
]
NAMES = st.text("abcxyz", min_size=1, max_size=8)


@cache
def hints_of(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, localns=ANNOTATION_NAMES)


def _own(hint: Any) -> Any:
    """A generic type and its operand as a plan has them: over expressions."""
    if hint is OperandT:
        return Expression
    return get_origin(hint) if is_dataclass(get_origin(hint)) else hint


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type, small ones."""
    hint = _own(hint)
    arguments, origin = get_args(hint), get_origin(hint)
    if hint is Node or hint == Source | Select:
        found: st.SearchStrategy[Any] = st.builds(Source, NAMES, st.just((Column("a", "int"),)))
    elif origin in (Union, types.UnionType):
        found = st.one_of(*map(values, arguments))
    elif origin is tuple and arguments[-1] is Ellipsis:
        items = st.lists(values(arguments[0]), min_size=1, max_size=2, unique_by=_name)
        found = items.map(tuple)
    elif origin is tuple:
        found = st.tuples(*map(values, arguments))
    elif is_dataclass(hint) and hint not in EXAMPLES:
        found = _instances(hint)  # type: ignore[arg-type]
    else:
        found = st.sampled_from(examples(hint))
    return found


def examples(hint: Any) -> list[Any]:
    """Two values of a type or more, the same ones at every call."""
    hint = _own(hint)
    arguments, origin = get_args(hint), get_origin(hint)
    if hint is Node or hint == Source | Select:
        found: list[Any] = [Source(name, (Column("a", "int"),)) for name in ("one", "two")]
    elif origin in (Union, types.UnionType):
        found = [each for argument in arguments for each in examples(argument)]
    elif origin is Literal:
        found = list(arguments)
    elif origin is tuple and arguments[-1] is Ellipsis:
        found = [(each,) for each in examples(arguments[0])]
    elif origin is tuple:
        found = list(zip(*map(examples, arguments), strict=False))
    elif hint in EXAMPLES:
        found = EXAMPLES[hint]
    elif issubclass(hint, Enum):
        found = list(hint)
    else:
        columns = {name: examples(each) for name, each in hints_of(hint).items()}
        found = [hint(**{name: each[at] for name, each in columns.items()}) for at in (0, -1)]
    return found


EXPRESSIONS = [column("l", "a"), column("r", "b"), template("{} + 1", column("l", "a"))]
EXAMPLES: dict[Any, list[Any]] = {
    types.NoneType: [None],
    bool: [False, True],
    int: [1, 60_000_000, 7],
    float: [0.5, 0.25],
    str: ["abc", "xyz", "q"],
    Place: [Place(1, 2), Place(3, 4)],
    Expression: EXPRESSIONS,
    Logic: [
        Logic("not", (Compare(EXPRESSIONS[0], "=", EXPRESSIONS[1]),)),
        Logic("or", (Compare(EXPRESSIONS[0], "<", EXPRESSIONS[1]),)),
    ],
    **{
        kind: [Compare(EXPRESSIONS[0], op, EXPRESSIONS[1]) for op in ("=", "<")]
        for kind in (Operand, Constant, Arithmetic, Negation, Cast, Case, Compare, IsNull, Like)
    },
    SourceText: [SourceText("a", "a"), SourceText("b", "b")],
}


@cache
def _instances(kind: type) -> st.SearchStrategy[Any]:
    return st.deferred(
        lambda: st.builds(kind, **{name: values(hint) for name, hint in hints_of(kind).items()})
    )


def _name(item: Any) -> Any:
    return getattr(item, "name", item)


def leaves(value: Any, hint: Any) -> Iterator[tuple[tuple[Any, ...], Any, Role]]:
    """Paths to all values that are no nodes, their types, and what depends on them."""
    is_leaf = isinstance(value, Source | Operator) or type(value) in EXAMPLES
    if is_leaf or not is_dataclass(value):
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            for path, inner, role in leaves(value[0], type(value[0])):
                yield (0, *path), inner, role
        else:
            yield (), hint, Role.STATE
        return
    yield from leaves_of_fields(value)


def leaves_of_fields(value: Any) -> Iterator[tuple[tuple[Any, ...], Any, Role]]:
    kind: type = type(value)
    for each in field_declarations(kind):
        if each.only is not None:
            continue
        hint = hints_of(kind)[each.name]
        for path, inner, role in leaves(getattr(value, each.name), hint):
            yield (each.name, *path), inner, _weaker(each.role or Role.STATE, role)


def _weaker(one: Role, other: Role) -> Role:
    order = (Role.STATE, Role.OUTPUT, Role.NEITHER)
    return max(one, other, key=order.index)


def read(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step] if isinstance(step, int) else getattr(value, step)
    return value


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    step, *rest = path
    if isinstance(step, int):
        return (changed(value[step], tuple(rest), new), *value[step + 1 :])
    return replace(value, **{step: changed(getattr(value, step), tuple(rest), new)})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_declares_what_depends_on_it(kind: type) -> None:
    assert [each.name for each in field_declarations(kind) if each.role is None] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_identity_changes_exactly_as_each_field_declares(kind: type, data: Any) -> None:
    value = data.draw(_instances(kind))
    state, output = describe_fields(value, Role.STATE), describe_fields(value, Role.OUTPUT)
    for path, hint, role in list(leaves_of_fields(value)):
        current = read(value, path)
        other = next(each for each in examples(hint) if _differs(each, current))
        after = changed(value, path, other)
        changed_fields = describe_changes(state, describe_fields(after, Role.STATE))
        assert bool(changed_fields) is (role is Role.STATE), (path, changed_fields)
        if role is not Role.STATE:
            differs = describe_fields(after, Role.OUTPUT) != output
            assert differs is (role is Role.OUTPUT), path


def _differs(new: Any, old: Any) -> bool:
    if isinstance(new, Source):
        return bool(new.name != old.name)
    if isinstance(new, Expression):
        return bool(new != old)
    if is_dataclass(new) and is_dataclass(old) and type(new) is type(old):
        return describe_fields(new, Role.STATE) != describe_fields(old, Role.STATE)
    return bool(new != old)


def test_of_a_sinks_options_only_where_and_how_it_writes_is_state() -> None:
    def state(**options: str) -> dict[str, Any]:
        return describe_fields(SinkDef("out", "file", tuple(options.items())), Role.STATE)

    assert state(path="a", format="csv", rows="9") == state(path="a", format="csv")
    assert state(path="a") != state(path="b")
    assert state(format="csv") != state(format="json")


def test_kinds_of_nodes_are_found() -> None:
    assert {Input, Select, Source, TableJoin, SinkDef, *get_args(Operator)} <= set(KINDS)
    assert all(fields(kind) for kind in KINDS)
