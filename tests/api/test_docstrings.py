"""Every public function, class and method has an example in its docstring, and it is right."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pytest

import millstream as ms
from millstream import api
from millstream.api.windows import WindowedStream
from millstream.catalog import catalog
from millstream.connectors.memory import MemoryStream

MODULES = [
    *(import_module(f"millstream.api.{each.name}") for each in iter_modules(api.__path__)),
    catalog,
]
DEFINITIONS = """
datasets:
  - name: fx
    main_table: {columns: {currency: STRING, rate: "DECIMAL(18, 6)"}}
periods:
  - {identifier: 2026-01, level: month, start: 2026-01-01, end: 2026-01-31}
"""


def examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in MODULES:
        yield from (test for test in finder.find(module, module.__name__) if test.examples)


def test_the_examples_of_docstrings_are_right(spark, tmp_path: Path) -> None:
    """One test for all: each example gets names of its own, and they share the streams."""
    ten = datetime(2026, 1, 15, 10, tzinfo=UTC)
    ordered = MemoryStream(
        spark,
        "order_id string, customer_id string, country string, amount double, event_time timestamp",
    )
    ordered.add(
        [
            {"order_id": "A", "country": "AT", "amount": 25.0, "event_time": ten},
            {"order_id": "B", "country": "BE", "amount": 5.0, "event_time": ten},
        ]
    )
    shipped = MemoryStream(spark, "order_id string, carrier string, event_time timestamp")
    known = MemoryStream(spark, "customer_id string, segment string, event_time timestamp")
    names: dict[str, Any] = {
        "ms": ms,
        "spark": spark,
        "orders": ms.stream(ordered.frame(), time="event_time", delay="5s", name="orders"),
        "shipments": ms.stream(shipped.frame(), time="event_time", delay="5s", name="shipments"),
        "customers": ms.stream(known.frame(), time="event_time", delay="5s", name="customers"),
        "countries": spark.createDataFrame([("AT", "Austria")], "code string, name string"),
    }
    found: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    tests = list(examples())
    for number, test in enumerate(tests):
        folder = tmp_path / str(number)
        own = {"folder": folder, "catalog": small_catalog(folder)}
        test.globs = {**test.globs, **names, **own}
        runner.run(test, out=found.append)
    assert found == [], "".join(found)
    assert len(tests) > 40


def small_catalog(folder: Path) -> ms.Catalog:
    """A catalog with one dataset, one version and one period."""
    (folder / "definitions").mkdir(parents=True)
    (folder / "definitions" / "all.yaml").write_text(DEFINITIONS)
    (folder / "fx.csv").write_text("currency,rate\nEUR,1.08\nGBP,1.27\n")
    made = ms.Catalog.open(folder / "example.db")
    made.apply(folder / "definitions")
    made.publish("fx", folder / "fx.csv")
    return made


def public() -> Iterator[Any]:
    for name in api.__all__:
        given = getattr(ms, name)
        yield pytest.param(given, id=name)
        if inspect.isclass(given):
            yield from methods(given)
    yield from methods(WindowedStream)
    yield from methods(ms.Catalog)
    yield from methods(ms.CatalogProject)


def methods(kind: type) -> Iterator[Any]:
    for name in dir(kind):
        found = inspect.getattr_static(kind, name)
        if not name.startswith("_") and (callable(found) or isinstance(found, property)):
            yield pytest.param(found, id=f"{kind.__name__}.{name}")


@pytest.mark.parametrize("given", list(public()))
def test_a_public_name_has_a_docstring_with_an_example(given: Any) -> None:
    if isinstance(given, ModuleType):  # `sql` is a package that can be called, too
        given = api.sql
    text = inspect.getdoc(given) or ""
    assert "Example:" in text
    if inspect.isfunction(given):
        parameters = [name for name in inspect.signature(given).parameters if name != "self"]
        assert ("Args:" in text) == bool(parameters)
        for name in parameters:
            assert f"{name}:" in text, f"{name} is not described"
