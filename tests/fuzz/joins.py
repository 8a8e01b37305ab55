"""Random joins of two streams, of every kind and type."""

from __future__ import annotations

import random

from tests.fuzz.operators import MICROS, seconds
from tests.fuzz.shapes import FOREVER, Select, Step, Stream, condition, for_oracle, picked, value

TYPES = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
ONE_SIDED = ("LEFT SEMI JOIN", "LEFT ANTI JOIN")
_TABLE_KEYS = ("ki", "kd", "kn", "ks", "kt", "kw", "kx", "id")
Relations = tuple[str, str]  # FROM of the oracle for both sides


def on_keys(rng: random.Random, left: Stream, right: Stream) -> list[str]:
    """One or two equalities of columns or expressions of one type."""
    shared = sorted(set(left.columns.values()) & set(right.columns.values()))
    found = []
    for _ in range(rng.choice((1, 1, 1, 2))):
        type_ = rng.choice(shared)
        one, _ = value(rng, left, "l", type_)
        other, _ = value(rng, right, "r", type_)
        if rng.random() < 0.7:  # the same column on both sides matches more often
            same = [name for name in left.of(type_) if name in right.of(type_)]
            if same:
                name = rng.choice(same)
                one, other = f"l.{name}", f"r.{name}"
        if (one, other) != (f"l.{left.time}", f"r.{right.time}"):  # no key beside a bound
            found.append(f"{one} = {other}")
    return list(dict.fromkeys(found)) or [f"l.{left.time} = r.{right.time}"]


def predicates(rng: random.Random, left: Stream, right: Stream) -> list[str]:
    if rng.random() < 0.6:
        return []
    both = [
        f"l.{one} {rng.choice(('<', '<=', '<>'))} r.{other}"
        for type_ in ("int", "double", "string", "decimal")
        for one in left.of(type_)
        for other in right.of(type_)
    ]
    return [rng.choice([*both, condition(rng, left, "l"), condition(rng, right, "r")])]


def outputs(rng: random.Random, left: Stream, right: Stream, kind: str, select: Select) -> None:
    for name in picked(rng, left, rng.randint(1, 3)):
        select.add(left.columns[name], f"l.{name}")
    if kind not in ONE_SIDED:
        for name in picked(rng, right, rng.randint(1, 3)):
            select.add(right.columns[name], f"r.{name}")


def oracle_of(select: Select, kind: str, relations: Relations, on: str) -> str:
    """Outer joins are made of matches and of what has none, so that any condition is possible."""
    left, right = relations
    on = for_oracle(on)
    found = ", ".join(of_both(text) for text in select.oracle)
    both = f"SELECT {found} FROM {left} l JOIN {right} r ON {on}"
    no_right = f"NOT EXISTS (SELECT 1 FROM {right} r WHERE {on})"
    no_left = f"NOT EXISTS (SELECT 1 FROM {left} l WHERE {on})"
    only_left = f"SELECT {', '.join(_nulled(select, 'r'))} FROM {left} l WHERE {no_right}"
    only_right = f"SELECT {', '.join(_nulled(select, 'l'))} FROM {right} r WHERE {no_left}"
    match kind:
        case "JOIN":
            return both
        case "LEFT JOIN":
            return f"{both} UNION ALL {only_left}"
        case "RIGHT JOIN":
            return f"{both} UNION ALL {only_right}"
        case "FULL JOIN":
            return f"{both} UNION ALL {only_left} UNION ALL {only_right}"
        case "LEFT SEMI JOIN":
            exists = no_right.removeprefix("NOT ")
            return f"SELECT {', '.join(_nulled(select, 'r'))} FROM {left} l WHERE {exists}"
        case _:
            return only_left


# The oracle's names for the window of a row: its start, and the end of its session. A pair of rows
# has the window that both share, or the later end of two sessions.
START, END = "@start", "@end"


def of_both(text: str) -> str:
    return text.replace(START, "l.w_").replace(END, "greatest(l.last_, r.last_)")


def _nulled(select: Select, alias: str) -> list[str]:
    missing = f"{alias}."
    other = "l." if alias == "r" else "r."
    return [
        f"NULL AS {text.rpartition(' AS ')[2]}"
        if text.startswith(missing)
        else text.replace(START, f"{other}w_").replace(END, f"{other}last_")
        for text in select.oracle
    ]


def _time(kind: str, left: Stream, right: Stream, select: Select) -> str | None:
    """The event time of results: that of the side whose rows are all there."""
    if kind in ("JOIN", "LEFT JOIN", *ONE_SIDED) and left.time:
        return select.add("time", f"l.{left.time}")
    if kind == "RIGHT JOIN" and right.time:
        return select.add("time", f"r.{right.time}")
    return None


def interval(rng: random.Random, left: Stream, right: Stream) -> Step:
    kind = rng.choice(TYPES)
    select = Select()
    outputs(rng, left, right, kind, select)
    time = _time(kind, left, right, select)
    lower = rng.choice((-10, -3, 0, 0, 1))
    upper = lower + rng.choice((0, 2, 5, 15))
    low, high = (
        f"l.{left.time} {'-' if each < 0 else '+'} {seconds(abs(each))}" for each in (lower, upper)
    )
    terms = [*on_keys(rng, left, right), *predicates(rng, left, right)]
    on = " AND ".join([*terms, f"r.{right.time} BETWEEN {low} AND {high}"])
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {left.name} l {kind} {right.name} r ON {on}",
        oracle_of(select, kind, (left.name, right.name), on),
        select.columns,
        time,
        grows=kind in ("JOIN", "LEFT SEMI JOIN"),
    )


