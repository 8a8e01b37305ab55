"""How a query uses a source's event times, and the declarations of connectors."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.facts.pipeline import PipelineFacts
from millstream.plan.nodes import Engine, Input, Query, Source
from millstream.temporal import DEFAULT_MAX_AHEAD


@dataclass(frozen=True, slots=True)
class SourceUse:
    """`watermark`: the operator that reads the source has a watermark, on the columnar engine.
    `default` is the limit of sources that set no `watermark.max_ahead`."""

    is_stateless: bool
    is_columnar: bool
    default_max_ahead: int | None
    connectors: ConnectorRegistry
    has_watermark: bool = False

    @classmethod
    def from_facts(
        cls, facts: PipelineFacts, query: Query, connectors: ConnectorRegistry
    ) -> SourceUse:
        kept = any(connectors[sink.connector].keeps_rows for sink in query.sinks)
        default = DEFAULT_MAX_AHEAD if kept else None
        return cls(not facts.operators, facts.engine is Engine.COLUMNAR, default, connectors)

    def for_input(self, side: Input) -> SourceUse:
        """The use by an operator that reads this input."""
        return replace(self, has_watermark=self.is_columnar and side.time is not None)

    def max_ahead(self, source: Source) -> int | None:
        """The limit that `run` applies, in microseconds; None: it applies none."""
        if source.watermark is None or not self.has_watermark or source.max_ahead == 0:
            return None
        return self.default_max_ahead if source.max_ahead is None else source.max_ahead
