"""The SQL of joins: keys, types, and the names of the result's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millstream.api.sql_clauses import column_names
from millstream.errors import PlanError
from millstream.plan.resolve.names import quote
from millstream.values import JoinType

LEFT, RIGHT = "left", "right"  # the names of the sides in the text
On = str | Sequence[str] | Mapping[str, str]


def join_text(
    sides: tuple[str, str],
    columns: tuple[Sequence[str], Sequence[str]],
    on: On | None,
    how: JoinType,
    suffix: str,
    tail: str = "",
) -> str:
    """Returns the SQL of a join; `sides` are the members of FROM, `tail` follows the keys. Without
    `on`, it is a cross join."""
    pairs = [] if on is None else key_pairs(on)
    shown = _select_list(how, *columns, pairs, suffix)
    if not pairs:
        return f"SELECT {shown} FROM {sides[0]} CROSS JOIN {sides[1]}{tail}"
    kind = {JoinType.SEMI: "LEFT SEMI", JoinType.ANTI: "LEFT ANTI"}.get(how, how.upper())
    keys = " AND ".join(f"{_left(mine)} = {_right(theirs)}" for mine, theirs in pairs)
    return f"SELECT {shown} FROM {sides[0]} {kind} JOIN {sides[1]} ON {keys}{tail}"


def key_pairs(on: On) -> list[tuple[str, str]]:
    if isinstance(on, Mapping):
        pairs = [(mine, column_names(theirs, "on")[0]) for mine, theirs in on.items()]
    else:
        pairs = [(name, name) for name in column_names(on, "on")]
    if not pairs:
        raise PlanError(
            "MS-PLAN-NO-KEY", "a join needs a key.", fix="Give the key's columns as `on`."
        )
    return pairs


def join_type(how: str) -> JoinType:
    name = how.lower().removeprefix("left_").removesuffix("outer").rstrip("_")
    try:
        return JoinType(name)
    except ValueError:
        raise PlanError(
            "MS-PLAN-JOIN-TYPE",
            f"{how!r} is not a type of join.",
            fix=f"Use one of {', '.join(JoinType)}.",
        ) from None


def _select_list(
    how: JoinType,
    left: Sequence[str],
    right: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    suffix: str,
) -> str:
    """The left columns, then the right ones: a shared key once, a repeated name with the suffix."""
    same = {mine.lower() for mine, theirs in pairs if mine == theirs}
    listed = []
    for name in left:
        merged = name.lower() in same and how.preserves_right
        text = f"coalesce({_left(name)}, {_right(name)})" if merged else _left(name)
        listed.append(f"{text} AS {quote(name)}")
    if how.left_only:
        return ", ".join(listed)
    taken = {name.lower() for name in left}
    for name in right:
        if name.lower() in same:
            continue
        shown = name
        while shown.lower() in taken and suffix:
            shown += suffix
        taken.add(shown.lower())
        listed.append(f"{_right(name)} AS {quote(shown)}")
    return ", ".join(listed)


def _left(name: str) -> str:
    return f"`left`.{quote(name)}"


def _right(name: str) -> str:
    return f"`right`.{quote(name)}"
