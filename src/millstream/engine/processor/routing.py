"""Routes the rows of a micro-batch to the writers of its outputs, on executors, in one pass.

    labelled rows ──▶ main rows        ──▶ the sink's writer ──┐
                      late packets     ──▶ the late sink's   ──┼──▶ one message per output and task
                      rejected packets ──▶ dead letters      ──┘
                      statistics       ────────────────────────▶ as they are

The driver receives messages only: counts, names of files, statistics of key groups.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from millstream.connectors.dead_letters import (
    AHEAD_OF_TIME,
    DELETED,
    FAILED_EXPRESSION,
    UNREADABLE_FILE,
    Rejection,
    dead_letters,
)
from millstream.connectors.sink import BatchId, Message, OutputWriter, TaskId, WriterOpener
from millstream.connectors.sink_errors import UNUSABLE, write_error_fix
from millstream.engine.processor.late_output import LateTable
from millstream.engine.shuffle.column_names import (
    INPUTS,
    LATE,
    MAIN,
    ORIGIN,
    OUTPUT,
    OUTPUT_ROWS,
    PAYLOAD,
    REJECTED,
    ROW_KIND,
    STATS,
    output_column,
)
from millstream.engine.shuffle.format import decode
from millstream.errors import RunError

# A row kind of queries without an operator: the payload is one `Rejection` as JSON, ORIGIN the
# number of its source. The payload of REJECTED, of an operator's input, is a table of dead letters.
BAD_RECORD = 4
MAIN_OUTPUT = "main"
MESSAGES = "output string, task int, message string, data binary"
_SCHEMA = pa.schema(
    [
        ("output", pa.string()),
        ("task", pa.int32()),
        ("message", pa.string()),
        ("data", pa.binary()),
    ]
)


@dataclass(frozen=True, slots=True)
class Routing:
    """The output of each kind of row, by name. Rows without an output are not written."""

    is_labelled: bool = False  # whether there are SIDE_COLUMNS
    late: Mapping[tuple[int, int], tuple[str, LateTable]] = field(default_factory=dict)
    # By source: its output, and the operator and input that reads it first, if one does. A source
    # that a query names twice is read twice, and its rejected records are written once.
    rejected: Mapping[str, tuple[str, tuple[int, int] | None]] = field(default_factory=dict)
    # The output of rows for which an expression fails, by the name in the dead letter; of other
    # names, such as operators: `failed_results`.
    failed: Mapping[str, str] = field(default_factory=dict)
    failed_results: str | None = None
    # Sources whose malformed records another query writes; this one only counts them.
    malformed_written_elsewhere: frozenset[str] = frozenset()
    source_names: tuple[str, ...] = ()  # of malformed records, by their number
    # In a query with several outputs, by their number: the output here. Two may have the same.
    main_outputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What a task wrote to one output.

    Attributes:
        dead_letters: Their number, by source, table or operator.
        failed: Those of them for which an expression failed.
        failed_copies: Those of them that are copies of a row for one of several outputs.
        ahead_messages: By source: the message of its first row that was ahead of time.
        unreadable: By source: the number of files that could not be read, and the path and message
            of the first.
        rows_by_output: Rows by the number of the query's output, if the query has several.
    """

    task: int
    message: Message
    rows: int
    dead_letters: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    failed_copies: dict[str, int] = field(default_factory=dict)
    ahead_messages: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, tuple[int, str]] = field(default_factory=dict)
    rows_by_output: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class BatchReport:
    """What the tasks of a batch report: by output, ordered by task; and texts of statistics."""

    outputs: dict[str, list[TaskReport]] = field(default_factory=dict)
    stats: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Iterable[Sequence[Any]]) -> BatchReport:
        made = cls()
        for output, task, text, data in rows:
            if output is None:
                made.stats.append(text)
            else:
                report = TaskReport(task, **json.loads(text))
                if data is not None:
                    report.message["data"] = bytes(data)
                made.outputs.setdefault(output, []).append(report)
        for reports in made.outputs.values():
            reports.sort(key=lambda report: report.task)
        return made

    def messages(self, output: str) -> list[Message]:
        return [report.message for report in self.outputs.get(output, ())]

    def rows(self, output: str) -> int:
        return sum(report.rows for report in self.outputs.get(output, ()))

    def rejected(self, source: str) -> tuple[int, int, int]:
        """Returns the rejected rows of a source that tasks have read: malformed records, rows for
        which an expression failed, and those of them that are copies for one output."""
        reports = [report for reports in self.outputs.values() for report in reports]
        total, failed, copies = (
            sum(counts.get(source, 0) for counts in each)
            for each in (
                (report.dead_letters for report in reports),
                (report.failed for report in reports),
                (report.failed_copies for report in reports),
            )
        )
        return total - failed, failed, copies

    def rows_by_output(self) -> Counter[int]:
        """Rows by the number of the query's output."""
        counts: Counter[int] = Counter()
        for reports in self.outputs.values():
            for report in reports:
                for number, rows in report.rows_by_output.items():
                    counts[int(number)] += rows
        return counts


