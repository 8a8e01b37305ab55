"""Fates are defined once: kernels, ledger and documentation use the same words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millstream.kernels import deduplicate
from millstream.kernels.aggregate import step as aggregate
from millstream.kernels.interval_join import kernel as interval
from millstream.kernels.over_aggregate import kernel as rows_over
from millstream.kernels.regular_join import kernel as regular
from millstream.kernels.top_n import kernel as top_n
from millstream.observe.ledger import InputAccount
from millstream.row_outcomes import ACCEPTED, REJECTED, Fate

_NOT_FATES = {"ignored"}  # retractions of rows that are no longer in state
_CHAPTER = Path(__file__).parents[2] / "docs" / "07-running-jobs.md"


@pytest.mark.parametrize("kernel", [aggregate, deduplicate, interval, regular, rows_over, top_n])
def test_a_kernel_counts_rows_by_fates(kernel):
    counted = {name.partition(".")[2] for name in kernel.COUNTS if "." in name}
    assert counted - _NOT_FATES <= {fate.value for fate in Fate}
    assert {fate.value for fate in ACCEPTED} <= counted


def test_every_row_has_one_fate():
    others = {Fate.IN, Fate.COPIES, Fate.ACCEPTED, Fate.REASSIGNED}
    assert sorted([*ACCEPTED, *REJECTED, *others]) == sorted(Fate)


def test_json_names_are_those_of_the_definitions():
    named = InputAccount("orders", {"copies": 1}).as_data()
    assert list(named) == [fate.value for fate in Fate]


def test_the_documentation_defines_every_fate():
    text = _CHAPTER.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE)
    defined = [row for row in rows if row[0] in {fate.value for fate in Fate}]
    assert defined == [(fate.value, fate.definition) for fate in Fate]
