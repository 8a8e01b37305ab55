"""Compiles a query with several outputs: its branches, one after the other.

A branch that reads results of an earlier branch continues the stream of that branch, in which rows
of earlier outputs are packets (`relay`). Branches that have nothing in common become a union.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from millstream.engine.compile.columnar import ColumnarCompiler
from millstream.engine.compile.compiled_operator import CompiledOperator
from millstream.engine.compile.fan_out import BranchOutput, Projection, fan_out
from millstream.engine.compile.labelled_outputs import CountedSource, LabelledOutputReader
from millstream.engine.compile.native import compile_native
from millstream.engine.compile.relay import relayed_results
from millstream.engine.compile.stateless import StreamFrame
from millstream.engine.compile.table_join import compile_stateless
from millstream.errors import PlanError
from millstream.plan.facts.branches import Branch, branches_of, steps_above
from millstream.plan.nodes import Query


@dataclass(slots=True)
class BranchCompiler:
    """Compiles the branches of a query in order, each into a new DataFrame or into that of the
    branch whose results it reads. Its other attributes are complete after `compile`."""

    query: Query
    columnar: ColumnarCompiler
    project: Projection
    native: bool
    schemas: dict[int, StructType] = field(default_factory=dict)  # by output
    _frames: list[DataFrame] = field(default_factory=list)
    _frame_of: list[int] = field(default_factory=list)  # by operator: the frame that it is in
    _counted: list[CountedSource] = field(default_factory=list)

    @property
    def reader(self) -> LabelledOutputReader:
        return LabelledOutputReader(tuple(self._counted))

    @property
    def operators(self) -> tuple[CompiledOperator, ...]:
        return tuple(each for each in self.columnar.compiled if each is not None)

    def compile(self) -> DataFrame:
        """The rows of all outputs, labelled, in one DataFrame."""
        branches = branches_of(self.query)
        numbers = self._shared_numbers(branches)
        self.columnar.relayed_numbers = frozenset(each for each in numbers if each is not None)
        for place, (branch, number) in enumerate(zip(branches, numbers, strict=True)):
            later = [each for each in numbers[place + 1 :] if each is not None]
            self._add(branch, number, later)
        _check_types(self.query, self.schemas)
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), self._frames)

    def _shared_numbers(self, branches: tuple[Branch, ...]) -> list[int | None]:
        """The number of the operator that each branch reads, if it reads one."""
        operators = [operator for branch in branches for operator in branch.operators]
        return [
            None if branch.shared is None else operators.index(branch.shared) for branch in branches
        ]

    def _add(self, branch: Branch, shared: int | None, later: list[int]) -> None:
        place = len(self._frames)
        if branch.shared is not None and shared is not None:
            place = self._frame_of[shared]
            schema = self.columnar.schema_of(shared)
            results = relayed_results(self._frames[place], shared, schema, later)
            self.columnar.read_relayed(branch.shared, shared, results)
        self._frame_of += [place] * len(branch.operators)
        common = self._common_rows(branch)
        counts = None
        if branch.source is not None:
            counts = len(self._counted)
            table = min(common.table_joins, default=None) if common.has_side_rows else None
            self._counted.append(CountedSource(branch.source.name, table))
        members = [
            BranchOutput(number, output, steps_above(output.root, branch.root))
            for number in branch.outputs
            for output in [self.query.outputs[number]]
        ]
        compiled = fan_out(common, members, self.columnar.tables.compile_join, self.project, counts)
        self.schemas |= compiled.schemas
        self._frames[place : place + 1] = [compiled.frame]

    def _common_rows(self, branch: Branch) -> StreamFrame:
        """The rows that the outputs of a branch have in common."""
        read = self.columnar
        if branch.source is not None:
            return compile_stateless(branch.root, branch.source, read.sources, read.tables)
        if self.native:
            return compile_native(branch.root, read.sources, read.control)
        return read.compile_node(branch.root)


def _check_types(query: Query, schemas: dict[int, StructType]) -> None:
    """Rejects outputs that write columns of different types to one sink."""
    first: dict[str, int] = {}
    for number, output in enumerate(query.outputs):
        other = first.setdefault(output.sink.name, number)
        for one, two in zip(schemas[other], schemas[number], strict=True):
            if one.dataType != two.dataType:
                kinds = [each.dataType.simpleString().upper() for each in (one, two)]
                raise PlanError(
                    "MS-PLAN-SHARED-SINK",
                    f"two statements write column {two.name} to the sink {output.sink.name}, one "
                    f"as {kinds[0]}, the other as {kinds[1]}.",
                    fix="CAST it to the same type in both, or give each statement its own sink.",
                    place=output.root.place,
                )
