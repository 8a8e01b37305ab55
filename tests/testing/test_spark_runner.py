"""What the runner of test cases rejects; no Spark is needed for it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from millstream.errors import HarnessError
from millstream.plan.nodes import Engine
from millstream.testing import spark_runner
from millstream.testing.case import Case, Input
from millstream.testing.spark_runner import SparkRunner

SQL = """
CREATE SOURCE orders (id STRING) WITH ('connector' = 'memory');
CREATE SINK out WITH ('connector' = 'memory') AS SELECT id FROM orders;
"""


def run(case: Case) -> None:
    SparkRunner(cast("Any", None)).run(case, "columnar")


def test_a_setting_of_the_session_cannot_be_changed_for_one_case():
    case = Case("a", SQL, Path("a"), settings={"spark.sql.ansi.enabled": "false"})
    with pytest.raises(HarnessError) as caught:
        run(case)
    assert caught.value.code == "MS-TEST-SETTING"
    assert caught.value.cause.startswith("the setting 'spark.sql.ansi.enabled' cannot be changed")


class UnbalancedRun:
    """A run whose ledger has lost a row."""

    def __init__(self, *_: object, **__: object) -> None:
        ledger = SimpleNamespace(errors=["orders: 1 row is missing"])
        store = SimpleNamespace(ledger=ledger)
        self.running = [SimpleNamespace(engine=Engine.COLUMNAR, ledger_store=store)]

    def start(self, _: object) -> None: ...
    def process_available(self) -> None: ...
    def flush(self) -> None: ...
    def raise_failure(self) -> None: ...
    def stop(self) -> None: ...


def test_a_ledger_that_is_not_balanced_fails_the_case(monkeypatch):
    monkeypatch.setattr(spark_runner, "JobRun", UnbalancedRun)
    with pytest.raises(HarnessError) as caught:
        run(Case("a", SQL, Path("a"), inputs={"orders": Input(())}))
    assert caught.value.code == "MS-TEST-ACCOUNT"
    assert caught.value.cause == "the ledger is not balanced: orders: 1 row is missing."
