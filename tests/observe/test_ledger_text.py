"""The ledger as a table: indented counts sum to the count above them."""

from __future__ import annotations

from millstream.observe.ledger import InputLedger, Ledger, OperatorLedger, SparkLedger
from millstream.observe.ledger_text import format_ledger


def join() -> Ledger:
    orders = {
        "in": 1300,
        "accepted": 1200,
        "in_state": 200,
        "expired": 1000,
        "late": 90,
        "malformed": 10,
    }
    shipments = {"in": 7, "accepted": 7, "in_state": 7}
    inputs = [InputLedger("orders", orders), InputLedger("shipments", shipments)]
    operator = OperatorLedger("left join of orders and shipments", inputs, matches=5, unmatched=1)
    return Ledger([operator], rows_out=4, state={"state_rows": 207})


def test_a_join():
    assert format_ledger("shipped", join()) == (
        "shipped                  orders  shipments\n"
        "in                        1,300          7\n"
        "  accepted                1,200          7\n"
        "    in state                200          7\n"
        "    processed                 0          0\n"
        "    expired               1,000          0\n"
        "    evicted                   0          0\n"
        "  late                       90          0\n"
        "  filtered                    0          0\n"
        "  missing event time          0          0\n"
        "  missing key                 0          0\n"
        "  malformed                  10          0\n"
        "out                           4\n"
        "  matches                     5\n"
        "  unmatched                   1\n"
        "  less WHERE                  2\n"
        "balanced"
    )


def test_fates_that_few_jobs_have_are_shown_where_there_are_any():
    ledger = join()
    ledger.inputs[0].counts |= {
        "in": 1304,
        "duplicate": 1,
        "failed_predicate": 1,
        "lookup_failed": 1,
        "ahead_of_time": 1,
        "reassigned": 8,
    }
    shown = [line.strip().split("  ")[0] for line in format_ledger("shipped", ledger).splitlines()]
    assert shown[7:18] == [
        "late",
        "duplicate",
        "filtered",
        "failed predicate",
        "missing event time",
        "missing key",
        "lookup failed",
        "malformed",
        "ahead of time",
        "reassigned",
        "out",
    ]
    assert ledger.errors == []


def test_every_operator_has_its_own_columns():
    clicks = InputLedger("clicks", {"in": 5, "accepted": 3, "in_state": 3, "duplicate": 2})
    left = InputLedger("c", {"in": 3, "accepted": 3, "expired": 3}, derived=True)
    right = InputLedger("views", {"in": 4, "accepted": 4, "expired": 4})
    ledger = Ledger(
        [
            OperatorLedger("deduplication of clicks", [clicks]),
            OperatorLedger("inner join of c and views", [left, right], matches=2),
        ],
        rows_out=2,
        state={"state_rows": 3},
    )
    assert ledger.total_in == 9
    assert format_ledger("seen", ledger) == (
        "seen\n"
        "deduplication of clicks    clicks\n"
        "in                              5\n"
        "  accepted                      3\n"
        "    in state                    3\n"
        "    processed                   0\n"
        "    expired                     0\n"
        "    evicted                     0\n"
        "  late                          0\n"
        "  duplicate                     2\n"
        "  filtered                      0\n"
        "  missing event time            0\n"
        "  missing key                   0\n"
        "  malformed                     0\n"
        "inner join of c and views       c   views\n"
        "in                              3       4\n"
        "  accepted                      3       4\n"
        "    in state                    0       0\n"
        "    processed                   0       0\n"
        "    expired                     3       4\n"
        "    evicted                     0       0\n"
        "  late                          0       0\n"
        "  filtered                      0       0\n"
        "  missing event time            0       0\n"
        "  missing key                   0       0\n"
        "  malformed                     0       0\n"
        "matches                         2\n"
        "unmatched                       0\n"
        "out                             2\n"
        "balanced"
    )


def test_what_is_not_balanced_is_said():
    ledger = join()
    ledger.inputs[1].counts["in_state"] = 6
    assert format_ledger("shipped", ledger).splitlines()[-1] == (
        "not balanced: shipments: 7 rows accepted, 6 accounted for"
    )
    assert ledger.as_data()["balanced"] is False
    assert ledger.as_data()["errors"] == ["shipments: 7 rows accepted, 6 accounted for"]


def test_counts_lost_in_a_crash_are_never_balanced():
    ledger = join()
    ledger.lost = [[3, 3], [5, 8]]
    assert format_ledger("shipped", ledger).splitlines()[-1] == (
        "not balanced: the counts of batch 3 were lost in a crash; no row of the sink was; "
        "the counts of batches 5 to 8 were lost in a crash; no row of the sink was"
    )


def test_an_operator_without_a_report_is_never_balanced():
    ledger = join()
    ledger.operators[0].reported = False
    assert format_ledger("shipped", ledger).splitlines()[-1] == (
        "balance unknown: no report yet from left join of orders and shipments"
    )
    assert ledger.as_data()["balanced"] is None


def test_a_query_without_state_has_no_rows_in_state():
    counts = {"in": 3, "accepted": 2, "processed": 2, "filtered": 1}
    rows = OperatorLedger("rows of orders", [InputLedger("orders", counts)], has_state=False)
    shown = format_ledger("out", Ledger([rows], rows_out=2))
    assert "in state" not in shown
    assert shown.splitlines()[-2:] == ["out                        2", "balanced"]


def test_what_only_spark_knows_is_said_to_be_so():
    ledger = SparkLedger({"orders": 3, "shipments": 2}, late=1, rows_out=2)
    assert format_ledger("shipped", ledger) == (
        "shipped         orders      shipments\n"
        "in                   3              2\n"
        "  late               1  of all inputs\n"
        "out                  2\n"
        "balance unknown: Spark reports no other counts of its own operators"
    )
