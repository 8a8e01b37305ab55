"""Aggregates against their definition: any window, functions, mode, policy, arrival and trouble."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.kernels.aggregate.harness import (
    KEYS,
    AggregateHarness,
    bag,
    frame_of,
    plain_out,
    types_of,
)
from tests.kernels.aggregate.oracle import (
    Out,
    Row,
    SessionStepwise,
    Stepwise,
    final_table,
)
from tests.kernels.strategies import log_settings

from millstream.kernels.aggregate.kernel import create_kernel
from millstream.kernels.core.kernel import DELETE, UPDATE_AFTER, UPDATE_BEFORE
from millstream.kernels.core.specs import AggregateSpec, CallSpec
from millstream.kernels.state.compaction import LogSettings
from millstream.temporal import Emit, LateAction, LatePolicy, Window, WindowKind

TROUBLE = st.one_of(st.none(), st.randoms(use_true_random=False))
SPREADS = ("stddev_samp", "stddev_pop", "var_samp", "var_pop")
RETRACTABLE = (
    CallSpec("count", ""),
    CallSpec("count", "", "x"),
    CallSpec("count", "", filter="b"),
    *(CallSpec("sum", "", name) for name in "xyd"),
    CallSpec("sum", "", "x", filter="b"),
    *(CallSpec("avg", "", name) for name in "xyd"),
    *(CallSpec(name, "", column) for name in SPREADS for column in "xy"),
    *(CallSpec("count_distinct", "", name) for name in "xysd"),
    *(CallSpec("count_distinct", "", name, filter="b") for name in "xs"),
    *(CallSpec(name, "", "s") for name in ("collect_list", "collect_set")),
    CallSpec("collect_list", "", "y", filter="b"),
    *(CallSpec(name, "", "b") for name in ("bool_and", "bool_or")),
)
CALLS = (
    *RETRACTABLE,
    *(CallSpec(name, "", column) for name in ("min", "max") for column in "xysd"),
    CallSpec("min", "", "y", filter="b"),
    *(CallSpec(name, "", "x", ignore_nulls=True) for name in ("first", "last")),
    *(CallSpec(name, "", "x", ignore_nulls=False) for name in ("first", "last")),
    *(CallSpec(name, "", "s", by=by) for name in ("max_by", "min_by") for by in "xys"),
    CallSpec("last", "", "s", filter="b"),
    CallSpec("approx_count_distinct", "", "s"),
    CallSpec("approx_count_distinct", "", "y"),
    CallSpec("approx_percentile", "", "x", parameters=(0.5,)),
    CallSpec("approx_percentile", "", "x", parameters=(0.9, 100.0)),
)
WINDOWS = st.one_of(
    st.builds(
        lambda size, offset: Window(WindowKind.TUMBLING, size, size, offset),
        st.sampled_from([1, 7, 20]),
        st.integers(-5, 5),
    ),
    st.builds(
        lambda slide, count, offset: Window(WindowKind.SLIDING, slide * count, slide, offset),
        st.sampled_from([1, 5]),
        st.integers(1, 4),
        st.integers(-5, 5),
    ),
    st.builds(lambda gap: Window(WindowKind.SESSION, gap), st.sampled_from([1, 4, 9])),
    st.just(Window(WindowKind.INHERITED)),
    st.none(),
)
NUMBERS = st.sampled_from([None, -0.0, 0.0, 0.25, 1.5, -3.0, 100.0])
ODD_NUMBERS = st.one_of(NUMBERS, st.sampled_from([math.nan, math.inf, -math.inf]))
POLICIES = st.sampled_from(
    [
        LatePolicy(),
        LatePolicy(LateAction.SIDE_OUTPUT),
        LatePolicy(LateAction.REASSIGN, budget=0),
        LatePolicy(LateAction.REASSIGN, budget=15),
    ]
)


@st.composite
def specs(draw: st.DrawFn) -> AggregateSpec:
    over_changes = draw(st.booleans())
    window = draw(WINDOWS)
    calls = st.sampled_from(RETRACTABLE if over_changes else CALLS)
    found = draw(st.lists(calls, min_size=1 if window is None else 0, max_size=4))
    late = draw(POLICIES)
    if over_changes and late.action is LateAction.REASSIGN:
        late = LatePolicy()  # a row put in at one time would be retracted at another
    return AggregateSpec(
        draw(st.sampled_from([KEYS, KEYS[:1], ()])),
        tuple(replace(call, name=f"a{number}") for number, call in enumerate(found)),
        window,
        emit=Emit.CHANGES if window is None else draw(st.sampled_from(list(Emit))),
        lateness=0 if window is None else draw(st.sampled_from([0, 0, 3, 30])),
        late=late,
        # A group that was expired knows nothing of rows that are retracted after that.
        ttl=draw(st.sampled_from([None, 0, 12])) if window is None and not over_changes else None,
        over_changes=over_changes,
    )


@st.composite
def rows(draw: st.DrawFn, spec: AggregateSpec, max_size: int = 16) -> list[Row]:
    odd = draw(st.booleans())
    spans = st.sampled_from([(0, 10), (0, 20), (10, 20), (20, 30), (-5, 5)])
    fields = st.tuples(
        st.integers(-10, 50),
        st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([0.0, -0.0, None])),
        st.sampled_from([None, 0, 1, 2, 5, -7]),
        ODD_NUMBERS if odd else NUMBERS,
        st.sampled_from([None, "", "p", "é"]),
        st.sampled_from([None, True, False]),
        st.sampled_from([None, Decimal("0.05"), Decimal("-1.10"), Decimal("2.00")]),
        spans,
    )
    made = []
    for number, (t, key, x, y, s, b, d, span) in enumerate(
        draw(st.lists(fields, max_size=max_size))
    ):
        plain_key = tuple(part + 0.0 if isinstance(part, float) else part for part in key)
        made.append(Row(number, t, plain_key[: len(spec.keys)], x, y, s, b, d, span=span))
    return made


def with_changes(draw: st.DrawFn, rows: list[Row]) -> list[Row]:
    """Some rows are retracted after they came."""
    out = list(rows)
    for row in rows:
        if draw(st.integers(0, 2)) == 0:
            at = draw(st.integers(out.index(row) + 1, len(out)))
            out.insert(
                at, replace(row, op=draw(st.sampled_from([UPDATE_BEFORE, DELETE])), id=-row.id)
            )
    return [
        replace(row, id=number, op=UPDATE_AFTER if row.op == 0 and number % 2 else row.op)
        for number, row in enumerate(out)
    ]


@st.composite
def batches(draw: st.DrawFn, spec: AggregateSpec) -> list[list[Row]]:
    """Rows in any order, cut anywhere: many of them late."""
    found = draw(rows(spec))
    if spec.over_changes:
        found = with_changes(draw, found)
    count = draw(st.integers(1, 6))
    cuts = sorted(draw(st.lists(st.integers(0, len(found)), min_size=count, max_size=count)))
    return [found[a:b] for a, b in zip([0, *cuts], [*cuts, len(found)], strict=True)]


def oracle_of(spec: AggregateSpec) -> Stepwise:
    session = spec.window is not None and spec.window.kind is WindowKind.SESSION
    return SessionStepwise(spec) if session else Stepwise(spec)


def harness_of(
    spec: AggregateSpec, settings: LogSettings, delay: int, colliding: bool, trouble: object
) -> AggregateHarness:
    kernel = create_kernel(spec, types_of(spec), settings)
    return AggregateHarness(kernel, delay, colliding, trouble)  # type: ignore[arg-type]


def without_equal_pairs(spec: AggregateSpec, out: list[Out]) -> list[Out]:
    """A variance is compared by nine digits; what differs beyond them is no change."""
    if spec.emit is Emit.FINAL or not any(call.function in SPREADS for call in spec.calls):
        return out
    olds = {repr(one[1:]) for one in out if one[0] == UPDATE_BEFORE}
    news = {repr(one[1:]) for one in out if one[0] == UPDATE_AFTER}
    equal = olds & news
    return [
        one
        for one in out
        if one[0] not in {UPDATE_BEFORE, UPDATE_AFTER} or repr(one[1:]) not in equal
    ]


@given(st.data(), log_settings, TROUBLE, st.booleans(), st.integers(0, 20))
def test_every_batch_emits_exactly_what_the_definition_says(
    data: st.DataObject, settings: LogSettings, trouble: random.Random | None, colliding: bool,
    delay: int,
) -> None:  # fmt: skip
    spec = data.draw(specs())
    if spec.over_changes and spec.window is not None and spec.window.kind is WindowKind.SESSION:
        delay = 100  # a late row, in time by others of its session, may retract one that was not
    run, oracle = harness_of(spec, settings, delay, colliding, trouble), oracle_of(spec)
    everything: list[Out] = []
    arrived = data.draw(batches(spec))
    for number, batch in enumerate([*arrived, []]):
        out = run.feed(batch, end=number == len(arrived))
        expected = [plain_out(one) for one in oracle.step(batch, run.advance)]
        shown = without_equal_pairs(spec, out)
        wanted = without_equal_pairs(spec, expected)
        assert bag(shown) == bag(wanted)
        everything += out
        counts = run.last.counts
        for name, count in oracle.counts.items():
            assert counts[f"input.{name}"] == count
        if not (spec.over_changes and spec.window and spec.window.kind is WindowKind.SLIDING):
            assert counts["input.in_state"] == oracle.stored()
        check_late_rows(run, oracle)
        assert counts["rows_out"] == len(everything)
        retractions = sum(one[0] in {UPDATE_BEFORE, DELETE} for one in everything)
        assert counts["retractions"] == retractions
    if spec.window is not None:
        assert run.last.counts["state_rows"] == 0
        assert not run.state.map("segments").content


def check_late_rows(run: AggregateHarness, oracle: Stepwise) -> None:
    found = run.last.late.get(0)
    if run.spec.late.action is not LateAction.SIDE_OUTPUT or not oracle.late:
        assert found is None
        return
    assert found is not None
    expected = frame_of(run.spec, oracle.late)
    assert found.columns == [*expected.columns, "_lateness"]
    lateness = {row.id: run.advance.before - row.t for row in oracle.late}
    assert dict(found.select("id", "_lateness").rows()) == lateness


@given(st.data(), log_settings, TROUBLE, st.booleans())
def test_any_order_of_rows_in_time_the_same_table_is_the_result(
    data: st.DataObject, settings: LogSettings, trouble: random.Random | None, colliding: bool
) -> None:
    spec = replace(data.draw(specs()), ttl=None)
    # A session all of whose rows are retracted is dropped, in one batch only once it has grown:
    # plans have no sessions over rows that change.
    session = spec.window is not None and spec.window.kind is WindowKind.SESSION
    assume(not (session and spec.over_changes))
    arrived = data.draw(batches(spec))
    everything = [row for batch in arrived for row in batch]
    run = harness_of(spec, settings, 100, colliding, trouble)
    out = [one for batch in arrived for one in run.feed(batch)] + run.feed([], end=True)
    once = harness_of(spec, LogSettings(), 100, False, None)
    at_once = once.feed(everything) + once.feed([], end=True)
    assert run.last.counts["input.late"] == 0
    assert rounded(final_table(out)) == rounded(final_table(at_once))


def rounded(table: dict[Any, tuple[object, ...]]) -> dict[Any, tuple[object, ...]]:
    """The last digits of a double depend on what came and went before: of a spread that is 0, a
    rest of its squares' rounding may stay."""
    return {
        place: tuple(
            str(round(each, 6) + 0.0) if isinstance(each, float) else each for each in values
        )
        for place, values in table.items()
    }
