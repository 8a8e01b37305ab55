"""Kernels, ledger and documentation use the same names of row outcomes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from millstream.kernels import deduplicate
from millstream.kernels.aggregate import step as aggregate
from millstream.kernels.interval_join import kernel as interval
from millstream.kernels.over_aggregate import kernel as over_aggregate
from millstream.kernels.regular_join import kernel as regular
from millstream.kernels.top_n import kernel as top_n
from millstream.observe.ledger import InputLedger
from millstream.row_outcomes import ACCEPTED_OUTCOMES, REJECTED_OUTCOMES, RowOutcome

_NOT_OUTCOMES = {"ignored"}  # retractions of rows that are no longer in state
_CHAPTER = Path(__file__).parents[1] / "docs" / "reference" / "row-outcomes.md"


@pytest.mark.parametrize(
    "kernel", [aggregate, deduplicate, interval, regular, over_aggregate, top_n]
)
def test_a_kernel_counts_rows_by_outcome(kernel):
    counted = {name.partition(".")[2] for name in kernel.COUNTS if "." in name}
    assert counted - _NOT_OUTCOMES <= {outcome.value for outcome in RowOutcome}
    assert {outcome.value for outcome in ACCEPTED_OUTCOMES} <= counted


def test_every_row_has_one_outcome():
    others = {RowOutcome.IN, RowOutcome.COPIES, RowOutcome.ACCEPTED, RowOutcome.REASSIGNED}
    assert sorted([*ACCEPTED_OUTCOMES, *REJECTED_OUTCOMES, *others]) == sorted(RowOutcome)


def test_json_keys_are_the_values_of_outcomes():
    named = InputLedger("orders", {"copies": 1}).as_data()
    assert list(named) == [outcome.value for outcome in RowOutcome]


def test_the_documentation_defines_every_outcome():
    text = _CHAPTER.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE)
    defined = [row for row in rows if row[0] in {outcome.value for outcome in RowOutcome}]
    assert defined == [(outcome.value, outcome.definition) for outcome in RowOutcome]
