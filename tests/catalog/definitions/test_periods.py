"""Hierarchies of periods: no overlaps in a level, no cycles, children inside of parents; gaps."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.catalog.month_end import write

from millstream.catalog.definitions.load import load_definitions
from millstream.catalog.definitions.periods import check_periods, find_gaps
from millstream.catalog.definitions.plan import plan_changes
from millstream.catalog.model import Definitions, Period, Positions
from millstream.errors import CatalogError, Place

DAY_0 = date(2026, 1, 1)


def _period(name: str, first: int, last: int, level: str = "month", parent: str | None = None):
    days = timedelta(days=first), timedelta(days=last)
    return Period(name, DAY_0 + days[0], DAY_0 + days[1], level, parent)


ranges = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair))),
    max_size=8,
)


@given(ranges)
def test_periods_of_a_level_are_rejected_exactly_if_two_share_a_day(given_ranges):
    periods = [_period(f"p{n}", *each) for n, each in enumerate(given_ranges)]
    days = [day for first, last in given_ranges for day in range(first, last + 1)]
    if len(days) == len(set(days)):
        check_periods(periods, ())
    else:
        with pytest.raises(CatalogError) as error:
            check_periods(periods, ())
        assert error.value.code == "MS-CATALOG-PERIOD-OVERLAP"


@given(ranges)
def test_gaps_are_the_days_of_no_period(given_ranges):
    taken: set[int] = set()
    disjoint = []
    for first, last in given_ranges:
        if taken.isdisjoint(range(first, last + 1)):
            taken |= set(range(first, last + 1))
            disjoint.append((first, last))
    periods = [_period(f"p{n}", *each) for n, each in enumerate(disjoint)]
    missing = {
        (first + timedelta(days=n) - DAY_0).days
        for _, first, last in find_gaps(periods)
        for n in range((last - first).days + 1)
    }
    whole = set(range(min(taken), max(taken) + 1)) if taken else set()
    assert missing == whole - taken


@given(st.lists(st.integers(1, 40), min_size=1, max_size=20), st.integers(2, 5))
def test_a_calendar_without_gaps_is_accepted_in_all_its_levels(lengths, size):
    periods: list[Period] = []
    begin = 0
    for number, length in enumerate(lengths):
        quarter = f"q{number // size}"
        periods.append(_period(f"m{number}", begin, begin + length - 1, "month", quarter))
        begin += length
    for number in range((len(lengths) - 1) // size + 1):
        months = [each for each in periods if each.parent == f"q{number}"]
        periods.append(Period(f"q{number}", months[0].start, months[-1].end, "quarter"))
    check_periods(periods, ())
    assert find_gaps(periods) == []


@given(st.integers(1, 6), st.integers(0, 5))
def test_a_cycle_of_any_length_is_found(length, before):
    cycle = [_period(f"c{n}", 0, 0, f"l{n}", f"c{(n + 1) % length}") for n in range(length)]
    leading = [
        _period(f"a{n}", 0, 0, f"k{n}", f"a{n + 1}" if n + 1 < before else "c0")
        for n in range(before)
    ]
    with pytest.raises(CatalogError) as error:
        check_periods([*leading, *cycle], ())
    assert error.value.code == "MS-CATALOG-PERIOD-CYCLE"
    named = error.value.cause.removeprefix("periods are their own parents: ").rstrip(".")
    assert set(named.split(" in ")) == {each.identifier for each in cycle}


MONTHS = """\
periods:
  - {identifier: q1, level: quarter, start: 2026-01-01, end: 2026-03-31}
  - {identifier: jan, level: month, start: 2026-01-01, end: 2026-01-31, parent: q1}
"""


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (
            "{identifier: feb, level: month, start: 2026-01-31, end: 2026-02-28, parent: q1}",
            "MS-CATALOG-PERIOD-OVERLAP",
            "the periods jan (2026-01-01 to 2026-01-31) and feb (2026-01-31 to 2026-02-28) of the "
            "level month overlap.",
        ),
        (
            "{identifier: feb, level: month, start: 2026-02-01, end: 2026-02-28, parent: q2}",
            "MS-CATALOG-PERIOD",
            "the parent q2 of the period feb is not defined.",
        ),
        (
            "{identifier: apr, level: month, start: 2026-04-01, end: 2026-04-30, parent: q1}",
            "MS-CATALOG-PERIOD",
            "the period apr (2026-04-01 to 2026-04-30) is not inside of its parent q1",
        ),
        (
            "{identifier: x, level: week, start: 2026-01-01, end: 2026-01-07, parent: x}",
            "MS-CATALOG-PERIOD-CYCLE",
            "periods are their own parents: x in x.",
        ),
    ],
)
def test_a_wrong_period_is_rejected_with_its_line(tmp_path: Path, line, code, words):
    """Also if the other periods are in the catalog already."""
    known = load_definitions(write(tmp_path / "known", periods=MONTHS))
    current = Definitions(1, periods=known.periods)
    together = write(tmp_path / "together", periods=f"{MONTHS}  - {line}\n")
    later = write(tmp_path / "later", periods=f"periods:\n  - {line}\n")
    for folder, at, stored in ((together, 4, Definitions(0)), (later, 2, current)):
        with pytest.raises(CatalogError) as error:
            plan_changes(stored, load_definitions(folder))
        assert (error.value.code, error.value.cause[: len(words)]) == (code, words)
        place = error.value.place
        assert place is not None
        assert (place.file, place.line) == (str(folder / "periods.yaml"), at)


def test_a_gap_is_a_note_of_the_plan(tmp_path: Path):
    march = "  - {identifier: mar, level: month, start: 2026-03-01, end: 2026-03-31, parent: q1}\n"
    plan = plan_changes(Definitions(0), load_definitions(write(tmp_path, p=MONTHS + march)))
    assert plan.notes == ("the level month has no period from 2026-02-01 to 2026-02-28",)


def test_the_position_of_an_overlap_is_that_of_the_written_period():
    old, new = _period("old", 5, 9), _period("new", 0, 6)
    placed = replace(new, positions=Positions(Place(7, 1)))
    with pytest.raises(CatalogError) as error:
        check_periods([old, placed], {"new"})
    assert error.value.place == Place(7, 1)
