"""The input of an operator that has one, as Spark prepares it: hash, time, keys, arguments.

Every expression is Spark's: a kernel sees columns. A row belongs to the key group of its hash.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from millstream.kernels.base import HASH, TIME
from millstream.kernels.specs import GIVEN_END, GIVEN_START, CallSpec
from millstream.plan.nodes import Call, Input
from millstream.spark.calls import COLLECTING, result_types
from millstream.spark.inputs import Field, beside, fields_of, packing_of, time_of, wired_as
from millstream.spark.packets import Packing
from millstream.spark.stateless import Flow, guarded
from millstream.spark.wire import common_type, comparable, to_wire


@dataclass(slots=True)
class Operand:
    """Gathers the columns that a kernel asks for, under the names it knows them by."""

    spark: SparkSession
    side: Input
    rows: Flow
    columns: list[Column] = field(default_factory=list)
    _arguments: dict[tuple[str, bool], str] = field(default_factory=dict)  # by text and form
    _filters: dict[str, str] = field(default_factory=dict)  # by text

    @property
    def frame(self) -> DataFrame:
        return self.rows.frame.alias(self.side.alias)

    def value(self, text: str) -> Column:
        return guarded(self.rows.sound, text)

    def types_of(self, texts: list[str]) -> list[DataType]:
        """Asked for at once: every question makes Spark analyse the whole stream."""
        if not texts:
            return []
        asked = (F.expr(text).alias(f"t{number}") for number, text in enumerate(texts))
        return [field.dataType for field in self.frame.select(*asked).schema]

    def keys(self, texts: list[tuple[str, str]], what: str) -> tuple[Field, ...]:
        """Columns by which rows are told apart, with their names; NULL is a value like others."""
        fields = []
        kinds = self.types_of([text for _, text in texts])
        for (name, text), kind in zip(texts, kinds, strict=True):
            common_type(self.spark, kind, kind, what)
            self.columns.append(comparable(self.value(text), kind, kind).alias(name))
            fields.append(Field(name, name, kind))
        return tuple(fields)

    def micros(self, name: str, text: str) -> str:
        """A time, in microseconds."""
        self.columns.append(F.unix_micros(self.value(text)).alias(name))
        return name

    def given_window(self, texts: tuple[str, str]) -> None:
        for name, text in zip((GIVEN_START, GIVEN_END), texts, strict=True):
            self.micros(name, text)

    def held(self, letter: str = "c") -> tuple[Field, ...]:
        fields = fields_of(self.side, self.rows, letter)
        self.columns += map(wired_as, fields)
        return fields

    def calls(self, calls: tuple[Call, ...]) -> tuple[tuple[CallSpec, ...], tuple[Field, ...]]:
        """What kernels know of the calls, and the columns that they give."""
        specs, fields = [], []
        types = result_types(self.frame, calls)
        asked = [text for call in calls for text in (call.argument, call.by) if text is not None]
        known = dict(zip(asked, self.types_of(asked), strict=True))
        for number, (call, kind) in enumerate(zip(calls, types, strict=True)):
            argument = by = filtered = None
            if call.argument is not None:
                argument = self._argument(f"x{number}", call, known[call.argument])
            if call.by is not None:
                by = f"o{number}"
                order = known[call.by]
                common_type(self.spark, order, order, f"The order of {call.function}")
                self.columns.append(comparable(self.value(call.by), order, order).alias(by))
            if call.filter is not None:
                filtered = self._filter(f"f{number}", call.filter)
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
            self.columns.append((to_wire(value, kind) if wired else value).alias(name))
        return known

    def _filter(self, name: str, text: str) -> str:
        """The column of a condition; calls of one condition share it."""
        known = self._filters.setdefault(text, name)
        if known == name:
            passed = F.coalesce(self.value(text), F.lit(False))
            self.columns.append(passed.alias(name))
        return known

    def packed(
        self, keys: tuple[str, ...], number: int, groups: int, clocked: bool
    ) -> tuple[DataFrame, Packing]:
        """The frame to pack, with the hash of the columns named `keys`, and how to pack it."""
        frame = self.frame.select(
            F.unix_micros(time_of(self.side)).alias(TIME),
            *self.columns,
            *beside(self.side, self.rows, clocked),
        )
        hashed = F.xxhash64(*keys) if keys else F.lit(0).cast("bigint")
        frame = frame.select(hashed.alias(HASH), "*")
        return frame, packing_of(number, self.side, self.rows, groups, clocked)