def several(rng: random.Random, left: Stream, right: Stream) -> Step:
    """Two joins in one FROM clause; the second may read either side of the first."""
    kinds = [rng.choice(("JOIN", "LEFT JOIN")) for _ in range(2)]
    reach = rng.choice((0, 2, 5))
    on = " AND ".join([*on_keys(rng, left, right), _near(left, "l", right, "r", reach)])
    # The oracle names the columns of the first join by their side.
    names = [f"l.{name} AS l_{name}" for name in left.columns]
    names += [f"r.{name} AS r_{name}" for name in right.columns]
    first = oracle_of(Select(oracle=names), kinds[0], (left.name, right.name), on)
    joined = Stream(
        "",
        {f"l_{name}": type_ for name, type_ in left.columns.items()}
        | {f"r_{name}": type_ for name, type_ in right.columns.items()},
        f"l_{left.time}",
    )
    again = on_keys(rng, joined, right)
    on_again = " AND ".join([*again, _near(joined, "l", right, "r", reach + 1)])
    select = Select()
    outputs(rng, joined, right, kinds[1], select)
    time = select.add("time", f"l.l_{left.time}")
    ours = [_renamed(text) for text in (", ".join(select.ours), on_again)]
    return Step(
        f"SELECT {ours[0]} FROM {left.name} l {kinds[0]} {right.name} r ON {on} "
        f"{kinds[1]} {right.name} q ON {ours[1]}",
        oracle_of(select, kinds[1], (f"({first})", right.name), on_again),
        select.columns,
        time,
        grows=kinds == ["JOIN", "JOIN"],
    )


def _renamed(text: str) -> str:
    """The second join of the oracle in our names: q is its right side, r that of the first."""
    return text.replace("r.", "q.").replace("l.l_", "l.").replace("l.r_", "r.")


def _near(left: Stream, one: str, right: Stream, other: str, reach: int) -> str:
    low = f"{one}.{left.time} - {seconds(reach)}"
    return f"{other}.{right.time} BETWEEN {low} AND {one}.{left.time} + {seconds(reach)}"


def temporal(rng: random.Random, left: Stream, right: Stream) -> Step:
    """The version before, after or next to each row; times of versions are all different."""
    kind = rng.choice(("JOIN", "LEFT JOIN"))
    select = Select()
    outputs(rng, left, right, kind, select)
    time = _time(kind, left, right, select)
    on = " AND ".join(on_keys(rng, left, right))
    seen = for_oracle(on).replace("r.", "v.")
    direction = rng.choice(("", "backward", "forward", "nearest"))
    tolerance = rng.choice((1, 4, 15))
    ahead = f"(epoch_us(v.{right.time}) - epoch_us(l.{left.time}))"
    best, within = {
        "": (f"max(v.{right.time})", f"{ahead} <= 0"),
        "backward": (f"max(v.{right.time})", f"{ahead} BETWEEN -{tolerance * MICROS} AND 0"),
        "forward": (f"min(v.{right.time})", f"{ahead} BETWEEN 0 AND {tolerance * MICROS}"),
        "nearest": (
            f"arg_min(v.{right.time}, 2 * abs({ahead}) + CASE WHEN {ahead} > 0 THEN 1 ELSE 0 END)",
            f"abs({ahead}) <= {tolerance * MICROS}",
        ),
    }[direction]
    found = f"r.{right.time} = (SELECT {best} FROM {right.name} v WHERE {seen} AND {within})"
    options = f"'temporal.direction' = '{direction}', 'temporal.tolerance' = '{tolerance}s'"
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {left.name} l {kind} {right.name} "
        f"FOR SYSTEM_TIME AS OF l.{left.time} AS r ON {on}"
        f"{f' WITH ({options})' if direction else ''}",
        oracle_of(select, kind, (left.name, right.name), f"{on} AND {found}"),
        select.columns,
        time,
    )


def regular(rng: random.Random, left: Stream, right: Stream) -> Step:
    kind = rng.choice(TYPES)
    select = Select()
    outputs(rng, left, right, kind, select)
    on = " AND ".join([*on_keys(rng, left, right), *predicates(rng, left, right)])
    stays = kind in ("JOIN", "LEFT SEMI JOIN") and not (left.changes or right.changes)
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {left.name} l {kind} {right.name} r ON {on} "
        f"{FOREVER}",
        oracle_of(select, kind, (left.name, right.name), on),
        select.columns,
        changes=not stays,
        grows=stays,
    )


def table(rng: random.Random, left: Stream, right: Stream) -> Step:
    """A reference table `d`; it has no primary key, so keys only."""
    kind = rng.choice(("JOIN", "LEFT JOIN", *ONE_SIDED))
    fitting = [each for each in _TABLE_KEYS if left.of(right.columns[each])]
    name = rng.choice(fitting)
    type_ = right.columns[name]
    select = Select()
    outputs(rng, left, right, kind, select)
    time = select.add("time", f"l.{left.time}") if left.time else None
    one, _ = value(rng, left, "l", type_)
    on = f"{one} = r.{name}"
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {left.name} l {kind} d r ON {on}",
        oracle_of(select, kind, (left.name, "d"), on),
        select.columns,
        time,
        changes=left.changes,
        grows=True,
    )
