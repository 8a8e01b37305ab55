"""Joins of streams as blocks of `explain`."""

from __future__ import annotations

from millstream.plan.explain.blocks import Block, labelled
from millstream.plan.explain.words import clock_text, late_text, limit_text, used_text
from millstream.plan.facts.joins import JoinFacts, SideFacts, join_key, salted, stream_name
from millstream.plan.facts.pairs import PairFacts
from millstream.plan.facts.temporal import TemporalFacts
from millstream.plan.nodes import BoundedJoin, Input, Join, RegularJoin, SessionJoin, WindowJoin
from millstream.temporal import format_span


def bounded_block(facts: JoinFacts, children: tuple[Block, ...]) -> Block:
    join, left, right = facts.join, facts.left, facts.right
    difference = f"{right.alias}.{right.time} - {left.alias}.{left.time}"
    told = [
        ("key", join_key(join)),
        ("strategy", str(facts.strategy)),
        *salted(join),
        *_windows(join),
        ("bound", f"{difference} in {join.bounds}"),
        ("watermark", _lesser(join)),
        *facts.predicates,
        *labelled("held", facts.held),
        ("state", facts.state),
        ("columns", f"held of {left.name}: {used_text(join.left)}"),
        ("", f"held of {right.name}: {used_text(join.right)}"),
    ]
    if join.retention is not None:
        told.append(("retention", format_span(join.retention)))
    told += [("late", late_text(join.late)), ("limit", limit_text(join.limit))]
    told += labelled("comes out", facts.comes_out)
    kind = "Window" if isinstance(join, WindowJoin) else "Interval"
    title = f"{kind} join, {join.how}: {_side_of(left)}, {_side_of(right)}"
    return Block(title, tuple(told), children)


def _side_of(side: SideFacts) -> str:
    return side.name if side.name == side.alias else f"{side.name} {side.alias}"


def _windows(join: BoundedJoin) -> list[tuple[str, str]]:
    if not isinstance(join, WindowJoin):
        return []
    one, other = join.windows
    text = f"the same of both: {one}"
    if one != other:
        text = f"{one} and {other}: a pair once if any of its windows overlap"
    lateness = [("lateness", format_span(join.lateness))] if join.lateness else []
    return [("window", text), *lateness]


def temporal_block(facts: TemporalFacts, children: tuple[Block, ...]) -> Block:
    join = facts.join
    told = [
        ("key", join_key(join)),
        ("strategy", str(facts.strategy)),
        *salted(join),
        ("version", facts.version),
        *([("deletes", str(join.deletes))] if join.deletes else []),
        ("watermark", _lesser(join)),
        *labelled("held", facts.held),
        ("state", facts.state),
        *_columns(join),
        ("late", late_text(join.late)),
        ("limit", limit_text(join.limit)),
        *labelled("comes out", facts.comes_out),
    ]
    return Block(f"Temporal join, {_sides(join)}", tuple(told), children)


def pairs_block(facts: PairFacts, children: tuple[Block, ...]) -> Block:
    join = facts.join
    timed = isinstance(join, SessionJoin) or join.ttl is not None
    told = [
        ("key", join_key(join)),
        ("strategy", str(facts.strategy)),
        *(_sessions(join) if isinstance(join, SessionJoin) else _unbounded(join)),
        *([("watermark", _lesser(join))] if timed else []),
        *facts.predicates,
        *labelled("held", facts.held),
        ("state", facts.state),
        *_columns(join),
        *([("late", late_text(join.late))] if timed else []),
        ("limit", limit_text(join.limit)),
        *labelled("comes out", facts.comes_out),
    ]
    kind = "Session" if isinstance(join, SessionJoin) else "Regular"
    return Block(f"{kind} join, {_sides(join)}", tuple(told), children)


def _sessions(join: SessionJoin) -> list[tuple[str, str]]:
    gap = format_span(join.gap)
    told = [("window", f"sessions of each side with a gap of {gap}, joined if they share a moment")]
    told += [("lateness", format_span(join.lateness))] if join.lateness else []
    return [*told, ("emit", str(join.emit))]


def _unbounded(join: RegularJoin) -> list[tuple[str, str]]:
    ttl = "none: rows are held for ever" if join.ttl is None else "'state.ttl' alone"
    names = (stream_name(side) for side in (join.left, join.right))
    taken = [name for name, on in zip(names, join.over_changes, strict=True) if on]
    told = [("bound", ttl)]
    return told + (
        [("changes", f"rows of {' and '.join(taken)} may be taken back")] if taken else []
    )


def _lesser(join: Join) -> str:
    return f"the lesser of {clock_text(join.left)} and {clock_text(join.right)}"


def _columns(join: Join) -> list[tuple[str, str]]:
    sides = (join.left, join.right)
    return labelled("columns", tuple(f"held of {stream_name(s)}: {used_text(s)}" for s in sides))


def _sides(join: Join) -> str:
    return f"{join.how}: {_called(join.left)}, {_called(join.right)}"


def _called(side: Input) -> str:
    name = stream_name(side)
    return name if name == side.alias else f"{name} {side.alias}"
