"""The session join by example, and the host that its tests share."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import polars as pl
import pytest
from tests.kernels.session_join_oracle import Bag, Join, Row

from millstream.errors import StateError
from millstream.kernels.base import Clock, StepResult
from millstream.kernels.joins.session.kernel import COUNTS, SessionJoin, SessionJoinSpec
from millstream.kernels.state import rows as cache
from millstream.kernels.state.memory import MemoryState
from millstream.plan.nodes import JoinType
from millstream.temporal import (
    BEGIN_OF_TIME,
    END_OF_TIME,
    Emit,
    LateAction,
    LatePolicy,
    OnLimit,
    StateLimit,
)

Hash = Callable[[Row], int]


def own_hash(row: Row) -> int:
    return hash(row.key)


def integer_key(row: Row) -> int:
    return cast("int", row.key[1])


def colliding_hash(row: Row) -> int:
    return len(str(row.key)) % 2


def spec_of(join: Join, **more: object) -> SessionJoinSpec:
    return SessionJoinSpec(
        join.how, join.gap, ("l_k1", "l_k2"), ("r_k1", "r_k2"), ("l_id", "l_k2"), ("r_id",),
        join.emit, join.lateness, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def frame_of(rows: Sequence[Row], side: int, hashing: Hash) -> pl.DataFrame:
    one = "lr"[side]
    return pl.DataFrame(
        [(row.t, *row.key, row.id, None if None in row.key else hashing(row)) for row in rows],
        schema={
            "_t": pl.Int64,
            f"{one}_k1": pl.String,
            f"{one}_k2": pl.Int64,
            f"{one}_id": pl.Int64,
            "_h": pl.Int64,
        },
        orient="row",
    )


@dataclass
class Host:
    """Watermark: the least over the sides of the greatest time seen less the side's delay."""

    types: ClassVar[Mapping[str, Any]] = {"l_id": pl.Int64, "l_k2": pl.Int64, "r_id": pl.Int64}

    join: SessionJoin
    delays: tuple[int, int] = (0, 0)
    hashing: Hash = own_hash
    trouble: random.Random | None = None  # decides when caches are lost and batches are retried
    state: MemoryState = field(default_factory=MemoryState)
    tops: list[int] = field(default_factory=lambda: [BEGIN_OF_TIME, BEGIN_OF_TIME])
    clock: Clock = field(default_factory=lambda: Clock(BEGIN_OF_TIME, BEGIN_OF_TIME))
    last: StepResult = field(default_factory=StepResult)

    def feed(
        self, lefts: Sequence[Row], rights: Sequence[Row], end: bool = False, to: int | None = None
    ) -> Bag:
        """`to`: the watermark after it, where it is not what the rows say."""
        inputs = {}
        for side, came in enumerate((lefts, rights)):
            self.tops[side] = max([self.tops[side], *(row.t for row in came)])
            if came or self._sometimes():  # an empty frame and none must mean the same
                inputs[side] = frame_of(came, side, self.hashing)
        marks = [
            BEGIN_OF_TIME if top == BEGIN_OF_TIME else top - delay
            for top, delay in zip(self.tops, self.delays, strict=True)
        ]
        mark = min(marks) if to is None else to
        after = END_OF_TIME if end else max(self.clock.after, mark)
        self.clock = Clock(self.clock.after, after)
        if self._sometimes():
            self._failed_attempt(inputs)
        if self._sometimes():
            cache.forget_all()
        before = self.state.copy() if self._sometimes() else None
        self.last = self.join.step(self.state, inputs, self.clock)
        check_account(self.last)
        if before is not None:  # the batch again, from where it began
            again = self.join.step(before, inputs, self.clock)
            assert again.counts == self.last.counts
            assert self._bag(again) == self._bag(self.last)
            self.state = before
        return self._bag(self.last)

    def finish(self) -> Bag:
        return self.feed([], [], end=True)

    def _failed_attempt(self, inputs: dict[int, pl.DataFrame]) -> None:
        """The batch was run, perhaps in part and with other rows, and its writes were not kept."""
        assert self.trouble
        other = {
            side: frame.sample(fraction=self.trouble.random(), seed=self.trouble.randrange(99))
            for side, frame in inputs.items()
        }
        self.join.step(self.state.copy(), other, self.clock)

    def _sometimes(self) -> bool:
        return self.trouble is not None and self.trouble.random() < 0.3

    def _bag(self, result: StepResult) -> Bag:
        out: Bag = Counter()
        left_only = self.join.spec.how.left_only
        names = [name for name in self.types if not (left_only and name == "r_id")]
        wanted = {name: self.types[name] for name in names}
        for frame in result.main:
            assert frame.schema == {**wanted, "_window_start": pl.Int64, "_window_end": pl.Int64}
            right = pl.lit(None).alias("r_id") if left_only else "r_id"
            out.update(frame.select("l_id", right, "_window_start", "_window_end").rows())
        return out


