"""What all tests share: one Spark session, the marks that are off by default, the skip policy."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_SKIP = os.environ.get("MILLSTREAM_NO_SKIP") == "1"
OFF_BY_DEFAULT = {"slow": "--run-slow", "service": "--run-service"}

# A test tries the same examples in every run; `make fuzz` tries others, see CONTRIBUTING.md.
settings.register_profile(
    "quick",
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=2_000)
settings.register_profile(
    "fuzz", settings.get_profile("quick"), max_examples=300, derandomize=False
)
settings.load_profile(os.environ.get("MILLSTREAM_HYPOTHESIS", "quick"))


def pytest_addoption(parser: pytest.Parser) -> None:
    for mark, option in OFF_BY_DEFAULT.items():
        parser.addoption(option, action="store_true", help=f"run tests marked {mark}, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked and not asked for: deselected, not skipped, so it is counted."""
    off = [mark for mark, option in OFF_BY_DEFAULT.items() if not config.getoption(option)]
    left_out = [item for item in items if any(item.get_closest_marker(mark) for mark in off)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if NO_SKIP and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and MILLSTREAM_NO_SKIP=1 forbids it: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if NO_SKIP and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, and MILLSTREAM_NO_SKIP=1 forbids it: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of all Spark tests; starting one takes seconds."""
    from millstream.engine.runtime.session import local_session

    session = local_session()
    yield session
    session.stop()
