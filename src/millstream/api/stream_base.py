"""What every method of a stream builds on: its plan, its columns, its event time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NoReturn, Self

from pyspark.sql import DataFrame

from millstream.api import display
from millstream.api.datasets import differ, reject_second_catalog, versions_of
from millstream.api.plan_steps import Names, Step, datasets_of, names_of, node_of, with_versions
from millstream.api.sources import SourceFrame, with_spark_watermark
from millstream.api.tables import Table
from millstream.errors import PlanError
from millstream.observe.operator_names import names_of as operator_names_of
from millstream.plan.facts.watermark_delay import watermark_delay_of
from millstream.plan.nodes import Select, Source, TableJoin, UnionAll
from millstream.plan.nodes.traversal import inputs_of
from millstream.plan.resolve.event_time import require_event_time
from millstream.plan.resolve.system_columns import time_of, with_system_columns
from millstream.sql.statements import WatermarkDef


class StreamBase:
    """An immutable step of a query: a source, or a SELECT over other steps. It is planned when it
    is made, so that a mistake is an error there."""

    __slots__ = ("_names", "_node", "_root")

    def __init__(self, root: Step | SourceFrame) -> None:
        if isinstance(root, Step) and differ(chosen := datasets_of([root])):
            root = with_versions(root, versions_of(chosen).chosen)
        self._root = root
        self._names: Names = names_of(root)
        if isinstance(root, Step):
            self._node: Source | Select = root.planned(self._names).select
        else:
            self._node = node_of(root, self._names)
        reject_second_catalog(datasets_of([root]))

    @property
    def columns(self) -> list[str]:
        """The names of the columns.

        Example:
            >>> shipments.columns
            ['order_id', 'carrier', 'event_time']
        """
        return [column.name for column in self._node.columns]

    @property
    def time(self) -> str | None:
        """The column with the event time; None if the rows have none.

        The results of a window have the time `_window_time`, the last microsecond of the window.
        It need not be among the columns.

        Example:
            >>> orders.select("order_id", "event_time AS ordered").time
            'ordered'
        """
        return time_of(self._node)

    @property
    def delay(self) -> timedelta:
        """How far the watermark trails the latest event time of the sources.

        Example:
            >>> orders.delay
            datetime.timedelta(seconds=5)
        """
        return timedelta(microseconds=self._delay())

    @property
    def sources(self) -> list[str]:
        """The names of the sources, which are part of what a checkpoint depends on.

        Example:
            >>> orders.interval_join(shipments, on="order_id", lower="0s", upper="1h").sources
            ['orders', 'shipments']
        """
        return list(self._names.sources)

    @property
    def operators(self) -> list[str]:
        """The operators with state, from the sources to the sink.

        Example:
            >>> orders.deduplicate("order_id", within="1 hour").operators
            ['deduplication of orders']
        """
        if isinstance(self._node, Source):
            return []
        return [names.operator for names in reversed(operator_names_of(self._node))]

    def _derive(
        self,
        text: str,
        inputs: Mapping[str, Self],
        tables: Mapping[str, Table] | None = None,
        side_outputs: tuple[str, ...] = (),
        watermark: WatermarkDef | None = None,
    ) -> Self:
        """Returns the stream of a SELECT over this stream and others."""
        roots = {name: each._root for name, each in inputs.items()}
        return type(self)(Step(text, roots, tables or {}, side_outputs, watermark=watermark))

    def _other(self, given: Self | DataFrame) -> Self:
        """Returns an argument as a stream; a DataFrame must have Spark's `withWatermark`."""
        if isinstance(given, type(self)):
            return given
        source = with_spark_watermark(given)
        if source.time is None:
            raise PlanError(
                "MS-PLAN-NO-WATERMARK",
                "the DataFrame has no event time.",
                fix='Wrap it: ms.stream(df, time="event_time", delay="5s"), or call withWatermark.',
            )
        return type(self)(source)

    def _delay(self) -> int:
        time = self.time
        return 0 if time is None else _delay_of(with_system_columns(self._node, {time}))

    def _require_time(self, name: str) -> str:
        return require_event_time(name, self._node, self.time, None)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            hint = ""
            if not name.startswith("_") and hasattr(DataFrame, name):
                hint = " It is an attribute of a DataFrame: call .to_df() first."
            raise AttributeError(f"a Stream has no attribute {name!r}.{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        return display.stream_text(self._summary())

    def _repr_html_(self) -> str:
        return display.stream_html(self._summary())

    def _summary(self) -> display.Summary:
        return display.Summary(
            columns=tuple((column.name, column.type) for column in self._node.columns),
            time=self.time,
            delay=self._delay(),
            sources=tuple(self._names.sources),
            operators=tuple(self.operators),
        )

    def __reduce__(self) -> Any:
        raise TypeError("a Stream belongs to a SparkSession and cannot be pickled")


def _delay_of(node: Source | Select) -> int:
    """Returns how far a watermark trails the latest event time of the sources, in microseconds."""
    if isinstance(node, Source):
        return watermark_delay_of(node)
    below = node.input.left.node if isinstance(node.input, TableJoin) else node.input
    if isinstance(below, UnionAll):
        return max(map(_delay_of, below.inputs))
    if isinstance(below, Source | Select):
        return watermark_delay_of(node) - watermark_delay_of(below) + _delay_of(below)
    return watermark_delay_of(node) + max(_delay_of(side.node) for side in inputs_of(below))
