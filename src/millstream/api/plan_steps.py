"""The steps of a stream: SELECTs over sources, tables and other steps, planned as views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from millstream.api.datasets import StepDatasets
from millstream.api.sources import SourceFrame
from millstream.api.tables import Table, table_node
from millstream.errors import MillstreamError, PlanError
from millstream.plan.build.computed_columns import with_watermark
from millstream.plan.build.job import plan_select, plan_view
from millstream.plan.build.query import PlannedQuery
from millstream.plan.expressions.functions import session_functions
from millstream.plan.nodes import Select, Source
from millstream.sql.statements import WatermarkDef
from millstream.suggestions import same

Leaf = SourceFrame | Table


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One SELECT over `inputs` and `tables` by the names that its text has for them."""

    text: str
    inputs: Mapping[str, Step | SourceFrame]
    tables: Mapping[str, Table] = field(default_factory=dict)
    side_outputs: tuple[str, ...] = ()  # names of outputs for late rows
    written: bool = False  # the user wrote the text: places in it and its names mean something
    datasets: StepDatasets | None = None  # those that its text may name
    watermark: WatermarkDef | None = None  # of its result, if it has one of its own
    plans: dict[tuple[str, ...], PlannedQuery] = field(
        default_factory=dict
    )  # by the names of leaves

    def leaves(self) -> Iterator[tuple[Leaf, str | None]]:
        """The sources and tables in the order of first use, with the name the user's text has."""
        for name, each in self.inputs.items():
            if isinstance(each, SourceFrame):
                yield each, name if self.written else None
            else:
                yield from each.leaves()
        for name, table in self.tables.items():
            yield table, name if self.written else None

    def planned(self, names: Names) -> PlannedQuery:
        key = tuple(names[leaf] for leaf, _ in self.leaves())
        if key not in self.plans:
            inputs = {name: node_of(each, names) for name, each in self.inputs.items()}
            tables = {name: table_node(each, names[each]) for name, each in self.tables.items()}
            with self.located(), session_functions(_session_has_function):
                self.plans[key] = plan_select(
                    self.text,
                    inputs,
                    tables=tables,
                    side_outputs=self.side_outputs,
                    datasets=self.datasets,
                    is_written=self.written,
                )
                if self.watermark is not None:
                    planned = self.plans[key]
                    select = with_watermark(planned.select, "the stream", self.watermark)
                    self.plans[key] = replace(planned, select=select)
        return self.plans[key]

    @contextmanager
    def located(self) -> Iterator[None]:
        """Removes the place of an error in a text that the user has not written."""
        try:
            yield
        except MillstreamError as error:
            if self.written or error.place is None:
                raise
            raise type(error)(error.code, error.cause, fix=error.fix) from None


def _session_has_function(name: str) -> bool:
    """Returns whether a function is registered in the active session, such as a UDF."""
    session = SparkSession.getActiveSession()
    return session is not None and session.catalog.functionExists(name)


def datasets_of(roots: Iterable[Step | SourceFrame]) -> list[StepDatasets]:
    """Returns the datasets of all steps, of each step once."""
    found: dict[int, StepDatasets | None] = {}

    def visit(each: Step | SourceFrame) -> None:
        if isinstance(each, Step) and id(each) not in found:
            for below in each.inputs.values():
                visit(below)
            found[id(each)] = each.datasets

    for root in roots:
        visit(root)
    return [each for each in found.values() if each is not None]


def with_versions(root: Step, versions: Mapping[str, int]) -> Step:
    """Returns a step whose datasets, and those of the steps below, are read in these versions."""
    made: dict[int, Step] = {}

    def visit(each: Step | SourceFrame) -> Step | SourceFrame:
        return step(each) if isinstance(each, Step) else each

    def step(each: Step) -> Step:
        if id(each) not in made:
            inputs = {name: visit(below) for name, below in each.inputs.items()}
            datasets = each.datasets and each.datasets.with_versions(versions)
            made[id(each)] = replace(each, inputs=inputs, datasets=datasets, plans={})
        return made[id(each)]

    return step(root)


def node_of(root: Step | SourceFrame, names: Names) -> Source | Select:
    """Returns what another step reads."""
    if isinstance(root, SourceFrame):
        return root.source(names[root])
    with root.located():
        return plan_view(root.planned(names))


def _identity(leaf: Leaf) -> tuple[object, ...]:
    """Two uses of one DataFrame with equal settings are one source, or one table."""
    if isinstance(leaf, Table):
        return (id(leaf.frame), leaf.columns, leaf.key, leaf.properties, leaf.name)
    times = (leaf.time, leaf.delay, leaf.missing, leaf.every, leaf.idle, leaf.max_ahead)
    return (id(leaf.frame), *times, leaf.name)


@dataclass(slots=True)
class Names:
    """The names of the sources and tables of one query.

    A name that the user gave, that of the keyword argument in `ms.sql`, or else one by position:
    stream0, stream1, … and table0, … in the order of first use.
    """

    by_identity: dict[tuple[object, ...], str] = field(default_factory=dict)
    leaves: dict[str, Leaf] = field(default_factory=dict)

    def __getitem__(self, leaf: Leaf) -> str:
        return self.by_identity[_identity(leaf)]

    @property
    def sources(self) -> dict[str, SourceFrame]:
        return {name: leaf for name, leaf in self.leaves.items() if isinstance(leaf, SourceFrame)}

    @property
    def tables(self) -> dict[str, Table]:
        return {name: leaf for name, leaf in self.leaves.items() if isinstance(leaf, Table)}

    def _free(self, name: str) -> bool:
        return not any(same(name, taken) for taken in self.leaves)

    def add(self, leaf: Leaf, name: str) -> None:
        self.by_identity[_identity(leaf)] = name
        self.leaves[name] = leaf

    def add_given(self, leaf: Leaf) -> None:
        if leaf.name is None or _identity(leaf) in self.by_identity:
            return
        if not self._free(leaf.name):
            raise PlanError(
                "MS-PLAN-DUPLICATE-NAME",
                f"two inputs of the query have the name {leaf.name}.",
                fix="Give each a name of its own; to use one stream twice, use the same Stream.",
            )
        self.add(leaf, leaf.name)

    def add_positional(self, leaf: Leaf, wanted: str | None) -> None:
        if _identity(leaf) in self.by_identity:
            return
        if wanted is None or not self._free(wanted):
            kind = "stream" if isinstance(leaf, SourceFrame) else "table"
            known = self.sources if isinstance(leaf, SourceFrame) else self.tables
            number = sum(1 for each in known.values() if each.name is None)
            while not self._free(f"{kind}{number}"):
                number += 1
            wanted = f"{kind}{number}"
        self.add(leaf, wanted)


def names_of(root: Step | SourceFrame) -> Names:
    leaves = [(root, None)] if isinstance(root, SourceFrame) else list(root.leaves())
    names = Names()
    for leaf, _ in leaves:
        names.add_given(leaf)
    for leaf, wanted in leaves:
        names.add_positional(leaf, wanted)
    return names
