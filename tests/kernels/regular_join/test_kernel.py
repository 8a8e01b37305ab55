"""The regular join by example."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import cast

import polars as pl
import pytest
from tests.kernels.join_harness import integer_key
from tests.kernels.regular_join.harness import (
    BOTH,
    B,
    Harness,
    harness_of,
    minus,
    plus,
    rows_of,
    spec_of,
)
from tests.kernels.regular_join.oracle import Join

from millstream.errors import StateError
from millstream.kernels.core import key_index as index
from millstream.kernels.core.kernel import DELETE, INSERT, WatermarkAdvance
from millstream.kernels.regular_join.kernel import COUNTS, RegularJoin, RegularJoinSpec
from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.memory_state import MemoryState
from millstream.scalars import Compare
from millstream.temporal import BEGIN_OF_TIME, LateAction, LatePolicy, OnLimit, StateLimit
from millstream.values import JoinType


def test_a_pair_is_emitted_when_its_second_row_comes() -> None:
    harness = harness_of(JoinType.INNER)
    assert harness.feed([plus(1), plus(2)]) == {}
    assert harness.feed([], [plus(7), plus(8, B)]) == {(1, 7): 1, (2, 7): 1}
    assert harness.feed([plus(3, B, t=10**9)]) == {(3, 8): 1}
    assert harness.feed([plus(4)], [plus(9)]) == {(4, 7): 1, (1, 9): 1, (2, 9): 1, (4, 9): 1}
    counts = harness.last.counts
    assert (counts["matches"], counts["left.in_state"], counts["right.in_state"]) == (7, 4, 3)
    assert counts["retractions"] == 0


def test_an_inner_join_of_rows_that_stay_has_no_operation_column() -> None:
    harness = harness_of(JoinType.INNER)
    harness.feed([plus(1)], [plus(7)])
    assert rows_of(harness) == [(1, 0.0, 7, 0.0)]


def test_an_outer_row_is_emitted_as_unmatched_at_once_and_is_retracted_when_a_match_comes() -> None:
    harness = harness_of(JoinType.LEFT)
    harness.feed([plus(1)])
    assert rows_of(harness) == [(1, 0.0, None, None, INSERT)]
    harness.feed([], [plus(7)])
    assert rows_of(harness) == [(1, 0.0, None, None, DELETE), (1, 0.0, 7, 0.0, INSERT)]
    assert harness.feed([], [plus(8)]) == {(1, 8): 1}
    assert harness.last.counts["unmatched"] == 1
    assert harness.last.counts["retractions"] == 1


def test_a_row_that_has_a_match_in_its_own_batch_was_never_unmatched() -> None:
    harness = harness_of(JoinType.FULL)
    assert harness.feed([plus(1), plus(2, B)], [plus(7)]) == {(1, 7): 1, (2, None): 1}
    assert harness.last.counts["retractions"] == 0


def test_a_pair_is_retracted_with_either_of_its_rows() -> None:
    harness = harness_of(JoinType.INNER, BOTH)
    harness.feed([plus(1), plus(2)], [plus(7), plus(8)])
    assert harness.feed([minus(1)]) == {(1, 7): -1, (1, 8): -1}
    assert harness.feed([], [minus(7)]) == {(2, 7): -1}
    assert harness.feed([minus(2)], [minus(8)]) == {(2, 8): -1}
    assert harness.last.counts["state_rows"] == 0


def test_two_rows_that_go_together_leave_nothing_behind() -> None:
    harness = harness_of(JoinType.FULL, BOTH)
    harness.feed([plus(1)], [plus(7)])
    harness.feed([minus(1)], [minus(7)])
    assert rows_of(harness) == [(1, 0.0, 7, 0.0, DELETE)]
    assert harness.last.counts["state_rows"] == 0


def test_a_row_is_emitted_as_unmatched_again_when_its_last_match_was_retracted() -> None:
    harness = harness_of(JoinType.LEFT, (False, True))
    harness.feed([plus(1)], [plus(7), plus(8)])
    assert harness.feed([], [minus(7)]) == {(1, 7): -1}
    assert harness.feed([], [minus(8)]) == {(1, 8): -1, (1, None): 1}
    assert rows_of(harness) == [(1, 0.0, 8, 0.0, DELETE), (1, 0.0, None, None, INSERT)]
    assert harness.feed([], [plus(9)]) == {(1, None): -1, (1, 9): 1}


def test_a_match_that_is_replaced_in_one_batch_leaves_its_row_in_company() -> None:
    harness = harness_of(JoinType.LEFT, (False, True))
    harness.feed([plus(1)], [plus(7)])
    harness.feed([], [minus(7), plus(8)])
    assert rows_of(harness) == [(1, 0.0, 7, 0.0, DELETE), (1, 0.0, 8, 0.0, INSERT)]


def test_an_outer_row_is_retracted_as_it_was_emitted() -> None:
    harness = harness_of(JoinType.FULL, BOTH)
    harness.feed([plus(1), plus(2, B)], [plus(7)])
    assert harness.feed([minus(2, B)]) == {(2, None): -1}
    assert harness.feed([minus(1)]) == {(1, 7): -1, (None, 7): 1}
    assert harness.feed([], [minus(7)]) == {(None, 7): -1}


def test_semi_emits_a_row_once_and_retracts_it_with_its_last_match() -> None:
    harness = harness_of(JoinType.SEMI, (False, True))
    assert harness.feed([plus(1)]) == {}
    assert harness.feed([], [plus(7), plus(8)]) == {(1,): 1}
    assert harness.feed([], [minus(7)]) == {}
    assert harness.feed([], [minus(8)]) == {(1,): -1}
    assert harness.feed([plus(2)], [plus(9)]) == {(1,): 1, (2,): 1}


def test_semi_drops_a_row_whose_match_cannot_be_retracted() -> None:
    harness = harness_of(JoinType.SEMI)
    assert harness.feed([plus(1), plus(2, B)], [plus(7)]) == {(1,): 1}
    assert harness.feed([], [plus(8), plus(9, B)]) == {(2,): 1}
    assert (harness.last.counts["left.in_state"], harness.last.counts["right.in_state"]) == (0, 3)


def test_anti_retracts_a_row_when_a_match_comes_and_emits_it_again_when_that_is_retracted() -> None:
    harness = harness_of(JoinType.ANTI, (False, True))
    assert harness.feed([plus(1)]) == {(1,): 1}
    assert harness.feed([], [plus(7)]) == {(1,): -1}
    assert harness.feed([], [minus(7)]) == {(1,): 1}


def test_anti_of_rows_that_stay_drops_a_row_that_has_a_match() -> None:
    harness = harness_of(JoinType.ANTI)
    harness.feed([plus(1)])
    assert harness.feed([], [plus(7)]) == {(1,): -1}
    assert harness.last.counts["left.in_state"] == 0


def test_equal_rows_are_there_several_times_and_one_goes_at_a_time() -> None:
    harness = harness_of(JoinType.INNER, BOTH)
    assert harness.feed([plus(1), plus(1), plus(1)], [plus(7), plus(7)]) == {(1, 7): 6}
    assert harness.feed([minus(1)]) == {(1, 7): -2}
    assert harness.feed([minus(1)], [minus(7)]) == {(1, 7): -3}
    assert (harness.last.counts["left.in_state"], harness.last.counts["right.in_state"]) == (1, 1)


def test_of_a_row_and_its_retraction_in_one_batch_nothing_is_emitted() -> None:
    harness = harness_of(JoinType.LEFT, BOTH)
    assert harness.feed([plus(1), minus(1), plus(2), plus(2), minus(2)]) == {(2, None): 1}
    assert rows_of(harness) == [(2, 0.0, None, None, INSERT)]
    assert harness.feed([minus(2), plus(2)]) == {}
    assert rows_of(harness) == []
    assert harness.last.counts["left.accepted"] == 7


def test_of_equal_rows_that_come_and_go_in_one_batch_the_newest_stay() -> None:
    harness = harness_of(JoinType.INNER, BOTH, ttl=10)
    harness.feed([plus(1, t=8), minus(1, t=9), plus(1, t=0)], [plus(8, B, t=15)])
    harness.feed([plus(2, B, t=15)])
    assert harness.feed([], [plus(7, t=15)]) == {(1, 7): 1}


def test_rows_are_equal_if_all_that_is_stored_of_them_is() -> None:
    harness = harness_of(JoinType.LEFT, BOTH)
    harness.feed([plus(1, x=1.0), plus(1, x=math.nan), plus(1, B, x=1.0)])
    harness.feed([minus(1, x=math.nan)])
    (row,) = rows_of(harness)
    assert math.isnan(cast("float", row[1]))
    assert harness.feed([minus(1, x=2.0)]) == {}
    assert harness.last.counts["left.ignored"] == 1


def test_a_row_that_is_retracted_but_never_came_is_counted() -> None:
    harness = harness_of(JoinType.FULL, BOTH)
    assert harness.feed([minus(1)], [minus(7), minus(7)]) == {}
    counts = harness.last.counts
    assert (counts["left.ignored"], counts["right.ignored"]) == (1, 2)
    assert counts["left.accepted"] == counts["left.processed"] == 1


def test_a_row_without_a_key_matches_nothing_and_is_retracted_as_unmatched() -> None:
    harness = harness_of(JoinType.LEFT, BOTH)
    nothing = (None, 1)
    assert harness.feed([plus(1, nothing)], [plus(7, nothing)]) == {(1, None): 1}
    assert harness.feed([minus(1, nothing)], [minus(7, nothing)]) == {(1, None): -1}
    counts = harness.last.counts
    assert (counts["left.accepted"], counts["left.missing_key"]) == (2, 0)
    assert (counts["right.accepted"], counts["right.missing_key"]) == (0, 2)


def test_a_row_expires_without_a_retraction() -> None:
    harness = harness_of(JoinType.LEFT, BOTH, ttl=10)
    harness.feed([plus(1, t=0), plus(2, t=20)], [plus(7, t=0), plus(8, t=20)])
    assert harness.last.counts["left.in_state"] == harness.last.counts["right.in_state"] == 1
    # Of (1, 7), (1, 8), (2, 7) and (2, 8) only the last has both its rows stored.
    assert harness.feed([plus(3, t=21)], [minus(8, t=20)]) == {(2, 8): -1, (3, None): 1}


def test_a_row_whose_match_expired_is_not_emitted_as_unmatched_again() -> None:
    harness = harness_of(JoinType.LEFT, (False, True), ttl=10)
    harness.feed([plus(1, t=5)], [plus(7, t=0), plus(8, t=5)])
    harness.feed([plus(3, B, t=11)], [plus(9, B, t=11)])
    assert harness.last.counts["right.in_state"] == 2  # 7 is gone
    assert harness.feed([plus(2, t=11)]) == {(2, 8): 1}
    assert harness.feed([], [minus(8, t=12)]) == {(1, 8): -1, (2, 8): -1, (2, None): 1}


def test_a_retraction_of_an_expired_row_is_ignored_and_counted() -> None:
    harness = harness_of(JoinType.INNER, BOTH, ttl=10)
    harness.feed([plus(1, t=0), plus(2, t=8)], [plus(7, t=8)])
    harness.feed([plus(3, (None, 1), t=15)], [plus(8, B, t=15)])  # only time passes for the others
    assert harness.feed([minus(1, t=15)]) == {}
    assert (harness.last.counts["left.ignored"], harness.last.counts["left.in_state"]) == (1, 1)


def test_of_equal_rows_the_oldest_is_retracted() -> None:
    harness = harness_of(JoinType.INNER, BOTH, ttl=10)
    harness.feed([plus(1, t=0), plus(1, t=8)])
    harness.feed([minus(1, t=8)])
    harness.feed([plus(2, B, t=15)], [plus(8, B, t=15)])
    assert harness.feed([], [plus(7, t=15)]) == {(1, 7): 1}


def test_of_equal_rows_of_one_time_the_one_with_the_fewest_matches_is_retracted() -> None:
    harness = harness_of(JoinType.LEFT, BOTH, ttl=10)
    harness.feed([plus(1, t=10)], [plus(7, t=0)])
    harness.feed([plus(2, B, t=11)], [plus(8, B, t=11)])  # and 7 is gone
    assert harness.feed([plus(1, t=10)]) == {(1, None): 1}
    assert harness.feed([minus(1, t=10)]) == {(1, None): -1}
    assert harness.feed([minus(1, t=10)]) == {}
    assert (harness.last.counts["left.in_state"], harness.last.counts["left.ignored"]) == (1, 0)


def test_a_row_is_late_when_it_would_not_be_in_state() -> None:
    harness = harness_of(JoinType.LEFT, ttl=10, late=LatePolicy(LateAction.SIDE_OUTPUT))
    harness.feed([plus(1, t=20)], [plus(7, t=20)])
    assert harness.feed([plus(2, t=10), plus(3, t=9)]) == {(2, 7): 1}
    assert harness.last.counts["left.late"] == 1
    assert harness.last.late[0].select("l_id", "_lateness").rows() == [(3, 11)]


def test_a_late_row_may_be_reassigned_to_the_watermark() -> None:
    harness = harness_of(JoinType.INNER, ttl=10, late=LatePolicy(LateAction.REASSIGN, budget=15))
    harness.feed([plus(1, t=20)], [plus(7, t=20)])
    assert harness.feed([plus(2, t=5), plus(3, t=4)]) == {(2, 7): 1}
    assert (harness.last.counts["left.reassigned"], harness.last.counts["left.late"]) == (1, 1)
    harness.feed([plus(4, t=30)], [plus(8, t=30)])
    assert harness.last.counts["left.in_state"] == 3


def test_rows_without_a_ttl_are_never_late_and_never_go() -> None:
    harness = harness_of(JoinType.INNER)
    harness.feed([plus(1, t=10**9)], [plus(7, t=10**9)])
    assert harness.feed([plus(2, t=-(10**9))]) == {(2, 7): 1}
    assert harness.finish() == {}
    assert harness.feed([plus(3)]) == {(3, 7): 1}


def test_when_only_time_passes_expired_rows_go() -> None:
    harness = harness_of(JoinType.FULL, ttl=10)
    harness.feed([plus(1)], [plus(7)])
    assert harness.finish() == {}
    assert harness.last.counts["state_rows"] == 0
    assert not harness.state.map("segments").content


def test_a_batch_without_rows_costs_one_read_while_nothing_expires() -> None:
    harness = harness_of(JoinType.FULL, BOTH, ttl=10)
    harness.feed([plus(1)], [plus(7)])
    calls = sum(harness.state.calls.values())
    harness.feed()
    assert sum(harness.state.calls.values()) == calls + 1


def test_a_predicate_decides_matching() -> None:
    harness = harness_of(JoinType.LEFT, (False, True), across=Compare("l_x", "<", "r_x"))
    assert harness.feed([plus(1, x=1.0)], [plus(7, x=1.0)]) == {(1, None): 1}
    assert harness.feed([], [plus(8, x=2.0)]) == {(1, None): -1, (1, 8): 1}
    assert harness.feed([], [minus(7, x=1.0)]) == {}
    assert harness.feed([], [minus(8, x=2.0)]) == {(1, 8): -1, (1, None): 1}


def test_equal_hashes_are_not_equal_keys() -> None:
    harness = harness_of(JoinType.FULL, BOTH)
    harness.hashing = lambda _row: 1
    harness.feed([plus(1), plus(1, B)], [plus(7)])
    assert harness.feed([], [minus(7)]) == {(1, 7): -1, (1, None): 1}
    assert harness.feed([minus(1)]) == {(1, None): -1}
    assert harness.feed([], [plus(8, B)]) == {(1, None): -1, (1, 8): 1}


def test_many_rows_of_one_key_are_retracted_without_looking_at_all_pairs(monkeypatch) -> None:
    seen = []
    pairs = index.KeyIndex.pairs

    def counting(self, other, *args, **kwargs):
        for found in pairs(self, other, *args, **kwargs):
            seen.append(found[0].size)
            yield found

    harness = harness_of(JoinType.INNER, BOTH)
    harness.feed([plus(number) for number in range(2000)])
    monkeypatch.setattr(index.KeyIndex, "pairs", counting)
    harness.feed([minus(number) for number in range(0, 2000, 2)])
    assert harness.last.counts["left.in_state"] == 1000
    assert sum(seen) == 1000


def test_all_matches_of_a_hot_key_are_counted() -> None:
    spec = replace(
        spec_of(Join(JoinType.SEMI), (False, True)),
        left_keys=("l_k2",), right_keys=("r_k2",), key_is_hash=True,
    )  # fmt: skip
    harness = Harness(RegularJoin(spec, Harness.types), hashing=integer_key)
    harness.feed([plus(number) for number in range(60)])
    assert harness.feed([], [plus(7)] * 60) == {(number,): 1 for number in range(60)}
    assert harness.feed([], [minus(7)] * 59) == {}
    assert harness.feed([], [minus(7)]) == {(number,): -1 for number in range(60)}


def test_one_match_of_a_hot_hash_is_not_enough_if_it_may_be_of_another_key() -> None:
    harness = harness_of(JoinType.SEMI)
    harness.hashing = lambda _row: 1
    harness.feed([], [*[plus(7, B)] * 60, *[plus(8)] * 60])
    assert harness.feed([plus(number) for number in range(60)]) == {(id_,): 1 for id_ in range(60)}


def test_of_a_limit_the_oldest_rows_are_evicted_without_output() -> None:
    limit = StateLimit(max_rows=2, on_limit=OnLimit.EVICT)
    harness = harness_of(JoinType.LEFT, BOTH, limit=limit)
    harness.feed([plus(1, t=3), plus(2, t=1)], [plus(7, B, t=2)])
    assert (harness.last.counts["left.evicted"], harness.last.counts["state_rows"]) == (1, 2)
    assert harness.feed([], [plus(8, t=9)]) == {(1, None): -1, (1, 8): 1}
    assert harness.last.counts["right.evicted"] == 1


def test_beyond_a_limit_the_join_fails_with_advice() -> None:
    harness = harness_of(JoinType.LEFT, limit=StateLimit(max_rows=1))
    with pytest.raises(StateError, match="has 2 rows; its limit is 1") as failed:
        harness.feed([plus(1), plus(2)])
    assert failed.value.code == "MS-STATE-LIMIT"
    assert "'state.ttl'" in failed.value.fix


def test_all_counts_are_reported_from_the_first_step_on() -> None:
    harness = harness_of(JoinType.INNER)
    harness.feed()
    assert harness.last.counts == dict.fromkeys(COUNTS, 0)


def test_columns_of_lists_and_structs_are_retracted_by_value() -> None:
    kind = pl.List(pl.Struct({"key": pl.String, "value": pl.Int64}))
    spec = RegularJoinSpec(
        JoinType.INNER, ("l_k",), ("r_k",), ("l_k", "m"), ("r_k",), over_changes=BOTH
    )
    join = RegularJoin(spec, {})
    state, advance = MemoryState(), WatermarkAdvance(BEGIN_OF_TIME, BEGIN_OF_TIME)

    def left(value: int, op: int) -> pl.DataFrame:
        entry = pl.Series("m", [[{"key": "a", "value": value}]], dtype=kind)
        return pl.DataFrame({"_t": [0], "_h": [1], "l_k": ["a"], "_op": [op]}).with_columns(entry)

    right = pl.DataFrame({"_t": [0], "_h": [1], "r_k": ["a"], "_op": [INSERT]})
    join.step(state, {0: left(1, INSERT).vstack(left(2, INSERT)), 1: right}, advance)
    cache.clear_cache()
    (out,) = join.step(state, {0: left(2, DELETE)}, advance).main
    assert out.rows() == [("a", [{"key": "a", "value": 2}], "a", DELETE)]


def test_a_regular_join_can_be_pickled() -> None:
    harness = harness_of(JoinType.LEFT, BOTH)
    harness.feed([plus(1)])
    twin = replace(harness, join=pickle.loads(pickle.dumps(harness.join)))
    assert twin.feed([], [plus(7)]) == {(1, None): -1, (1, 7): 1}
