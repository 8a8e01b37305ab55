"""The input of an operator that has one, as Spark prepares it: hash, time, keys, arguments.

Every expression is Spark's: a kernel sees columns. A row belongs to the key group of its hash.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, MapType, TimestampType

from millstream.engine.compile.aggregate_functions import COLLECTING, result_types
from millstream.engine.compile.expressions import types_of
from millstream.engine.compile.input_columns import (
    Field,
    beside,
    fields_of,
    micros_of,
    packing_of,
    time_of,
    wired_as,
)
from millstream.engine.compile.packet_columns import Made, Ready, Sent
from millstream.engine.compile.stateless import Flow, guarded
from millstream.engine.shuffle.column_names import Kind
from millstream.engine.shuffle.packer import Packing
from millstream.engine.shuffle.types import common_type, comparable, compared_as_it_is, to_wire
from millstream.kernels.core.specs import GIVEN_END, GIVEN_START, CallSpec
from millstream.plan.expressions import Expression
from millstream.plan.nodes import Call, Input


@dataclass(slots=True)
class Operand:
    """Gathers the columns that a kernel asks for, under the names it knows them by."""

    spark: SparkSession
    side: Input
    rows: Flow
    sent: Sent = field(init=False)
    _arguments: dict[tuple[Expression, bool], str] = field(default_factory=dict)  # by form, too
    _filters: dict[Expression, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sent = Sent(self.rows, self.side.alias)

    def value(self, expression: Expression) -> Column:
        return guarded(self.rows.sound, expression)

    def types_of(self, expressions: list[Expression]) -> list[DataType]:
        return types_of(self.rows.rows, self.side.alias, expressions)

    def keys(self, named: list[tuple[str, Expression]], what: str) -> tuple[Field, ...]:
        """Columns by which rows are told apart, with their names; NULL is a value like others."""
        fields = []
        kinds = self.types_of([expression for _, expression in named])
        for (name, expression), kind in zip(named, kinds, strict=True):
            common_type(self.spark, kind, kind, what)
            self._compared(name, expression, kind)
            fields.append(Field(name, name, kind))
        return tuple(fields)

    def _compared(self, name: str, expression: Expression, kind: DataType) -> None:
        value = comparable(self.value(expression), kind, kind)
        plain = self.sent.plain(expression) if compared_as_it_is(kind) else None
        self.sent.made.append(Made(name, value, plain, wide=isinstance(kind, TimestampType)))

    def micros(self, name: str, time: Expression) -> str:
        """A time, in microseconds."""
        self.sent.made.append(micros_of(self.sent, name, time, self.value(time)))
        return name

    def given_window(self, moments: tuple[Expression, Expression]) -> None:
        for name, moment in zip((GIVEN_START, GIVEN_END), moments, strict=True):
            self.micros(name, moment)

    def held(self) -> tuple[Field, ...]:
        fields = fields_of(self.side, self.rows, Kind.BUFFERED)
        self.sent.made += map(wired_as, fields)
        return fields

    def calls(self, calls: tuple[Call, ...]) -> tuple[tuple[CallSpec, ...], tuple[Field, ...]]:
        """What kernels know of the calls, and the columns that they give."""
        specs, fields = [], []
        asked = [each for call in calls for each in (call.argument, call.by) if each is not None]
        known = dict(zip(asked, self.types_of(asked), strict=True))
        types = result_types(self.rows.rows, self.side.alias, calls, known)
        for number, (call, kind) in enumerate(zip(calls, types, strict=True)):
            argument = by = filtered = None
            if call.argument is not None:
                argument = self._argument(Kind.ARGUMENT.name_of(number), call, known[call.argument])
            if call.by is not None:
                by = Kind.BY.name_of(number)
                order = known[call.by]
                common_type(self.spark, order, order, f"The order of {call.function}")
                self._compared(by, call.by, order)
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
        """The column of a call's argument; calls of one argument share it."""
        assert call.argument is not None
        wired = call.function not in COLLECTING
        known = self._arguments.setdefault((call.argument, wired), name)
        if known == name:
            value = self.value(call.argument)
            plain = None if isinstance(kind, MapType) else self.sent.plain(call.argument)
            wide = wired and isinstance(kind, TimestampType)
            self.sent.made.append(Made(name, to_wire(value, kind) if wired else value, plain, wide))
        return known

    def _filter(self, name: str, predicate: Expression) -> str:
        """The column of a condition; calls of one condition share it."""
        known = self._filters.setdefault(predicate, name)
        if known == name:
            value = F.coalesce(self.value(predicate), F.lit(False))
            self.sent.made.append(Made(name, value, asked=self.sent.asked(predicate)))
        return known

    def packed(self, keys: tuple[str, ...], number: int, groups: int) -> tuple[Ready, Packing]:
        """What to pack, with the hash of the columns named `keys`, and how to pack it."""
        self.sent.made.insert(0, time_of(self.side, self.sent))
        ready = self.sent.ready(beside(self.side, self.rows, self.sent), hashed=keys)
        return ready, packing_of(number, self.side, self.rows, groups, ready)