Route = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def router(
    routing: Routing, ids: Mapping[str, BatchId], openers: Mapping[str, WriterOpener]
) -> Route:
    """The function that `mapInArrow` runs; it yields rows of MESSAGES."""

    def route(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        task, attempt = (context.partitionId(), context.taskAttemptId()) if context else (0, 0)
        yield route_task(routing, ids, openers, batches, task, attempt)

    return route


def route_task(
    routing: Routing,
    ids: Mapping[str, BatchId],
    openers: Mapping[str, WriterOpener],
    batches: Iterable[pa.RecordBatch],
    task: int,
    attempt: int = 0,
) -> pa.RecordBatch:
    """Writes the rows of one task."""
    writer = _Task(routing, ids, openers, task, attempt)
    try:
        for batch in batches:
            if batch.num_rows:
                writer.write(batch)
        return writer.close()
    except BaseException as error:
        writer.abort()
        if isinstance(error, OSError) and error.errno in UNUSABLE:
            query = next(iter(ids.values())).query
            raise RunError(
                "MS-RUN-SINK",
                f"a sink of {query} could not be written: {error}.",
                fix=write_error_fix(error),
            ) from error
        raise


@dataclass(slots=True)
class _Output:
    writer: OutputWriter
    rows: int = 0
    dead_letters: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    failed_copies: Counter[str] = field(default_factory=Counter)
    ahead_messages: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, tuple[int, str]] = field(default_factory=dict)
    rows_by_output: Counter[str] = field(default_factory=Counter)

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        self.rows += rows.num_rows
        for batch in rows.to_batches() if isinstance(rows, pa.Table) else (rows,):
            self.writer.write(batch)


