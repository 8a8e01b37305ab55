"""The cross join on the kernel of the interval join: the key of a row is the start of its window,
and its time the last moment of it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.kernels import strategies
from tests.kernels.interval_join import harness
from tests.kernels.interval_join.harness import Harness
from tests.kernels.interval_join.oracle import Bag, Row

from millstream.kernels.interval_join.kernel import IntervalJoin, IntervalJoinSpec
from millstream.values import JoinType

SIDES = st.tuples(strategies.rows(), strategies.rows())
TROUBLE = st.one_of(st.none(), st.randoms(use_true_random=False))


def in_window(row: Row, size: int) -> Row:
    start = row.t - row.t % size
    return replace(row, t=start + size - 1, key=("", start))


@given(SIDES, st.sampled_from([1, 7, 20]), st.data(), TROUBLE)
def test_every_row_matches_every_row_of_its_window_once(
    sides: tuple[list[Row], list[Row]],
    size: int,
    data: st.DataObject,
    trouble: random.Random | None,
) -> None:
    lefts, rights = ([in_window(row, size) for row in rows] for rows in sides)
    arrival = data.draw(strategies.in_time((lefts, rights)))
    spec = IntervalJoinSpec(
        JoinType.INNER, 0, 0, *harness.KEYS, harness.LEFT_COLUMNS, harness.RIGHT_COLUMNS
    )
    run = Harness(IntervalJoin(spec), arrival.delays, trouble=trouble)
    out: Bag = Counter()
    for batch in arrival.batches:
        out.update(run.feed(*batch))
    out.update(run.finish())
    assert out == Counter(
        (one.id, other.id)
        for one in sides[0]
        for other in sides[1]
        if one.t // size == other.t // size
    )
    assert run.last.counts["state_rows"] == 0
