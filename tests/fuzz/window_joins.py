"""Random joins of two streams by windows and sessions."""

from __future__ import annotations

import random

from tests.fuzz.joins import END, START, TYPES, on_keys, oracle_of, outputs, predicates
from tests.fuzz.operators import MICROS, bucket, seconds
from tests.fuzz.shapes import Select, Step, Stream, for_oracle


def window(rng: random.Random, left: Stream, right: Stream) -> Step:
    """Tumbling or sliding, the same on both sides: a pair in every window that both are in."""
    kind = rng.choice(TYPES)
    slide, count, offset = rng.choice((2, 5, 10)), rng.choice((1, 1, 2, 3)), rng.choice((0, 0, 1))
    select = Select()
    outputs(rng, left, right, kind, select)
    size = slide * count
    time = select.add("time", "_WINDOW_TIME", f"make_timestamp({START} + {size * MICROS - 1})")
    terms = [*on_keys(rng, left, right), *predicates(rng, left, right)]
    spec = f"TUMBLING(SIZE {seconds(size)}, OFFSET {seconds(offset)})"
    if count > 1:
        spec = f"SLIDING(SIZE {seconds(size)}, SLIDE {seconds(slide)}, OFFSET {seconds(offset)})"
    sides = tuple(
        f"(SELECT *, {bucket(side.time or '', slide, offset)} - {slide * MICROS} * "
        f"unnest(range({count})) AS w_ FROM {side.name})"
        for side in (left, right)
    )
    on = " AND ".join(terms)
    emit = rng.choice(("", " EMIT FINAL", " EMIT CHANGES"))
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {left.name} l {kind} {right.name} r ON {on} "
        f"WINDOW {spec}{emit}",
        oracle_of(select, kind, (sides[0], sides[1]), f"{on} AND l.w_ = r.w_"),
        select.columns,
        time,
        grows=kind in ("JOIN", "LEFT SEMI JOIN"),
    )


def overlapping(rng: random.Random, left: Stream, right: Stream) -> Step:
    """Tumbling on the left, sliding on the right: a pair once if any windows overlap."""
    kind = rng.choice(TYPES)
    tumbling, slide, count = rng.choice((4, 10)), rng.choice((2, 5)), rng.choice((2, 3))
    size = slide * count
    select = Select()
    outputs(rng, left, right, kind, select)
    terms = [*on_keys(rng, left, right), *predicates(rng, left, right)]
    one = bucket(f"l.{left.time}", tumbling, 0)
    time = None
    if kind not in {"RIGHT JOIN", "FULL JOIN"}:
        end = f"make_timestamp({one} + {tumbling * MICROS - 1})"
        time = select.add("time", *rng.choice((("_WINDOW_TIME", end), (f"l.{left.time}",))))
    other = bucket(f"r.{right.time}", slide, 0)
    overlap = (
        f"{one} < {other} + {size * MICROS} AND "
        f"{one} + {tumbling * MICROS} > {other} + {(slide - size) * MICROS}"
    )
    on = " AND ".join(terms)
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {left.name} l WINDOW TUMBLING({seconds(tumbling)}) "
        f"{kind} {right.name} r WINDOW SLIDING(SIZE {seconds(size)}, SLIDE {seconds(slide)}) "
        f"ON {on}{rng.choice(('', ' EMIT FINAL'))}",
        oracle_of(select, kind, (left.name, right.name), f"{on} AND {overlap}"),
        select.columns,
        time,
        grows=kind in ("JOIN", "LEFT SEMI JOIN"),
    )


def session(rng: random.Random, left: Stream, right: Stream) -> Step:
    kind = rng.choice(TYPES)
    gap = rng.choice((0.5, 1, 3))
    select = Select()
    outputs(rng, left, right, kind, select)
    equal = on_keys(rng, left, right)
    emit = rng.choice(("", "", " EMIT CHANGES"))
    time = None
    if not emit and kind != "LEFT SEMI JOIN":
        time = select.add("time", "_WINDOW_TIME", f"{END} - INTERVAL '1' MICROSECOND")
    sides = []
    for alias, stream in (("l", left), ("r", right)):
        by = ", ".join(
            for_oracle(part).replace(f"{alias}.", "")
            for term in equal
            for part in term.split(" = ")
            if f"{alias}." in part
        )
        marked = (
            f"SELECT *, CASE WHEN {stream.time} - lag({stream.time}) OVER (PARTITION BY {by} "
            f"ORDER BY {stream.time}) <= {seconds(gap)} THEN 0 ELSE 1 END AS new_ "
            f"FROM {stream.name}"
        )
        numbered = (
            f"SELECT *, sum(new_) OVER (PARTITION BY {by} ORDER BY {stream.time}) "
            f"AS s_ FROM ({marked})"
        )
        sides.append(
            f"(SELECT *, min({stream.time}) OVER (PARTITION BY {by}, s_) AS first_, "
            f"max({stream.time}) OVER (PARTITION BY {by}, s_) + {seconds(gap)} AS last_ "
            f"FROM ({numbered}))"
        )
    on = " AND ".join(equal)
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {left.name} l {kind} {right.name} r ON {on} "
        f"WINDOW SESSION(GAP {seconds(gap)}){emit}",
        oracle_of(
            select,
            kind,
            (sides[0], sides[1]),
            f"{on} AND l.first_ <= r.last_ AND r.first_ <= l.last_",
        ),
        select.columns,
        time,
    )
