"""Results do not depend on how keys are assigned to key groups: all have the same watermark
advance."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.kernels.aggregate.kernel import create_kernel, pre_aggregate
from millstream.kernels.core.kernel import INSERT, WatermarkAdvance
from millstream.kernels.core.specs import AggregateSpec, CallSpec
from millstream.kernels.state.memory_state import MemoryState
from millstream.temporal import BEGIN_OF_TIME, END_OF_TIME, Emit, Window, WindowKind

Rows = list[tuple[str, int]]
WINDOWS = (
    Window(WindowKind.TUMBLING, 10, 10),
    Window(WindowKind.SLIDING, 10, 5),
    Window(WindowKind.SLIDING, 9, 3, 1),
    Window(WindowKind.SESSION, 4),
)


def frame(rows: Rows) -> pl.DataFrame:
    cells = [(key, time, ord(key)) for key, time in rows]
    return pl.DataFrame(cells, {"k": pl.String, "_t": pl.Int64, "_h": pl.Int64}, orient="row")


def out(spec: AggregateSpec, batches: list[Rows], marks: list[int], groups: int) -> Counter[Any]:
    """All that is emitted of `groups` key groups, one batch after the other."""
    kernel = create_kernel(spec, {"n": pl.Int64()})
    states = [MemoryState() for _ in range(groups)]
    found: Counter[Any] = Counter()
    before = BEGIN_OF_TIME
    for rows, after in zip([*batches, []], [*marks, END_OF_TIME], strict=True):
        for number, state in enumerate(states):
            mine = [row for row in rows if ord(row[0]) % groups == number]
            inputs = {0: frame(mine)} if mine else {}
            result = kernel.step(state, inputs, WatermarkAdvance(before, max(after, before)))
            found.update(row for made in result.main for row in made.rows())
        before = max(after, before)
    return found


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[Rows], list[int]]:
    row = st.tuples(st.sampled_from("abcd"), st.integers(0, 40))
    batches = draw(st.lists(st.lists(row, max_size=5), min_size=1, max_size=6))
    marks = draw(st.lists(st.integers(-5, 45), min_size=len(batches), max_size=len(batches)))
    return batches, sorted(marks)


@given(
    st.sampled_from(WINDOWS), st.sampled_from(list(Emit)), st.sampled_from([0, 3, 12]), streams()
)
def test_one_group_or_four(
    window: Window, emit: Emit, lateness: int, stream: tuple[list[Rows], list[int]]
) -> None:
    spec = AggregateSpec(("k",), (CallSpec("count", "n"),), window, emit, lateness)
    assert out(spec, *stream, groups=1) == out(spec, *stream, groups=4)


@pytest.mark.parametrize("lateness", [0, 2])
def test_a_closed_sliding_window_does_not_are_emitted_of_a_group_that_was_quiet(
    lateness: int,
) -> None:
    spec = AggregateSpec(
        ("k",),
        (CallSpec("count", "n"),),
        Window(WindowKind.SLIDING, 10, 5),
        lateness=lateness,
    )
    found = out(spec, [[("a", 106)], [("b", 102)]], [107, 107], groups=2)
    ends = sorted(row[2] for row in found if row[0] == "b")
    assert ends == [110], "the window [95, 105) had closed before the row came"


@pytest.mark.parametrize("over_changes", [False, True], ids=["rows", "changes"])
@pytest.mark.parametrize(
    "window",
    [None, Window(WindowKind.TUMBLING, 10, 10), Window(WindowKind.SESSION, 10, 10)],
    ids=["running", "tumbling", "session"],
)
def test_two_float_keys_keep_their_names_and_have_one_zero(
    window: Window | None, over_changes: bool
) -> None:
    calls = (CallSpec("count_distinct", "a0", "k1"), CallSpec("count_distinct", "a1", "k2"))
    emit = Emit.CHANGES if window is None else Emit.FINAL
    spec = AggregateSpec(("k1", "k2"), calls, window, emit, over_changes=over_changes)
    rows = pl.DataFrame(
        {
            "_t": [1, 2, 3],
            "_h": [7, 7, 7],
            "k1": [0.0, -0.0, None],
            "k2": [-0.0, 0.0, float("nan")],
            "_op": pl.Series([INSERT, INSERT, INSERT], dtype=pl.Int8),
        }
    )
    arrived = pre_aggregate(spec, rows) if spec.early else rows
    step = create_kernel(spec, {}).step(
        MemoryState(), {0: arrived}, WatermarkAdvance(BEGIN_OF_TIME, 100)
    )
    made = pl.concat(step.main).select("k1", "k2", "a0", "a1")
    assert sorted(map(str, made.rows())) == ["(0.0, 0.0, 1, 1)", "(None, nan, 0, 1)"]