def check_account(result: StepResult) -> None:
    counts = result.counts
    for side in ("left", "right"):
        gone = counts[f"{side}.expired"] + counts[f"{side}.evicted"]
        assert counts[f"{side}.accepted"] == counts[f"{side}.held"] + gone
        assert counts[f"{side}.expired"] >= 0
    assert counts["state_rows"] >= counts["left.held"] + counts["right.held"]
    assert counts["peak_rows"] >= counts["state_rows"]


A, B, NO_KEY = ("a", 1), ("b", 1), (None, 1)
FINAL, CHANGES = Emit.FINAL, Emit.CHANGES
EITHER = pytest.mark.parametrize("emit", [FINAL, CHANGES])


def host_of(how: JoinType = JoinType.INNER, emit: Emit = FINAL, **more: Any) -> Host:
    join = Join(how, 5, emit, more.pop("lateness", 0))
    return Host(SessionJoin(spec_of(join, **more), Host.types))


def at(*times: int, key: Any = A, first: int = 0) -> list[Row]:
    """Rows of one key, numbered from `first`."""
    return [Row(first + number, t, key) for number, t in enumerate(times)]


def test_every_row_with_every_row_once_both_sessions_are_closed() -> None:
    host = host_of()
    assert host.feed(at(0, 4), at(3), to=9) == {}
    assert host.feed([], [], to=10) == {(0, 0, 0, 9): 1, (1, 0, 0, 9): 1}
    assert host.last.counts["state_rows"] == 0


def test_the_session_that_ends_later_decides_when_both_come_out() -> None:
    host = host_of()
    assert host.feed(at(0), at(2, 7, 12), to=13) == {}
    assert host.last.counts["left.held"] == 1  # closed, and held for the open one
    assert host.feed([], [], to=18) == {(0, 0, 0, 17): 1, (0, 1, 0, 17): 1, (0, 2, 0, 17): 1}


def test_rows_come_out_as_soon_as_their_sessions_meet() -> None:
    host = host_of(emit=CHANGES)
    assert host.feed(at(0, 4), []) == {}
    assert host.feed([], at(3)) == {(0, 0, 0, 9): 1, (1, 0, 0, 9): 1}
    assert host.feed(at(6, first=2), at(7, first=1)) == {
        (0, 1, 0, 12): 1,
        (1, 1, 0, 12): 1,
        (2, 0, 0, 12): 1,
        (2, 1, 0, 12): 1,
    }
    assert host.finish() == {}


@EITHER
def test_sessions_that_touch_meet_and_those_a_moment_apart_do_not(emit: Emit) -> None:
    host = host_of(JoinType.FULL, emit)
    touching = host.feed(at(0), at(5))
    touching.update(host.finish())
    assert touching == {(0, 0, 0, 10): 1}
    host = host_of(JoinType.FULL, emit)
    apart = host.feed(at(0), at(6))
    apart.update(host.finish())
    assert apart == {(0, None, 0, 5): 1, (None, 0, 6, 11): 1}


@EITHER
def test_rows_that_touch_are_of_one_session(emit: Emit) -> None:
    host = host_of(emit=emit)
    out = host.feed(at(0, 5, 10), at(15))
    out.update(host.finish())
    assert out == {(0, 0, 0, 20): 1, (1, 0, 0, 20): 1, (2, 0, 0, 20): 1}


def test_a_row_that_bridges_two_sessions_makes_them_meet_what_either_met() -> None:
    """Left 0 met right 0, left 1 met right 1; the bridge makes left 0 meet right 1, and so on."""
    host = host_of(emit=CHANGES)
    assert host.feed(at(0, 8), at(1, 13), to=0) == {(0, 0, 0, 6): 1, (1, 1, 8, 18): 1}
    assert host.feed(at(4, first=2), []) == {
        (0, 1, 0, 18): 1,
        (1, 0, 0, 13): 1,
        (2, 0, 0, 13): 1,
        (2, 1, 0, 18): 1,
    }
    assert host.finish() == {}


