"""Compiles a query with several outputs: its output groups, one after the other.

An output group that reads results of an earlier group continues the stream of that group, in which
rows of earlier outputs are packets (`relay`). Groups that have nothing in common become a union.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from millstream.engine.compile.columnar import ColumnarCompiler
from millstream.engine.compile.compiled_operator import CompiledOperator
from millstream.engine.compile.fan_out import GroupOutput, Projection, fan_out
from millstream.engine.compile.labelled_outputs import CountedSource, LabelledOutputReader
from millstream.engine.compile.native import compile_native
from millstream.engine.compile.relay import relayed_results
from millstream.engine.compile.stateless import StreamFrame
from millstream.engine.compile.table_join import compile_stateless
from millstream.errors import PlanError
from millstream.plan.facts.evaluated_expressions import columns_read_by_steps
from millstream.plan.facts.output_groups import OutputGroup, output_groups_of, steps_above
from millstream.plan.nodes import Query


@dataclass(slots=True)
class OutputGroupCompiler:
    """Compiles the groups of a query in order, each into a new DataFrame or into that of the
    group whose results it reads. Its other attributes are complete after `compile`."""

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
        groups = output_groups_of(self.query)
        numbers = self._shared_numbers(groups)
        self.columnar.relayed_numbers = frozenset(each for each in numbers if each is not None)
        for position, (group, number) in enumerate(zip(groups, numbers, strict=True)):
            later = [each for each in numbers[position + 1 :] if each is not None]
            self._add(group, number, later)
        _check_types(self.query, self.schemas)
        return reduce(lambda a, b: a.unionByName(b, allowMissingColumns=True), self._frames)

    def _shared_numbers(self, groups: tuple[OutputGroup, ...]) -> list[int | None]:
        """The number of the operator that each group reads, if it reads one."""
        operators = [operator for group in groups for operator in group.operators]
        return [None if group.shared is None else operators.index(group.shared) for group in groups]

    def _add(self, group: OutputGroup, shared: int | None, later: list[int]) -> None:
        frame_number = len(self._frames)
        if group.shared is not None and shared is not None:
            frame_number = self._frame_of[shared]
            schema = self.columnar.schema_of(shared)
            results = relayed_results(self._frames[frame_number], shared, schema, later)
            self.columnar.read_relayed(group.shared, shared, results)
        self._frame_of += [frame_number] * len(group.operators)
        members = [
            GroupOutput(number, output, steps_above(output.root, group.root))
            for number in group.outputs
            for output in [self.query.outputs[number]]
        ]
        common = self._common_rows(group, members)
        counts = None
        if group.source is not None:
            counts = len(self._counted)
            table = min(common.table_joins, default=None) if common.has_side_rows else None
            self._counted.append(CountedSource(group.source.name, table))
        compiled = fan_out(common, members, self.columnar.tables.compile_join, self.project, counts)
        self.schemas |= compiled.schemas
        self._frames[frame_number : frame_number + 1] = [compiled.frame]

    def _common_rows(self, group: OutputGroup, members: Sequence[GroupOutput]) -> StreamFrame:
        """The rows that the outputs of a group have in common."""
        read = self.columnar
        columns = [columns_read_by_steps(each.steps)[0] for each in members]
        known = [each for each in columns if each is not None]
        needed = frozenset[str]().union(*known) if len(known) == len(columns) else None
        if group.source is not None:
            return compile_stateless(group.root, group.source, read.sources, read.tables, needed)
        if self.native:
            return compile_native(group.root, read.sources, read.control)
        return read.compile_node(group.root, needed)


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
