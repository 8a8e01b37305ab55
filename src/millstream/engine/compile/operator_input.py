"""The packed input of an operator with one input: key hash, event time, keys, arguments.

Spark evaluates all expressions, so a kernel reads columns only. A row belongs to the key group of
its hash.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, MapType, TimestampType

from millstream.aggregate_functions import FUNCTIONS
from millstream.engine.compile.aggregate_functions import result_types
from millstream.engine.compile.expressions import types_of
from millstream.engine.compile.input_columns import (
    Field,
    buffered_fields,
    create_packer_spec,
    field_column,
    micros_packet_column,
    packer_columns,
    time_packet_column,
)
from millstream.engine.compile.packet_columns import PackedInput, PacketColumn, PacketColumnBuilder
from millstream.engine.compile.stateless import StreamFrame, guarded
from millstream.engine.shuffle.column_names import Kind
from millstream.engine.shuffle.packer import PackerSpec
from millstream.engine.shuffle.types import (
    common_type,
    comparable,
    is_compared_unchanged,
    to_packet,
)
from millstream.kernels.core.specs import INHERITED_END, INHERITED_START, CallSpec
from millstream.plan.expressions import Expression
from millstream.plan.nodes import Call, Input


@dataclass(slots=True)
class OperatorInput:
    """Collects the packet columns of a kernel."""

    spark: SparkSession
    side: Input
    rows: StreamFrame
    builder: PacketColumnBuilder = field(init=False)
    _arguments: dict[tuple[Expression, bool], str] = field(default_factory=dict)  # by form, too
    _filters: dict[Expression, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.builder = PacketColumnBuilder(self.rows, self.side.alias)

    def value(self, expression: Expression) -> Column:
        return guarded(self.rows.is_data_row, expression)

    def types_of(self, expressions: list[Expression]) -> list[DataType]:
        return types_of(self.rows.rows, self.side.alias, expressions)

    def keys(self, expressions: list[tuple[str, Expression]], what: str) -> tuple[Field, ...]:
        """Adds key columns with these names. NULL is equal to NULL."""
        fields = []
        kinds = self.types_of([expression for _, expression in expressions])
        for (name, expression), kind in zip(expressions, kinds, strict=True):
            common_type(self.spark, kind, kind, what)
            self._comparison_column(name, expression, kind)
            fields.append(Field(name, name, kind))
        return tuple(fields)

    def _comparison_column(self, name: str, expression: Expression, kind: DataType) -> None:
        value = comparable(self.value(expression), kind, kind)
        source_column = (
            self.builder.source_column_of(expression) if is_compared_unchanged(kind) else None
        )
        self.builder.columns.append(
            PacketColumn(name, value, source_column, as_int64=isinstance(kind, TimestampType))
        )

    def micros(self, name: str, time: Expression) -> str:
        """Adds a time, in microseconds."""
        self.builder.columns.append(
            micros_packet_column(self.builder, name, time, self.value(time))
        )
        return name

    def given_window(self, window_bounds: tuple[Expression, Expression]) -> None:
        for name, window_bound in zip((INHERITED_START, INHERITED_END), window_bounds, strict=True):
            self.micros(name, window_bound)

    def buffered_columns(self) -> tuple[Field, ...]:
        fields = buffered_fields(self.side, self.rows, Kind.BUFFERED)
        self.builder.columns += map(field_column, fields)
        return fields

    def calls(self, calls: tuple[Call, ...]) -> tuple[tuple[CallSpec, ...], tuple[Field, ...]]:
        """Adds the columns of aggregate calls. Returns the calls for the kernel, and the result
        columns."""
        specs, fields = [], []
        arguments = [
            each for call in calls for each in (call.argument, call.by) if each is not None
        ]
        known = dict(zip(arguments, self.types_of(arguments), strict=True))
        types = result_types(self.rows.rows, self.side.alias, calls, known)
        for number, (call, kind) in enumerate(zip(calls, types, strict=True)):
            argument = by = filtered = None
            if call.argument is not None:
                argument = self._argument(Kind.ARGUMENT.name_of(number), call, known[call.argument])
            if call.by is not None:
                by = Kind.BY.name_of(number)
                order = known[call.by]
                common_type(self.spark, order, order, f"The order of {call.function}")
                self._comparison_column(by, call.by, order)
            if call.filter is not None:
                filtered = self._filter(Kind.FILTER.name_of(number), call.filter)
            specs.append(
                CallSpec(
                    call.function,
                    call.name,
                    argument,
                    filtered,
                    by,
                    call.ignore_nulls,
                    call.parameters,
                )
            )
            fields.append(Field(call.name, call.name, kind))
        return tuple(specs), tuple(fields)

    def _argument(self, name: str, call: Call, kind: DataType) -> str:
        """Returns the column of a call's argument, which calls with the same argument share."""
        assert call.argument is not None
        is_converted = not FUNCTIONS[call.function].collects
        known = self._arguments.setdefault((call.argument, is_converted), name)
        if known == name:
            value = self.value(call.argument)
            source_column = (
                None if isinstance(kind, MapType) else self.builder.source_column_of(call.argument)
            )
            as_int64 = is_converted and isinstance(kind, TimestampType)
            self.builder.columns.append(
                PacketColumn(
                    name, to_packet(value, kind) if is_converted else value, source_column, as_int64
                )
            )
        return known

    def _filter(self, name: str, predicate: Expression) -> str:
        """Returns the column of a filter, which calls with the same filter share."""
        known = self._filters.setdefault(predicate, name)
        if known == name:
            value = F.coalesce(self.value(predicate), F.lit(False))
            self.builder.columns.append(
                PacketColumn(name, value, predicate=self.builder.packer_predicate(predicate))
            )
        return known

    def packed(
        self, keys: tuple[str, ...], number: int, groups: int
    ) -> tuple[PackedInput, PackerSpec]:
        """Returns the packed input, with the hash of the columns `keys`, and the spec of its
        packer."""
        self.builder.columns.insert(0, time_packet_column(self.side, self.builder))
        packed_input = self.builder.build(
            packer_columns(self.side, self.rows, self.builder), hash_columns=keys
        )
        return packed_input, create_packer_spec(number, self.side, self.rows, groups, packed_input)
