"""Random aggregates, rankings, frames and duplicates over one stream."""

from __future__ import annotations

import random

from tests.fuzz.shapes import FOREVER, Select, Step, Stream, condition, for_oracle, picked, value

MICROS = 1_000_000


def seconds(count: float) -> str:
    return f"INTERVAL '{count:g}' SECONDS"


def bucket(time: str, size: float, offset: float) -> str:
    """The start of the fixed-size window of a time, in microseconds."""
    micros, by = int(size * MICROS), int(offset * MICROS)
    return f"((epoch_us({time}) - {by}) // {micros} * {micros} + {by})"


def where(rng: random.Random, stream: Stream) -> str:
    return f" WHERE {condition(rng, stream)}" if rng.random() < 0.25 else ""


def calls(rng: random.Random, stream: Stream, select: Select, *, changes: bool) -> None:
    """Aggregates that both compute alike: sums are exact, and nothing depends on an order."""
    select.add("int", "count(*)")
    for _ in range(rng.randint(0, 3)):
        kinds = ["count", "distinct", "sum", "filtered"]
        kinds += [] if changes else ["min", "max", "bool"]
        match rng.choice(kinds):
            case "count":
                text, _ = value(rng, stream, "")
                select.add("int", f"count({text})", for_oracle(f"count({text})"))
            case "distinct":
                text, _ = value(rng, stream, "")
                select.add("int", f"count(DISTINCT {text})", for_oracle(f"count(DISTINCT {text})"))
            case "sum":
                name = rng.choice([*(each for each in stream.of("int") if each != "ki"), "1"])
                select.add("int", f"sum({name})", f"CAST(sum({name}) AS BIGINT)")
            case "filtered":
                only = condition(rng, stream)
                select.add("int", f"count(*) FILTER (WHERE {only})")
            case "bool":
                if stream.of("bool"):
                    select.add("bool", f"bool_and({rng.choice(stream.of('bool'))})")
            case least:
                text, type_ = value(rng, stream, "")
                if type_ not in {"binary", "bool"}:
                    select.add(type_, f"{least}({text})", for_oracle(f"{least}({text})"))


def keys(rng: random.Random, stream: Stream, select: Select) -> tuple[list[str], list[str]]:
    """Group keys in both dialects; their columns come first."""
    found = [value(rng, stream, "") for _ in range(rng.choice((0, 1, 1, 2, 2, 3)))]
    texts = list(dict.fromkeys(found))
    for text, type_ in texts:
        select.add(type_, text, for_oracle(text))
    return [text for text, _ in texts], [for_oracle(text) for text, _ in texts]


def having(rng: random.Random) -> str:
    return (
        rng.choice((" HAVING count(*) > 1", " HAVING count(*) <= 2")) if rng.random() < 0.25 else ""
    )


def windowed(rng: random.Random, stream: Stream) -> Step:
    """A tumbling or sliding aggregate."""
    slide = rng.choice((2, 5, 7, 10))
    count = rng.choice((1, 1, 2, 3))
    offset = rng.choice((0, 0, 1))
    size = slide * count
    if count == 1 and rng.random() < 0.8:
        window = f"TUMBLING(SIZE {seconds(size)}, OFFSET {seconds(offset)})"
    else:
        window = f"SLIDING(SIZE {seconds(size)}, SLIDE {seconds(slide)}, OFFSET {seconds(offset)})"
    select = Select()
    ours, theirs = keys(rng, stream, select)
    start = select.add("time", "_WINDOW_START", "make_timestamp(w)")
    end = select.add("time", "_WINDOW_END", f"make_timestamp(w + {size * MICROS})")
    time = select.add("time", "_WINDOW_TIME", f"make_timestamp(w + {size * MICROS - 1})")
    calls(rng, stream, select, changes=False)
    filtered, only = where(rng, stream), having(rng)
    emit = rng.choice(("FINAL", "FINAL", "CHANGES"))
    panes = f"unnest(range({count}))"
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {stream.name}{filtered} WINDOW {window}"
        f"{' GROUP BY ' + ', '.join(ours) if ours else ''}{only} EMIT {emit}",
        f"SELECT {', '.join(select.oracle)} FROM (SELECT *, "
        f"{bucket(stream.time or '', slide, offset)} - {slide * MICROS} * {panes} AS w "
        f"FROM {stream.name}{filtered}) GROUP BY {', '.join([*theirs, 'w'])}{only}",
        select.columns,
        time if emit == "FINAL" else None,
        changes=emit == "CHANGES",
        window=(start, end) if emit == "FINAL" else None,
    )


def by_window(rng: random.Random, stream: Stream) -> Step:
    """The results of windows, grouped by their window once more."""
    assert stream.window is not None
    select = Select()
    start, end = stream.window
    select.add("time", start)
    select.add("time", end)
    by = [start, end]
    if rng.random() < 0.5:
        text, type_ = value(rng, stream, "")
        if text not in by:
            select.add(type_, text, for_oracle(text))
            by.append(text)
    calls(rng, stream, select, changes=False)
    filtered, only = where(rng, stream), having(rng)
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {stream.name}{filtered} "
        f"GROUP BY {', '.join(by)}{only} EMIT FINAL",
        f"SELECT {', '.join(select.oracle)} FROM {stream.name}{filtered} "
        f"GROUP BY {for_oracle(', '.join(by))}{only}",
        select.columns,
    )


