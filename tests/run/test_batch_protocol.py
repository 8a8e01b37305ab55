"""A job that is killed between any two calls of the sink protocol writes every row exactly once."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.run.fake_sinks import (
    KilledError,
    Mortal,
    Process,
    ReplacingSink,
    Row,
    Store,
    TransactionalSink,
)

from millstream.connectors.dead_letters import Rejection, dead_letters
from millstream.connectors.file.sink import FileSink
from millstream.connectors.sink import BatchId, Sink
from millstream.engine.processor.late_output import LateColumn, LateTable
from millstream.engine.processor.routing import MAIN_OUTPUT, BatchReport, Routing, route_task
from millstream.engine.shuffle.column_names import LATE, MAIN, ORIGIN, PAYLOAD, REJECTED, ROW_KIND
from millstream.engine.shuffle.format import encode
from millstream.observe.ledger import Ledger, dead_letters_of, late_rows_in
from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.run.batch_writer import Openers, write_batch
from millstream.run.checkpoint import Checkpoint
from millstream.run.ledger_store import LedgerStore

JOB = """
CREATE SOURCE s (n BIGINT) WITH ('connector' = 'file', 'path' = 'in');
CREATE SINK out WITH ('connector' = 'console') AS SELECT n FROM s;
"""
(QUERY,) = group_into_queries(build_job(JOB))
LATE_SCHEMA = pa.schema([("n", pa.int64()), ("_source", pa.string()), ("_lateness_ms", pa.int64())])
LATE_TABLE = LateTable("s", (LateColumn("c0", "n", pa.int64()),), LATE_SCHEMA)
ROUTING = Routing(
    is_labelled=True,
    late={(0, 0): ("late out", LATE_TABLE)},
    rejected={"s": ("rejected s", None)},
    source_names=("s",),
)
batches = st.lists(
    st.lists(st.tuples(st.sampled_from([MAIN, LATE, REJECTED]), st.integers(0, 99)), max_size=6),
    min_size=1,
    max_size=3,
)


def labelled_rows(rows: list[tuple[int, int]]) -> pa.RecordBatch:
    blobs = {
        MAIN: lambda _: None,
        LATE: lambda n: encode(pa.table({"c0": [n], "_lateness": [1000]})),
        REJECTED: lambda n: encode(dead_letters("s", [Rejection("malformed", str(n))])),
    }
    return pa.record_batch(
        {
            "n": pa.array([n if port == MAIN else None for port, n in rows], pa.int64()),
            ROW_KIND: pa.array([port for port, _ in rows], pa.int8()),
            ORIGIN: pa.array([0] * len(rows), pa.int32()),
            PAYLOAD: pa.array([blobs[port](n) for port, n in rows], pa.binary()),
        }
    )


@dataclass
class World:
    """What survives a process: the checkpoint, the stores of sinks, and Spark's log of commits."""

    folder: Path
    input: list[list[tuple[int, int]]]
    main: Store = field(default_factory=Store)
    late: Store = field(default_factory=Store)
    committed: int = 0

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.folder / "checkpoint")

    def run(self, process: Process, cores: int, failing_task: int | None = None) -> None:
        """Run the batches that are not committed, as Spark does after a restart."""
        self.checkpoint.open(QUERY, 1)
        ledger_store = LedgerStore.open(QUERY, self.checkpoint.ledger, self.committed)
        given: dict[str, Sink] = {
            MAIN_OUTPUT: ReplacingSink(self.main),
            "late out": TransactionalSink(self.late),
            "rejected s": FileSink(str(self.folder / "rejected"), "json"),
        }
        sinks: dict[str, Sink] = {name: Mortal(sink, process) for name, sink in given.items()}
        uuid = self.checkpoint.uuid
        for batch in range(self.committed, len(self.input)):
            process.step()
            (self.checkpoint.spark / "offsets").mkdir(parents=True, exist_ok=True)
            (self.checkpoint.spark / "offsets" / str(batch)).touch()
            ids = {name: BatchId(uuid, "out", name, batch) for name in sinks}
            tasks = self.checkpoint.tasks(batch, cores)
            parts = [
                [row for row in self.input[batch] if row[1] % tasks == t] for t in range(tasks)
            ]

            def execute(openers: Openers, parts=parts, ids=ids) -> BatchReport:
                reports = []
                for task, rows in enumerate(parts):
                    chunks = [labelled_rows(rows[:2]), labelled_rows(rows[2:])]
                    if task == failing_task:  # the first attempt fails halfway
                        with pytest.raises(ValueError, match="attempt"):
                            route_task(ROUTING, ids, openers, failing(chunks), task, 0)
                    reports.append(route_task(ROUTING, ids, openers, chunks, task, 1))
                return BatchReport.of(
                    tuple(row.values()) for report in reports for row in report.to_pylist()
                )

            def before_commit(report: BatchReport, openers: Openers) -> None:
                process.step()

            report = write_batch(sinks, ids, execute, before_commit)
            process.step()
            written = {
                late_rows_in("out"): report.rows("late out"),
                dead_letters_of("s"): report.rows("rejected s"),
            }
            counted = {"input_counts": {"s": {"in": len(self.input[batch])}}, "counts": {}}
            ledger_store.add(batch, [counted], {0: report.rows(MAIN_OUTPUT)}, written=written)
            process.step()
            self.committed = batch + 1

    def rejected(self) -> Counter[int]:
        return Counter(
            int(json.loads(line)["_message"])
            for path in (self.folder / "rejected").glob("*.json")
            for line in path.read_text().splitlines()
        )


