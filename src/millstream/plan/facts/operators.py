"""What follows from an operator with one input: how long its state is held and why, where rows go,
and what comes out when."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.plan.expressions import Expression
from millstream.plan.expressions.spark_sql import texts
from millstream.plan.facts.joins import JoinFacts, behind_sources, name_of
from millstream.plan.facts.pairs import PairFacts
from millstream.plan.facts.strategies import Strategy, spread
from millstream.plan.facts.temporal import TemporalFacts
from millstream.plan.nodes import (
    Aggregate,
    Deduplicate,
    Input,
    Operator,
    RowsOver,
    TopN,
)
from millstream.temporal import Emit, Window, WindowKind, format_span


@dataclass(frozen=True, slots=True)
class OperatorFacts:
    operator: Aggregate | Deduplicate | TopN | RowsOver
    strategy: Strategy
    held: tuple[str, ...]
    state: str
    comes_out: tuple[str, ...]


Facts = JoinFacts | TemporalFacts | PairFacts | OperatorFacts


def _named(side: Input) -> str:
    return name_of(side.node, side.alias)


def _spread(node: Operator, keys: tuple[Expression, ...], without: Strategy) -> Strategy:
    return spread(node, texts(keys)) if keys else without


def aggregate_facts(node: Aggregate) -> OperatorFacts:
    keys = tuple(key.expression for key in node.keys)
    strategy = _spread(node, keys, Strategy("two-phase"))
    if node.window is None:
        held, state = _kept(node, "a group", one="the one group"), _unwindowed_state(node)
    else:
        held, state = _window_held(node, node.window), _window_state(node, node.window)
    return OperatorFacts(node, strategy, held, state, _aggregate_comes_out(node))


def _clock(node: Aggregate) -> str:
    return "the clock" if node.window and node.window.wall_clock else "the watermark"


def _window_held(node: Aggregate, window: Window) -> tuple[str, ...]:
    end = "its end" if not node.lateness else f"its end + {format_span(node.lateness)}"
    session = window.kind is WindowKind.SESSION
    what, comes_to = ("a session", "passes") if session else ("a window", "reaches")
    why = "as 'window.lateness' asks" if node.lateness else "when no row can change it any more"
    return (f"{what} is held until {_clock(node)} {comes_to} {end}, {why}",)


def _window_state(node: Aggregate, window: Window) -> str:
    groups = "a row for each" if not node.keys else "a row for each key and"
    span = window.size + node.lateness + (0 if window.wall_clock else behind_sources(node.input))
    match window.kind:
        case WindowKind.SESSION:
            return f"{groups} open session of {_named(node.input)}"
        case WindowKind.GIVEN:
            return f"{groups} open window of {_named(node.input)}"
    return f"{groups} window of the last {format_span(span)} of {_named(node.input)}"


def _unwindowed_state(node: Aggregate) -> str:
    if not node.keys:
        return "one row"
    if node.ttl is None:
        return f"a row for each key of {_named(node.input)} that ever came"
    return f"a row for each key of the last {format_span(node.ttl)} of {_named(node.input)}"


def _kept(node: Aggregate | TopN | RowsOver, what: str, *, one: str) -> tuple[str, ...]:
    """How long state without a window is held; `one` says what there is of it without a key."""
    keyed = node.keys if isinstance(node, Aggregate) else node.partition
    if node.ttl is None:
        if not keyed:
            return (f"{one} is held for ever",)
        return (f"{what} is held for ever, as 'state.ttl' = 'forever' asks",)
    anew = {
        Aggregate: "a row of it that comes later begins anew, at nothing",
        TopN: "a row of it that comes later begins anew, at the first place",
        RowsOver: "a row of it that comes later has no rows before it",
    }
    until = f"the watermark passes its last row + {format_span(node.ttl)}"
    return (f"{what} is held until {until}, as 'state.ttl' asks", anew[type(node)])


def _aggregate_comes_out(node: Aggregate) -> tuple[str, ...]:
    what = "session" if node.window and node.window.kind is WindowKind.SESSION else "window"
    group = f"a {what}'s row" if node.window else "a group's row"
    if node.emit is Emit.FINAL:
        first = f"a window once, when {_clock(node)} reaches its end"
        if what == "session":  # a row just at its end would still be of it
            first = f"a session once, when {_clock(node)} has passed its end"
        if not node.lateness:
            return (first,)
        again = "a row that comes after it, within the allowed lateness, puts out the pair"
        return (first, f"{again} -U old, +U new")
    told = [f"{group} when it is new (+I), the pair -U old, +U new after a batch that changes it"]
    if what == "session":
        told.append("-D for each session that others swallow")
    if node.over_changes:
        told.append("-D once all rows of a group are taken back")
    return tuple(told)


def deduplicate_facts(node: Deduplicate) -> OperatorFacts:
    strategy = spread(node, texts(node.keys))
    held: tuple[str, ...]
    if node.within is None:
        held = ("a key is held for ever, as 'state.ttl' = 'forever' asks",)
        state = f"a row for each key of {_named(node.input)} that ever came"
    else:
        span = format_span(node.within)
        until = f"the watermark passes the time of the row that passed + {span}"
        held = (
            f"a key is held until {until}, as 'state.ttl' asks",
            f"a row of the same key more than {span} away from it passes again",
        )
        state = f"a row for each key of the last {span} of {_named(node.input)}"
    return OperatorFacts(
        node, strategy, held, state, ("the first row of a key, when it arrives; no other",)
    )


def top_n_facts(node: TopN) -> OperatorFacts:
    strategy = _spread(node, node.partition, Strategy("single"))
    rows = "all rows" if node.over_changes else f"{node.n} row{'s' if node.n > 1 else ''}"
    held: tuple[str, ...]
    if node.emit is Emit.FINAL:
        held = ("a partition is held until the watermark reaches the end of its window",)
        state = f"{rows} for each partition and open window of {_named(node.input)}"
        out: tuple[str, ...] = ("the first rows once, when their window closes",)
    else:
        held = _kept(node, "a partition", one="the one partition")
        state = f"{rows} for each partition of {_named(node.input)}"
        out = (
            ("after a batch, the pair -U old, +U new for each number that another row has now",)
            if node.rank
            else ("after a batch, -D for rows that left the first ones, +I for rows that came in",)
        )
    return OperatorFacts(node, strategy, held, state, out)


def rows_over_facts(node: RowsOver) -> OperatorFacts:
    strategy = _spread(node, node.partition, Strategy("single"))
    if not node.calls:
        until = f"a row is held until the watermark passes its {node.input.time}"
        state = f"rows of open windows of {_named(node.input)}"
        return OperatorFacts(node, strategy, (until,), state, ("a row when its window closes",))
    last = "a running result" if node.preceding is None else f"the last {node.preceding} rows"
    of = "each partition of " if node.partition else ""
    state = f"{last} of {of}{_named(node.input)}, and rows that the watermark has not passed"
    out = (f"a row once the watermark has passed its {node.input.time}",)
    held = _kept(node, "a partition", one="the one partition")
    return OperatorFacts(node, strategy, held, state, out)
