"""The ledger of outputs without an operator accounts for every row and every copy of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from millstream.observe.ledger import FAILED_COPIES, InputLedger, ledger_of_select

# What happens to a row: in all outputs, or in each of two.
OUTCOMES = st.sampled_from(["emitted", "filtered", "failed"])
ROWS = st.lists(st.one_of(st.sampled_from(["malformed", "failed"]), st.tuples(OUTCOMES, OUTCOMES)))


@given(ROWS)
def test_rows_that_fail_before_and_in_one_of_several_outputs_are_balanced(rows):
    copies = [each for row in rows if isinstance(row, tuple) for each in row]
    counts = {
        "in": len(rows),
        "malformed": rows.count("malformed"),
        "failed_expression": rows.count("failed") + copies.count("failed"),
        FAILED_COPIES: copies.count("failed"),
    }
    written = [
        sum(isinstance(row, tuple) and row[number] == "emitted" for row in rows)
        for number in range(2)
    ]
    [found] = ledger_of_select("orders", counts, written).inputs
    assert isinstance(found, InputLedger)
    assert found.errors == []
    assert (found["filtered"], found["processed"]) == (copies.count("filtered"), sum(written))


def test_rows_that_fail_in_the_only_output_are_balanced():
    counts = {"in": 10, "malformed": 1, "failed_expression": 3}
    [found] = ledger_of_select("orders", counts, [4]).inputs
    assert (found.errors, found["filtered"], found["accepted"]) == ([], 2, 4)
