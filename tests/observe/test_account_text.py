"""The ledger as a table: indented counts add up to the one above them."""

from __future__ import annotations

from millstream.observe.ledger import Account, InputAccount, OperatorAccount, SparkAccount
from millstream.observe.ledger_text import account_text


def join() -> Account:
    orders = {
        "in": 1300,
        "accepted": 1200,
        "in_state": 200,
        "expired": 1000,
        "late": 90,
        "malformed": 10,
    }
    shipments = {"in": 7, "accepted": 7, "in_state": 7}
    inputs = [InputAccount("orders", orders), InputAccount("shipments", shipments)]
    operator = OperatorAccount("left join of orders and shipments", inputs, matches=5, unmatched=1)
    return Account([operator], rows_out=4, state={"state_rows": 207})


def test_a_join():
    assert account_text("shipped", join()) == (
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
    account = join()
    account.inputs[0].counts |= {
        "in": 1304,
        "duplicate": 1,
        "unmatched_predicate": 1,
        "lookup_failed": 1,
        "ahead_of_time": 1,
        "reassigned": 8,
    }
    shown = [line.strip().split("  ")[0] for line in account_text("shipped", account).splitlines()]
    assert shown[7:18] == [
        "late",
        "duplicate",
        "filtered",
        "unmatched predicate",
        "missing event time",
        "missing key",
        "lookup failed",
        "malformed",
        "ahead of time",
        "reassigned",
        "out",
    ]
    assert account.errors == []


def test_every_operator_has_its_own_columns():
    clicks = InputAccount("clicks", {"in": 5, "accepted": 3, "in_state": 3, "duplicate": 2})
    left = InputAccount("c", {"in": 3, "accepted": 3, "expired": 3}, derived=True)
    right = InputAccount("views", {"in": 4, "accepted": 4, "expired": 4})
    account = Account(
        [
            OperatorAccount("deduplication of clicks", [clicks]),
            OperatorAccount("inner join of c and views", [left, right], matches=2),
        ],
        rows_out=2,
        state={"state_rows": 3},
    )
    assert account.total_in == 9
    assert account_text("seen", account) == (
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
    account = join()
    account.inputs[1].counts["in_state"] = 6
    assert account_text("shipped", account).splitlines()[-1] == (
        "not balanced: shipments: 7 rows accepted, 6 accounted for"
    )
    assert account.as_data()["balanced"] is False
    assert account.as_data()["errors"] == ["shipments: 7 rows accepted, 6 accounted for"]


def test_counts_lost_in_a_crash_are_never_balanced():
    account = join()
    account.lost = [[3, 3], [5, 8]]
    assert account_text("shipped", account).splitlines()[-1] == (
        "not balanced: the counts of batch 3 were lost in a crash; no row of the sink was; "
        "the counts of batches 5 to 8 were lost in a crash; no row of the sink was"
    )


def test_an_operator_without_a_report_is_never_balanced():
    account = join()
    account.operators[0].reported = False
    assert account_text("shipped", account).splitlines()[-1] == (
        "balance unknown: no report yet from left join of orders and shipments"
    )
    assert account.as_data()["balanced"] is None


def test_a_query_without_state_has_no_rows_in_state():
    counts = {"in": 3, "accepted": 2, "processed": 2, "filtered": 1}
    rows = OperatorAccount("rows of orders", [InputAccount("orders", counts)], has_state=False)
    shown = account_text("out", Account([rows], rows_out=2))
    assert "in state" not in shown
    assert shown.splitlines()[-2:] == ["out                        2", "balanced"]


def test_what_only_spark_knows_is_said_to_be_so():
    account = SparkAccount({"orders": 3, "shipments": 2}, late=1, rows_out=2)
    assert account_text("shipped", account) == (
        "shipped         orders      shipments\n"
        "in                   3              2\n"
        "  late               1  of all inputs\n"
        "out                  2\n"
        "balance unknown: Spark reports no other counts of its own operators"
    )