@dataclass(slots=True)
class _Task:
    routing: Routing
    ids: Mapping[str, BatchId]
    openers: Mapping[str, WriterOpener]
    task: int
    attempt: int
    outputs: dict[str, _Output] = field(default_factory=dict)
    stats: list[str] = field(default_factory=list)

    def write(self, batch: pa.RecordBatch) -> None:
        if not self.routing.is_labelled:
            self._output(MAIN_OUTPUT).write(batch)
            return
        kinds = batch.column(ROW_KIND)
        columns = batch.select(
            [n for n in batch.schema.names if n not in (ROW_KIND, ORIGIN, PAYLOAD)]
        )
        is_main = pc.equal(kinds, MAIN)
        count = pc.sum(is_main).as_py() or 0
        if count:
            self._write_main(columns if count == batch.num_rows else columns.filter(is_main))
        if count == batch.num_rows:
            return
        side = batch.select([ROW_KIND, ORIGIN, PAYLOAD]).filter(pc.invert(is_main))
        bad = side.filter(pc.equal(side.column(ROW_KIND), BAD_RECORD))
        if bad.num_rows:
            labels = columns.column(OUTPUT) if OUTPUT in columns.schema.names else None
            is_bad = pc.equal(kinds, BAD_RECORD)
            self._bad_records(bad, None if labels is None else labels.filter(is_bad))
        packets = side.filter(pc.not_equal(side.column(ROW_KIND), BAD_RECORD))
        for kind, origin, payload in zip(*(c.to_pylist() for c in packets.columns), strict=True):
            self._packet(kind, origin, payload)

    def _write_main(self, rows: pa.RecordBatch) -> None:
        if not self.routing.main_outputs:
            self._output(MAIN_OUTPUT).write(rows)
            return
        labels = rows.column(OUTPUT)
        for number in pc.unique(labels).to_pylist():
            own = rows.filter(pc.equal(labels, number)).column(output_column(number))
            self._write_output(number, pa.RecordBatch.from_struct_array(own))

    def _write_output(self, number: int, rows: pa.RecordBatch | pa.Table) -> None:
        """Writes rows of one of several outputs. Outputs with the same sink can differ in which
        columns may be NULL, so all may."""
        rows = type(rows).from_arrays(rows.columns, names=rows.schema.names)
        target = self._output(self.routing.main_outputs[number])
        target.write(rows)
        target.rows_by_output[str(number)] += rows.num_rows

    def _bad_records(self, rows: pa.RecordBatch, labels: pa.Array | None) -> None:
        """Writes rejections. `labels` are the outputs that the rows are copies for, if there are
        several; negative: for none."""
        numbers = rows.column(ORIGIN).fill_null(0)
        for number in pc.unique(numbers).to_pylist():
            is_own = pc.equal(numbers, number)
            texts = rows.filter(is_own).column(PAYLOAD).cast(pa.string())
            rejections = [Rejection.decode(text) for text in texts.to_pylist()]
            # Without a number, only rejections that name their operator themselves can occur.
            known = self.routing.source_names
            self._reject(None, dead_letters(known[number] if known else "", rejections))
            if labels is not None:
                self._count_copies(rejections, labels.filter(is_own).to_pylist())

    def _count_copies(self, rejections: list[Rejection], labels: list[int | None]) -> None:
        for rejection, label in zip(rejections, labels, strict=True):
            if label is not None and label >= 0 and rejection.source is not None:
                target = self._output(self._output_of_failed(rejection.source))
                target.failed_copies[rejection.source] += 1

    def _packet(self, kind: int, origin: int, payload: bytes) -> None:
        if kind == STATS:
            self.stats.append(payload.decode())
        elif kind == OUTPUT_ROWS:
            self._write_output(origin, decode(payload))
        elif kind == LATE:
            known = self.routing.late.get(divmod(origin, INPUTS))
            if known is not None:
                output, table = known
                self._output(output).write(table.rows(decode(payload)))
        elif kind == REJECTED:
            self._reject(divmod(origin, INPUTS), decode(payload))

    def _reject(self, origin: tuple[int, int] | None, rows: pa.Table) -> None:
        is_failed = pc.equal(rows["_reason"], FAILED_EXPRESSION)
        self._reject_failed(rows.filter(is_failed))
        rows = rows.filter(pc.invert(is_failed))
        if not rows.num_rows:
            return
        source = rows["_source"][0].as_py()
        output, first = self.routing.rejected[source]
        if first is not None and origin != first:
            return
        target = self._output(output)
        written = self._written(source, rows)
        target.write(written)
        target.dead_letters[source] += rows.num_rows
        found = rows.filter(pc.equal(rows["_reason"], AHEAD_OF_TIME))
        if found.num_rows:
            target.ahead_messages.setdefault(source, found["_message"][0].as_py())
        files = written.filter(pc.equal(written["_reason"], UNREADABLE_FILE))
        if files.num_rows:
            text = f"{files['_file'][0].as_py()}: {files['_message'][0].as_py()}"
            count, text = target.unreadable.get(source, (0, text))
            target.unreadable[source] = count + files.num_rows, text

    def _reject_failed(self, rows: pa.Table) -> None:
        """Writes rows for which an expression failed. An input that reads them again has its own
        expressions, so its rows are written, too."""
        for source in pc.unique(rows["_source"]).to_pylist():
            own = rows.filter(pc.equal(rows["_source"], source))
            target = self._output(self._output_of_failed(source))
            target.write(own)
            target.dead_letters[source] += own.num_rows
            target.failed[source] += own.num_rows

    def _output_of_failed(self, source: str) -> str:
        output = self.routing.failed.get(source, self.routing.failed_results)
        assert output is not None, f"{source} has no dead-letter queue"
        return output

    def _written(self, source: str, rows: pa.Table) -> pa.Table:
        """Returns the rejected rows of a source that this query writes. Whether a row is ahead of
        time, or a file still exists, depends on when the query reads it."""
        if source not in self.routing.malformed_written_elsewhere:
            return rows
        is_ahead = pc.equal(rows["_reason"], AHEAD_OF_TIME)
        return rows.filter(pc.or_(is_ahead, pc.ends_with(rows["_message"], DELETED)))

    def _output(self, name: str) -> _Output:
        if name not in self.outputs:
            id_ = TaskId(self.ids[name], self.task, self.attempt)
            self.outputs[name] = _Output(self.openers[name].open(id_))
        return self.outputs[name]

    def close(self) -> pa.RecordBatch:
        rows: list[tuple[str | None, int, str, bytes | None]] = [
            (None, self.task, text, None) for text in self.stats
        ]
        for name, output in self.outputs.items():
            message = dict(output.writer.close())
            data = message.pop("data", None)
            report = {
                "message": message,
                "rows": output.rows,
                "dead_letters": output.dead_letters,
                "failed": output.failed,
                "failed_copies": output.failed_copies,
                "ahead_messages": output.ahead_messages,
                "unreadable": output.unreadable,
                "rows_by_output": output.rows_by_output,
            }
            rows.append((name, self.task, json.dumps(report), data))
        columns = zip(*rows, strict=True) if rows else ((),) * len(_SCHEMA)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, _SCHEMA, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)

    def abort(self) -> None:
        for output in self.outputs.values():
            output.writer.abort()
