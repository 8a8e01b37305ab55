"""A join of results by the key that they were joined by runs in their host, with no exchange."""

from __future__ import annotations

from millstream.kernels.base import HASH, TIME
from millstream.plan.facts.exchange import SharedExchange, column_of, compares_of
from millstream.plan.nodes import IntervalJoin, TemporalJoin
from millstream.spark.joins.sides import CARRIED, Sides


def renamed(
    join: IntervalJoin | TemporalJoin, shared: SharedExchange, sides: Sides, below: Sides
) -> tuple[tuple[str, str], ...]:
    """The columns that the join's packets would have, to those of the results that it reads."""
    number = shared.number
    side = (sides.left, sides.right)[number]
    given = (join.left, join.right)[number]
    held = tuple(
        {field.name: field.wire for field in each.fields} for each in (below.left, below.right)
    )

    def at(name: str | None) -> str:
        assert name is not None
        of, column = shared.columns[name]
        return held[of][column]

    def at_text(texts: tuple[str, str]) -> str:
        return at(column_of(texts[number], given.alias))

    letter = "lr"[number]
    found = [(TIME, at(given.time)), *((field.wire, at(field.name)) for field in side.fields)]
    keys = zip(side.keys, join.keys, strict=True)
    found += [
        (name, at_text((key.left, key.right))) for name, key in keys if name[:2] == f"{letter}k"
    ]
    if isinstance(join, IntervalJoin) and not join.only_spark:
        found += [
            (f"{letter}x{place}", at_text((compare.left, compare.right)))
            for place, compare in enumerate(compares_of(join.across))
        ]
    hashed = below.left.hash_from or CARRIED
    if side.hash_from is None:
        found.append((HASH, hashed))
    if CARRIED in side.ready.schema.names:
        found.append((CARRIED, hashed))
    return tuple(found)