def sessions(rng: random.Random, stream: Stream) -> Step:
    gap = rng.choice((0.5, 1, 2, 5))
    select = Select()
    ours, theirs = keys(rng, stream, select)
    by = ", ".join(theirs)
    partition = f"PARTITION BY {by} " if by else ""
    select.add("time", "_WINDOW_START", "min(t_)")
    time = select.add(
        "time", "_WINDOW_TIME", f"max(t_) + {seconds(gap)} - INTERVAL '1' MICROSECOND"
    )
    calls(rng, stream, select, changes=False)
    filtered, only = where(rng, stream), having(rng)
    emit = rng.choice(("FINAL", "FINAL", "CHANGES"))
    marked = (
        f"SELECT *, {stream.time} AS t_, CASE WHEN {stream.time} - lag({stream.time}) OVER "
        f"({partition}ORDER BY {stream.time}) <= {seconds(gap)} THEN 0 ELSE 1 END AS new_ "
        f"FROM {stream.name}{filtered}"
    )
    numbered = f"SELECT *, sum(new_) OVER ({partition}ORDER BY t_) AS s_ FROM ({marked})"
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {stream.name}{filtered} "
        f"WINDOW SESSION(GAP {seconds(gap)})"
        f"{' GROUP BY ' + ', '.join(ours) if ours else ''}{only} EMIT {emit}",
        f"SELECT {', '.join(select.oracle)} FROM ({numbered}) "
        f"GROUP BY {', '.join([*theirs, 's_'])}{only}",
        select.columns,
        time if emit == "FINAL" else None,
        changes=emit == "CHANGES",
    )


def grouped(rng: random.Random, stream: Stream) -> Step:
    """An aggregate without a window: its final state."""
    select = Select()
    ours, theirs = keys(rng, stream, select)
    calls(rng, stream, select, changes=stream.changes)
    filtered, only = where(rng, stream), having(rng)
    by = f" GROUP BY {', '.join(ours)}" if ours else ""
    if not ours:  # without a row there is no result, where a batch query has one
        only = only or " HAVING count(*) > 0"
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {stream.name}{filtered}{by}{only} {FOREVER}",
        f"SELECT {', '.join(select.oracle)} FROM {stream.name}{filtered}"
        f"{' GROUP BY ' + ', '.join(theirs) if theirs else ''}{only}",
        select.columns,
        changes=True,
    )


def distinct(rng: random.Random, stream: Stream) -> Step:
    select = Select()
    names = picked(rng, stream, rng.randint(1, 3))
    for name in names:
        select.add(stream.columns[name], name)
    filtered = where(rng, stream)
    text = f"FROM {stream.name}{filtered}"
    return Step(
        f"SELECT DISTINCT {', '.join(select.ours)} {text} {FOREVER}",
        f"SELECT DISTINCT {', '.join(select.oracle)} {text}",
        select.columns,
        changes=stream.changes,
        grows=True,
    )


def ranking(rng: random.Random, stream: Stream) -> Step:
    """The first rows of each partition. All columns order them, so only equal rows are tied."""
    select = Select()
    for name in stream.columns:
        select.add(stream.columns[name], name)
    by = picked(rng, stream, rng.choice((0, 1, 1, 2)))
    partition = f"PARTITION BY {', '.join(by)} " if by else ""
    first, _ = value(rng, stream, "")
    ours, theirs = [], []
    for text in [first, *rng.sample(list(stream.columns), len(stream.columns))]:
        down = rng.random() < 0.4
        nulls = rng.choice(("", "", "FIRST", "LAST"))
        said = f" NULLS {nulls}" if nulls else ""
        ours.append(f"{text}{' DESC' if down else ''}{said}")
        nulls = nulls or ("LAST" if down else "FIRST")
        theirs.append(f"{for_oracle(text)}{' DESC' if down else ''} NULLS {nulls}")
    limit = rng.choice((1, 2, 3, 5))
    if rng.random() < 0.3:
        select.add("int", "n_")
    inner = f"SELECT *, ROW_NUMBER() OVER ({partition}ORDER BY {{}}) AS n_ FROM {stream.name}"
    return Step(
        f"SELECT {', '.join(select.ours)} FROM ({inner.format(', '.join(ours))}) "
        f"WHERE n_ <= {limit} {FOREVER}",
        f"SELECT {', '.join(select.oracle)} FROM ({inner.format(', '.join(theirs))}) "
        f"WHERE n_ <= {limit}",
        select.columns,
        changes=True,
    )


def frames(rng: random.Random, stream: Stream) -> Step:
    """Aggregates over the last rows; times of a source are all different."""
    select = Select()
    time = ""
    for name in dict.fromkeys([stream.time or "", *picked(rng, stream, 3)]):
        made = select.add(stream.columns[name], name)
        time = made if name == stream.time else time
    by = picked(rng, stream, rng.choice((0, 1, 1, 2)))
    partition = f"PARTITION BY {', '.join(by)} " if by else ""
    start = rng.choice(("UNBOUNDED", "0", "1", "2", "5"))
    over = (
        f"OVER ({partition}ORDER BY {stream.time} ROWS BETWEEN {start} PRECEDING AND CURRENT ROW)"
    )
    for call in rng.sample(["count(*)", "sum(x)", "max(y)", "min(ks)", "count(kd)"], 2):
        type_ = {"max(y)": "double", "min(ks)": "string"}.get(call, "int")
        cast = f"CAST({call} {over} AS BIGINT)" if call == "sum(x)" else f"{call} {over}"
        select.add(type_, f"{call} {over}", cast)
    return Step(
        f"SELECT {', '.join(select.ours)} FROM {stream.name} {FOREVER}",
        f"SELECT {', '.join(select.oracle)} FROM {stream.name}",
        select.columns,
        time,
    )