def failing(chunks):
    yield chunks[0]
    raise ValueError("the attempt fails")


def expected(given: list[list[tuple[int, int]]], wanted: int) -> Counter[int]:
    return Counter(n for batch in given for port, n in batch if port == wanted)


def first(rows: Counter[Row]) -> Counter[int]:
    found: Counter[int] = Counter()
    for row, count in rows.items():
        found[row[0]] += count
    return found


@settings(max_examples=150, deadline=None)
@given(
    given=batches,
    kills=st.lists(st.integers(0, 45), max_size=4),
    cores=st.lists(st.integers(1, 4), min_size=5, max_size=5),
    failing_task=st.none() | st.integers(0, 1),
)
def test_a_job_killed_between_any_two_calls_writes_every_row_once(
    given, kills, cores, failing_task
):
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), given)
        for number, dies_at in enumerate([*kills, None]):
            try:
                world.run(Process(dies_at), cores[number], failing_task)
                break
            except KilledError:
                continue
        assert first(world.main.rows()) == expected(given, MAIN)
        assert first(world.late.rows()) == expected(given, LATE)
        assert world.rejected() == expected(given, REJECTED)
        hidden = list(Path(folder).rglob("_writing-*"))
        assert hidden == []
        ledger = LedgerStore.open(QUERY, world.checkpoint.ledger, world.committed).ledger
        assert isinstance(ledger, Ledger)
        assert ledger.rows_out == expected(given, MAIN).total()
        assert ledger.written.get(late_rows_in("out"), 0) == expected(given, LATE).total()
        assert ledger.written.get(dead_letters_of("s"), 0) == expected(given, REJECTED).total()


def test_every_call_of_a_batch_is_a_point_at_which_the_job_may_be_killed(tmp_path):
    given = [[(MAIN, 1), (LATE, 2), (REJECTED, 3), (MAIN, 4)]]
    whole = Process()
    World(tmp_path / "whole", given).run(whole, 2)
    for dies_at in range(whole.calls):
        world = World(tmp_path / str(dies_at), given)
        with pytest.raises(KilledError):
            world.run(Process(dies_at), 2)
        world.run(Process(), 3)
        found = first(world.main.rows()), first(world.late.rows()), world.rejected()
        assert found == tuple(expected(given, port) for port in (MAIN, LATE, REJECTED)), dies_at


def test_a_new_checkpoint_is_not_confused_with_markers_of_an_earlier_one(tmp_path):
    given = [[(LATE, 1)]]
    world = World(tmp_path / "a", given)
    world.run(Process(), 1)
    again = World(tmp_path / "b", given, late=world.late)
    again.run(Process(), 1)
    assert first(world.late.rows()) == Counter({1: 2})


def test_nothing_is_visible_if_the_check_before_the_commit_fails(tmp_path):
    sink = FileSink(str(tmp_path / "out"), "json")
    ids = {MAIN_OUTPUT: BatchId("checkpoint", "out", MAIN_OUTPUT, 0)}

    def execute(openers: Openers) -> BatchReport:
        report = route_task(Routing(), ids, openers, [pa.record_batch({"n": [1]})], 0)
        return BatchReport.of(tuple(row.values()) for row in report.to_pylist())

    def rejecting(report: BatchReport, openers: Openers) -> None:
        raise ValueError("the state has a limit")

    with pytest.raises(ValueError, match="limit"):
        write_batch({MAIN_OUTPUT: sink}, ids, execute, rejecting)
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []
    write_batch({MAIN_OUTPUT: sink}, ids, execute, lambda *_: None)
    [path] = (tmp_path / "out").rglob("*.json")
    assert (path.name, path.read_text()) == ("000000-0.json", '{"n":1}\n')