def test_a_bridge_over_held_sessions_is_one_window() -> None:
    host = host_of(JoinType.FULL)
    assert host.feed(at(0, 8), at(13), to=0) == {}
    assert host.feed(at(4, first=2), [], to=0) == {}
    assert host.finish() == {(0, 0, 0, 18): 1, (1, 0, 0, 18): 1, (2, 0, 0, 18): 1}


def test_a_bridge_on_one_side_does_not_make_sessions_of_the_other_one() -> None:
    host = host_of()
    host.feed(at(0, 5, 10), at(0, 11), to=0)
    out = host.finish()
    first = {(number, 0, 0, 15): 1 for number in range(3)}
    assert out == first | {(number, 1, 0, 16): 1 for number in range(3)}


def test_a_chain_of_meetings_joins_only_those_that_share_a_moment() -> None:
    """Left [0, 5], right [4, 9], left [9, 14], right [13, 18]: the outer two do not meet."""
    host = host_of(JoinType.FULL)
    host.feed(at(0, 9), at(4, 13), to=0)
    assert host.finish() == {(0, 0, 0, 9): 1, (1, 0, 4, 14): 1, (1, 1, 9, 18): 1}


@EITHER
def test_rows_of_one_time_and_equal_rows_each_count(emit: Emit) -> None:
    host = host_of(emit=emit)
    twin = Row(7, 3, A)
    out = host.feed([twin, twin], at(3, 3))
    out.update(host.finish())
    assert out == {(7, 0, 3, 8): 2, (7, 1, 3, 8): 2}


def test_keys_that_differ_do_not_meet_even_if_their_hashes_do() -> None:
    host = host_of(JoinType.FULL)
    host.hashing = lambda _: 1
    host.feed(at(0, key=A), at(0, key=B), to=0)
    assert host.finish() == {(0, None, 0, 5): 1, (None, 0, 0, 5): 1}


@EITHER
def test_a_row_without_a_key_is_a_session_of_its_own(emit: Emit) -> None:
    host = host_of(JoinType.LEFT, emit)
    assert host.feed(at(0, 1, key=NO_KEY), at(0, key=NO_KEY)) == {
        (0, None, 0, 5): 1,
        (1, None, 1, 6): 1,
    }
    counts = host.last.counts
    assert (counts["left.accepted"], counts["right.missing_key"]) == (2, 1)
    assert host.finish() == {}


@EITHER
@pytest.mark.parametrize("how", list(JoinType))
def test_a_session_that_met_none_comes_out_once_it_is_closed(how: JoinType, emit: Emit) -> None:
    host = host_of(how, emit)
    assert host.feed(at(0, 3), at(20), to=8) == {}
    alone = {(0, None, 0, 8): 1, (1, None, 0, 8): 1} if how.keeps_left else {}
    assert host.feed([], [], to=9) == alone
    assert host.last.counts["unmatched"] == len(alone)
    assert host.finish() == ({(None, 0, 20, 25): 1} if how.keeps_right else {})
    assert host.last.counts["state_rows"] == 0


def test_while_one_input_is_silent_nothing_is_closed() -> None:
    host = host_of(JoinType.FULL)
    assert host.feed(at(0, 100, 200), []) == {}
    assert host.clock.after == BEGIN_OF_TIME
    assert host.feed([], at(200)) == {(0, None, 0, 5): 1, (1, None, 100, 105): 1}
    assert host.finish() == {(2, 0, 200, 205): 1}


def test_semi_a_left_row_comes_out_once_with_the_partner_that_closes_first() -> None:
    host = host_of(JoinType.SEMI)
    assert host.feed(at(0, 5, 10), at(0, 11, 16), to=15) == {}
    first = {(number, None, 0, 15): 1 for number in range(3)}
    assert host.feed([], [], to=16) == first
    assert host.finish() == {}
    assert host.last.counts["matches"] == 3


def test_semi_a_closed_session_waits_for_its_only_partner() -> None:
    host = host_of(JoinType.SEMI)
    assert host.feed(at(0), at(4), to=6) == {}
    assert host.last.counts["left.held"] == 1
    assert host.feed([], [], to=10) == {(0, None, 0, 9): 1}


