"""Opens the sinks of a job: of its outputs, of late rows and of dead letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from millstream.connectors.file.sink_options import checkpoint_sink
from millstream.connectors.registry import open_sink
from millstream.connectors.sink import Sink, SupportsSharing
from millstream.engine.compile.compiled_operator import CompiledOperator
from millstream.observe.ledger import OWN_LATE_SINK
from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.nodes import Job, Operator, Query, ReferenceTable, SinkDef, Source
from millstream.run.checkpoint import Checkpoint


@dataclass(slots=True)
class JobSinks:
    """The sinks of a job. `given` replaces connectors.

    Attributes:
        late_operators: By the name of a sink of late rows that several queries write to: the
            operators whose late rows it has.
        malformed_writers: By source: the query that writes its malformed records.
    """

    job: Job
    checkpoint: Path
    base: Path
    connectors: ConnectorRegistry
    given: Callable[[SinkDef], Sink] | None = None
    late_operators: Mapping[str, Sequence[CompiledOperator]] = field(default_factory=dict)
    malformed_writers: Mapping[str, str] = field(default_factory=dict)

    def open_sink(self, sink: SinkDef) -> Sink:
        if self.given is not None:
            return self.given(sink)
        return open_sink(self.connectors, sink, self.base)

    def dead_letter_sink(self, source: Source | ReferenceTable, query: Query) -> tuple[str, Sink]:
        """Returns the dead-letter sink of a source or table, with a name that identifies the
        sink."""
        if named := self.job.sink(source.dead_letter or ""):
            return named.name, self._open_side_sink(named, query)
        if self.given is not None:
            return "rejected", self.given(SinkDef("rejected", "memory"))
        folder = self._checkpoint_of(query).dead_letters(source.name)
        return str(folder), self.open_sink(checkpoint_sink("rejected", folder))

    def failed_row_sink(self, query: Query) -> tuple[str, Sink]:
        """Returns the sink of rows for which an expression fails, if they are results of an
        operator or the query names a sink, with a name that identifies the sink."""
        if named := self.job.sink(query.errors.sink or ""):
            return named.name, self._open_side_sink(named, query)
        if self.given is not None:
            return "rejected", self.given(SinkDef("rejected", "memory"))
        folder = self._checkpoint_of(query).failed_results
        return str(folder), self.open_sink(checkpoint_sink("rejected", folder))

    def late_sink(self, operator: Operator, query: Query) -> tuple[str, Sink]:
        """Returns the sink of late rows of an operator, with a name that identifies the sink."""
        if named := self.job.sink(operator.late.sink or ""):
            return named.name, self._open_side_sink(named, query)
        if self.given is not None:
            return OWN_LATE_SINK, self.given(SinkDef("late", "memory"))
        folder = self._checkpoint_of(query).late
        return OWN_LATE_SINK, self.open_sink(checkpoint_sink("late", folder))

    def operators_with_late_sink(self, sink: str) -> Sequence[CompiledOperator]:
        """Returns the operators whose late rows go to a sink, if several queries write to it."""
        return self.late_operators.get(sink, ())

    def writes_malformed(self, source: Source, query: Query) -> bool:
        """Whether a query writes the malformed records of a source that it reads."""
        return self.malformed_writers.get(source.name, query.name) == query.name

    def _open_side_sink(self, sink: SinkDef, query: Query) -> Sink:
        """Opens a sink that other queries may write to, too."""
        opened = self.open_sink(sink)
        return opened.with_label(query.name) if isinstance(opened, SupportsSharing) else opened

    def _checkpoint_of(self, query: Query) -> Checkpoint:
        return Checkpoint(self.checkpoint / query.name)
