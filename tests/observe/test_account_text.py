"""The account as a table: what stands indented adds up to what stands above it."""

from __future__ import annotations

from millstream.observe.account import Account, InputAccount, SparkAccount
from millstream.observe.account_text import account_text


def join() -> Account:
    orders = {
        "in": 1300,
        "accepted": 1200,
        "held": 200,
        "expired": 1000,
        "late": 90,
        "malformed": 10,
    }
    shipments = {"in": 7, "accepted": 7, "held": 7}
    inputs = [InputAccount("orders", orders), InputAccount("shipments", shipments)]
    return Account(inputs, matches=5, unmatched=1, rows_out=4, state={"state_rows": 207})


def test_a_join():
    assert account_text("shipped", join()) == (
        "shipped            orders  shipments\n"
        "in                  1,300          7\n"
        "  accepted          1,200          7\n"
        "    held              200          7\n"
        "    expired         1,000          0\n"
        "    evicted             0          0\n"
        "  late                 90          0\n"
        "  filtered              0          0\n"
        "  missing time          0          0\n"
        "  missing key           0          0\n"
        "  malformed            10          0\n"
        "out                     4\n"
        "  matches               5\n"
        "  unmatched             1\n"
        "  less WHERE            2\n"
        "adds up"
    )


def test_what_does_not_add_up_is_said():
    account = join()
    account.inputs[1].counts["held"] = 6
    assert account_text("shipped", account).splitlines()[-1] == (
        "does not add up: shipments: 7 rows accepted, 6 accounted for"
    )


def test_a_query_without_state_holds_nothing():
    counts = {"in": 3, "accepted": 2, "expired": 2, "filtered": 1}
    shown = account_text("out", Account([InputAccount("orders", counts)], rows_out=2))
    assert "held" not in shown
    assert shown.splitlines()[-2:] == ["out                  2", "adds up"]


def test_what_only_spark_knows_is_said_to_be_so():
    account = SparkAccount({"orders": 3, "shipments": 2}, late=1, rows_out=2)
    assert account_text("shipped", account) == (
        "shipped         orders      shipments\n"
        "in                   3              2\n"
        "  late               1  of all inputs\n"
        "out                  2\n"
        "Spark tells no more of its own join, so whether this adds up is not known."
    )