def test_semi_a_row_comes_out_at_once_when_its_session_has_met_one() -> None:
    host = host_of(JoinType.SEMI, CHANGES)
    assert host.feed(at(0), []) == {}
    assert host.feed([], at(4)) == {(0, None, 0, 9): 1}
    assert host.feed(at(3, first=1), at(5, first=1)) == {(1, None, 0, 10): 1}
    assert host.last.counts["left.held"] == host.last.counts["right.held"] == 0
    assert host.finish() == {}


@EITHER
def test_anti_rows_of_a_session_that_met_one_are_not_held(emit: Emit) -> None:
    host = host_of(JoinType.ANTI, emit)
    assert host.feed(at(0, 20), at(4), to=0) == {}
    assert host.last.counts["left.held"] == 1
    assert host.feed(at(3, first=2), [], to=0) == {}
    assert host.last.counts["left.held"] == 1
    assert host.finish() == {(1, None, 20, 25): 1}


@pytest.mark.parametrize(
    ("how", "emit"),
    [(JoinType.ANTI, FINAL), (JoinType.ANTI, CHANGES), (JoinType.SEMI, CHANGES)],
)
def test_a_closed_session_is_not_held_where_it_is_enough_that_it_was_met(
    how: JoinType, emit: Emit
) -> None:
    host = host_of(how, emit)
    host.feed(at(0, 5, 10), at(0), to=6)
    assert host.last.counts["state_rows"] == 1  # the left session, without its rows
    out = host.feed(at(14, first=3), [])  # what it met is gone; that it did is known
    assert out == ({(3, None, 0, 19): 1} if how is JoinType.SEMI else {})
    assert host.finish() == {}


def test_late_rows_are_those_that_would_make_only_what_is_closed() -> None:
    host = host_of(JoinType.LEFT)
    host.feed(at(0), [], to=100)
    assert host.feed(at(94, 95, key=B, first=1), []) == {}  # 94 and 95 are one session: open
    assert host.feed(at(80, 94, first=3), []) == {}
    assert host.last.counts["left.late"] == 2
    assert host.finish() == {(1, None, 94, 100): 1, (2, None, 94, 100): 1}


def test_an_old_row_that_touches_an_open_session_is_part_of_it() -> None:
    host = host_of()
    host.feed(at(92, 96), at(96), to=100)
    assert host.feed(at(88, first=2), []) == {}
    assert host.last.counts["left.late"] == 0
    assert host.finish() == {(number, 0, 88, 101): 1 for number in range(3)}


def test_a_row_after_the_close_begins_a_new_session() -> None:
    """It would have been of the session [90, 95], which has come out."""
    host = host_of(JoinType.LEFT)
    assert host.feed(at(90), [], to=96) == {(0, None, 90, 95): 1}
    assert host.feed(at(94, first=1), []) == {}
    assert host.finish() == {(1, None, 94, 99): 1}


def test_a_closed_session_that_waits_does_not_grow() -> None:
    """Left [90, 95] waits for right [93, 103]. What comes then is another session, though it
    reaches back into the first one's time."""
    host = host_of()
    assert host.feed(at(88, 90), at(93, 98), to=96) == {}
    assert host.feed(at(89, 94, first=2), []) == {}
    assert host.finish() == {
        **{(left, right, 88, 103): 1 for left in (0, 1) for right in (0, 1)},
        **{(left, right, 89, 103): 1 for left in (2, 3) for right in (0, 1)},
    }


def test_late_rows_are_dropped_and_counted() -> None:
    host = host_of(JoinType.FULL)
    host.feed([], [], to=100)
    host.feed(at(1), at(1))
    host.feed(at(1), at(1, 2, 3))
    counts = host.last.counts
    assert (counts["left.late"], counts["right.late"]) == (2, 4)
    assert host.last.late == {}
    assert host.finish() == {}


def test_late_rows_within_the_budget_count_at_the_watermark() -> None:
    host = host_of(late=LatePolicy(LateAction.REASSIGN, budget=50))
    host.feed([], [], to=100)
    host.feed(at(50, 49), at(104))
    counts = host.last.counts
    assert (counts["left.late"], counts["left.reassigned"]) == (1, 1)
    assert host.finish() == {(0, 0, 100, 109): 1}


