"""What joins have in common in Python: keys, types, and the names of the result's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from millstream.errors import PlanError
from millstream.plan.expressions import column, template
from millstream.plan.names.names import quote
from millstream.plan.nodes import Output
from millstream.values import JoinType

LEFT, RIGHT = "left", "right"  # what the sides go by in texts


def join_text(
    left: str,
    right: str,
    pairs: Sequence[tuple[str, str]],
    outputs: Sequence[Output],
    how: JoinType,
    tail: str = "",
) -> str:
    """The SQL of a join; `left` and `right` are what stands for the sides in FROM."""
    listed = ", ".join(f"{output.expression} AS {quote(output.name)}" for output in outputs)
    kind = {JoinType.SEMI: "LEFT SEMI", JoinType.ANTI: "LEFT ANTI"}.get(how, how.upper())
    on = " AND ".join(f"`left`.{quote(mine)} = `right`.{quote(theirs)}" for mine, theirs in pairs)
    return f"SELECT {listed} FROM {left} {kind} JOIN {right} ON {on} {tail}".rstrip()


def pairs_of(on: str | Sequence[str] | Mapping[str, str]) -> list[tuple[str, str]]:
    if isinstance(on, str):
        return [(on, on)]
    pairs = list(on.items()) if isinstance(on, Mapping) else [(name, name) for name in on]
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
            f"{how!r} is no type of join.",
            fix=f"Use one of {', '.join(JoinType)}.",
        ) from None


def outputs_of_join(
    how: JoinType,
    left: Sequence[str],
    right: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    suffix: str,
) -> tuple[Output, ...]:
    """Own columns, then the other's: a shared key once, a clashing name with the suffix."""
    same = [mine for mine, theirs in pairs if mine == theirs]
    outputs = []
    for name in left:
        merged = name in same and how.keeps_right
        own = column(LEFT, name)
        both = template("coalesce({}, {})", own, column(RIGHT, name))
        outputs.append(Output(both if merged else own, name))
    if how.left_only:
        return tuple(outputs)
    taken = {output.name for output in outputs}
    for name in right:
        if name not in same:
            shown = name + suffix if name in taken else name
            outputs.append(Output(column(RIGHT, name), shown))
            taken.add(shown)
    return tuple(outputs)