def test_late_rows_come_out_as_they_came() -> None:
    host = host_of(late=LatePolicy(LateAction.SIDE_OUTPUT))
    host.feed([], [], to=100)
    host.feed(at(10, 120), [Row(4, 94, NO_KEY)])
    left, right = host.last.late[0], host.last.late[1]
    assert left.rows(named=True) == [
        {
            "_t": 10,
            "l_k1": "a",
            "l_k2": 1,
            "l_id": 0,
            "_h": own_hash(Row(0, 10, A)),
            "_lateness": 90,
        }
    ]
    assert right.select("r_id", "_lateness").rows() == [(4, 6)]


def test_lateness_keeps_a_session_open_after_its_end() -> None:
    host = host_of(JoinType.LEFT, lateness=10)
    assert host.feed(at(0), [], to=15) == {}
    assert host.feed(at(2, first=1), at(7)) == {}
    assert host.last.counts["left.late"] == 0
    assert host.feed([], [], to=22) == {}
    assert host.feed([], [], to=23) == {(0, 0, 0, 12): 1, (1, 0, 0, 12): 1}


def test_beyond_its_limit_a_join_fails_and_says_what_to_do() -> None:
    host = host_of(limit=StateLimit(3))
    with pytest.raises(StateError) as failed:
        host.feed(at(0, 1), at(0), to=0)
    assert failed.value.code == "MS-STATE-LIMIT"
    assert str(failed.value.cause) == (
        "a key group of the session join holds 5 rows, its limit is 3."
    )
    assert failed.value.fix == (
        "Raise 'state.max_rows', shorten the gap, or set 'state.on_limit' = 'evict' to close the "
        "oldest sessions early."
    )


@EITHER
def test_beyond_a_limit_sessions_that_end_first_close_early(emit: Emit) -> None:
    host = host_of(JoinType.FULL, emit, limit=StateLimit(4, on_limit=OnLimit.EVICT))
    assert host.feed(at(50), [], to=0) == {}
    out = host.feed([Row(1, 0, B), Row(2, 1, B)], [Row(0, 2, B)], to=0)
    assert out == {(1, 0, 0, 7): 1, (2, 0, 0, 7): 1}  # and A is held
    counts = host.last.counts
    assert (counts["left.evicted"], counts["right.evicted"], counts["left.held"]) == (2, 1, 1)
    assert host.finish() == {(0, None, 50, 55): 1}


def test_beyond_a_limit_of_bytes_sessions_close_early() -> None:
    host = host_of(JoinType.LEFT, limit=StateLimit(max_bytes=1, on_limit=OnLimit.EVICT))
    assert host.feed(at(0, 20), [], to=0) == {(0, None, 0, 5): 1, (1, None, 20, 25): 1}
    assert host.last.counts["state_bytes"] == 0


def test_the_account_has_the_same_names_as_that_of_other_joins() -> None:
    host = host_of()
    host.feed(at(0), at(0))
    assert set(host.last.counts) == set(COUNTS)


def test_a_step_that_changes_nothing_touches_no_store_but_one() -> None:
    host = host_of()
    host.feed(at(0), at(0), to=0)
    calls = host.state.calls.copy()
    host.feed([], [], to=5)
    assert host.state.calls - calls == Counter(get=1)


def test_a_session_that_grows_is_not_read_again() -> None:
    """Its rows are read when they come out: what a step reads does not grow with the session."""
    host = host_of()
    host.join = SessionJoin(host.join.spec, Host.types)
    for number in range(40):
        rows = [Row(number * 3000 + each, number, A) for each in range(3000)]
        host.feed(rows, [], to=0)
    cache.forget_all()
    calls = host.state.calls.copy()
    host.feed(at(40), [], to=0)
    assert (host.state.calls - calls)["get"] <= 2  # the manifests, and the page of sessions


def test_a_kernel_travels_to_workers_and_takes_frames_as_they_come() -> None:
    kernel = pickle.loads(pickle.dumps(host_of(JoinType.LEFT).join))
    assert kernel.stores == (("meta", "value"), ("segments", "map"))
    part = frame_of(at(0, 1), 0, own_hash).with_columns(pl.lit(1).alias("other"))
    left = pl.concat([part, part], rechunk=False).select(reversed(part.columns))
    copy = left.clone()
    end = Clock(BEGIN_OF_TIME, END_OF_TIME)
    (out,) = kernel.step(MemoryState(), {0: left}, end).main
    assert out.schema["r_id"] == pl.Int64
    assert sorted(out["l_id"]) == [0, 0, 1, 1]
    assert left.equals(copy)
