"""A checkpoint says where to go on, and refuses what it does not fit."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.jobs import JOIN, SOURCES, command, project

from millstream.errors import StateError
from millstream.plan.build.job import build_job
from millstream.plan.build.query_groups import group_into_queries
from millstream.plan.nodes import Query, SinkDef
from millstream.run.checkpoint import Checkpoint, locked
from millstream.run.outputs import reject_foreign_files
from millstream.run.resumed_changes import describe_resumed_changes
from millstream.run.settings import settings_of
from millstream.state_format import STATE_FORMAT


def query(text: str = JOIN) -> Query:
    return group_into_queries(build_job(SOURCES + text))[0]


def begin(folder: Path, *, batches: int = 1) -> Checkpoint:
    """A checkpoint as Spark leaves it after some batches."""
    checkpoint = Checkpoint(folder)
    for name in ("offsets", "commits"):
        (checkpoint.spark / name).mkdir(parents=True, exist_ok=True)
        for batch in range(batches):
            (checkpoint.spark / name / str(batch)).write_text("v1")
            (checkpoint.spark / name / f".{batch}.crc").write_text("")
    return checkpoint


def test_the_next_batch_is_the_one_after_the_last_that_was_done(tmp_path):
    assert Checkpoint(tmp_path).next_batch == 0
    checkpoint = begin(tmp_path, batches=12)
    assert checkpoint.next_batch == 12
    (checkpoint.spark / "commits/11").unlink()
    assert checkpoint.next_batch == 11


def test_first_offsets_that_a_killed_process_has_left_are_removed(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.open(query(), 8)
    offsets = checkpoint.spark / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.1e0f.tmp").write_text("v1")
    (offsets / "..0.1e0f.tmp.crc").write_text("")
    checkpoint.open(query(), 8)
    assert not list(offsets.iterdir())
    begin(tmp_path)
    checkpoint.open(query(), 8)
    assert len(list(offsets.iterdir())) == 2


def test_the_first_number_of_key_groups_holds(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.open(query(), 8) == 8
    begin(tmp_path)
    assert checkpoint.open(query(), 32) == 8


def test_a_changed_plan_is_rejected_with_the_changes(tmp_path):
    Checkpoint(tmp_path).open(query(), 8)
    begin(tmp_path)
    changed = JOIN.replace("1 HOUR", "2 HOURS").replace("LEFT JOIN", "JOIN")
    with pytest.raises(StateError) as caught:
        Checkpoint(tmp_path).open(query(changed), 8)
    assert caught.value.code == "MS-STATE-CHANGED"
    assert caught.value.cause == (
        f"the checkpoint {tmp_path} was created by another plan of shipped: "
        "interval join bounds upper: 1h -> 2h; interval join type: left -> inner."
    )


@pytest.mark.parametrize("found", [STATE_FORMAT - 1, STATE_FORMAT + 1])
def test_a_checkpoint_of_another_format_is_rejected(tmp_path, found):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.open(query(), 8)
    begin(tmp_path)
    described = tmp_path / "millstream.json"
    own = f'"format": {STATE_FORMAT}'
    assert own in described.read_text()
    described.write_text(described.read_text().replace(own, f'"format": {found}'))
    with pytest.raises(StateError) as caught:
        checkpoint.open(query(), 8)
    assert str(caught.value) == (
        f"MS-STATE-FORMAT: the checkpoint {tmp_path} was written in format {found}; this version "
        f"of Millstream reads format {STATE_FORMAT}. Use the version of Millstream that wrote the "
        "checkpoint, or start again: with another checkpoint, or with `millstream run --fresh`, "
        "which removes the checkpoint and the files of file sinks."
    )


def test_a_checkpoint_from_before_derived_identities_is_rejected(tmp_path):
    checkpoint = begin(tmp_path)
    old = {"key_groups": 8, "plan": {"version": 3, "engine": "columnar", "operators": []}}
    (tmp_path / "millstream.json").write_text(json.dumps(old))
    with pytest.raises(StateError, match=r"MS-STATE-FORMAT: .* was written in format 3"):
        checkpoint.open(query(), 8)


def test_a_plan_may_change_before_its_first_batch(tmp_path):
    Checkpoint(tmp_path).open(query(), 8)
    assert Checkpoint(tmp_path).open(query(JOIN.replace("1 HOUR", "2 HOURS")), 4) == 4


DOUBLED = JOIN.replace("o.amount,", "2 * o.amount AS amount,")
MOVED = JOIN.replace("'path' = 'out'", "'path' = 'new'")


def test_a_changed_output_is_reported_and_recorded(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.open(query(), 8)
    assert checkpoint.changes(query(MOVED)) == []  # no batch has started
    begin(tmp_path, batches=3)
    uuid = checkpoint.uuid
    for text, sentence in (
        (JOIN, None),
        (MOVED, "output shipped sink path: out -> new"),
        (JOIN, "output shipped sink path: new -> out"),
        (DOUBLED, "output shipped column amount expression: `o`.`amount` -> 2 * `o`.`amount`"),
    ):
        assert checkpoint.changes(query(text)) == ([sentence] if sentence else [])
        assert checkpoint.open(query(text), 32) == 8
        assert checkpoint.changes(query(text)) == []
    assert checkpoint.uuid == uuid


def test_a_sink_is_moved_only_when_the_last_batch_is_complete(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.open(query(), 8)
    begin(tmp_path, batches=3)
    (checkpoint.spark / "commits/2").unlink()
    with pytest.raises(StateError) as caught:
        checkpoint.check(query(MOVED))
    assert caught.value.code == "MS-STATE-PENDING"
    assert caught.value.cause == (
        "the sink shipped of shipped is changed to another place, and batch 2 is not complete: its "
        "rows may be in the old place already."
    )
    checkpoint.check(query(DOUBLED))
    (checkpoint.spark / "commits/2").write_text("v1")
    checkpoint.check(query(MOVED))


def test_side_sinks_are_moved_only_when_the_last_batch_is_complete(tmp_path):
    late = "CREATE SINK {} WITH ('connector' = 'file', 'path' = '{}');\n"
    clauses = " EMIT CHANGES WITH ('late.policy' = 'side_output', 'late.sink' = '{}');"

    def made(name: str, path: str) -> tuple[Query, tuple[SinkDef, ...]]:
        text = JOIN.rstrip().rstrip(";") + clauses.format(name)
        job = build_job(SOURCES + late.format(name, path) + text)
        return group_into_queries(job)[0], job.sinks

    checkpoint = Checkpoint(tmp_path)
    old, sinks = made("late", "l")
    checkpoint.open(old, 8, sinks)
    begin(tmp_path, batches=3)
    assert checkpoint.changes(*made("late", "m")) == ["side sinks late rows late path: l -> m"]
    assert checkpoint.moved_sinks(*made("later", "l")) == ("late", "later")
    checkpoint.check(*made("late", "m"))
    (checkpoint.spark / "commits/2").unlink()
    for moved in (made("late", "m"), made("later", "l")):
        with pytest.raises(StateError, match="MS-STATE-PENDING"):
            checkpoint.check(*moved)
    checkpoint.check(old, sinks)


def test_a_sink_is_not_moved_to_files_of_another_run(tmp_path):
    job = build_job(SOURCES + MOVED)
    settings = settings_of(job, tmp_path / "job.sql")
    folder = settings.checkpoint / "shipped"
    Checkpoint(folder).open(query(), 8)
    begin(folder, batches=3)
    (tmp_path / "new").mkdir()
    (tmp_path / "new/000002-0.csv").write_text("")
    reject_foreign_files(job, settings)  # of a batch that is complete: it stays
    (tmp_path / "new/000003-0.csv").write_text("")
    with pytest.raises(StateError, match="the next batches of shipped would replace them"):
        reject_foreign_files(job, settings)
    assert list(describe_resumed_changes(job, settings)) == [
        "changed     shipped, from batch 3 on: output shipped sink path: out -> new"
    ]


def test_run_refuses_a_changed_plan_before_spark_is_started(tmp_path):
    job = project(tmp_path)
    folder = tmp_path / ".millstream/job/shipped"
    Checkpoint(folder).open(query(), 8)
    begin(folder)
    job.write_text(SOURCES + JOIN.replace("1 HOUR", "90 MINUTES"))
    done = command("run", job, "--once")
    assert done.exit_code == 1
    assert done.stderr.startswith("MS-STATE-CHANGED\n")
    assert "interval join bounds upper: 1h -> 1h 30m" in done.stderr


def test_run_refuses_a_checkpoint_whose_input_has_ended(tmp_path):
    job = project(tmp_path)
    folder = tmp_path / ".millstream/job/shipped"
    Checkpoint(folder).open(query(), 8)
    begin(folder)
    Checkpoint(folder).end()
    done = command("run", job, "--once", "--flush")
    assert done.exit_code == 1
    assert done.stderr.startswith("MS-STATE-ENDED\n")
    assert "Fix: Add --fresh to start again" in done.stderr


def test_a_run_without_flush_says_how_to_complete_the_queries_that_have_not_ended(tmp_path):
    job = project(tmp_path, SOURCES + JOIN + JOIN.replace("shipped", "again").replace("out", "b"))
    folder = tmp_path / ".millstream/job/shipped"
    Checkpoint(folder).open(query(), 8)
    begin(folder)
    Checkpoint(folder).end()
    done = command("run", job, "--once")
    assert done.exit_code == 1
    assert done.stderr.startswith("MS-STATE-ENDED\n")
    assert "Fix: Add --flush to complete again. Or add --fresh to start again" in done.stderr


def test_run_refuses_to_write_over_another_run_s_files(tmp_path):
    job = project(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/000000-0.csv").write_text("id,amount,carrier\n")
    done = command("run", job, "--once")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"MS-STATE-SINK at {job}, line 8, ")
    assert f"{tmp_path}/out has files of another run" in done.stderr


def test_a_checkpoint_is_used_by_one_process_at_a_time(tmp_path):
    job = project(tmp_path)
    checkpoint = tmp_path / ".millstream/job"
    with locked(checkpoint):
        done = subprocess.run(
            [sys.executable, "-m", "millstream.cli", "run", str(job), "--once"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("MS-STATE-IN-USE\n")
    assert "is in use by another run (process " in done.stderr
    with locked(checkpoint):
        pass


TWO_SINKS = """
CREATE STREAM both AS SELECT o.id FROM orders o JOIN shipments s
  ON o.id = s.id AND s.at BETWEEN o.at AND o.at + INTERVAL 1 HOUR;
CREATE SINK a WITH ('connector' = 'console') AS SELECT id FROM both;
CREATE SINK b WITH ('connector' = 'console') AS SELECT id FROM both WHERE id > 'x';
"""


def test_a_sink_that_another_query_of_the_checkpoint_wrote_is_rejected(tmp_path):
    made = begin(tmp_path / "a")
    (made.spark / "offsets/0").unlink()
    made.open(query(TWO_SINKS), 8)
    begin(tmp_path / "a")
    first, second = TWO_SINKS.index("CREATE SINK a"), TWO_SINKS.index("CREATE SINK b")
    swapped = TWO_SINKS[:first] + TWO_SINKS[second:] + TWO_SINKS[first:second]
    for text in (swapped, TWO_SINKS[:first] + TWO_SINKS[second:]):
        with pytest.raises(StateError) as caught:
            Checkpoint(tmp_path / "b").open(query(text), 8)
        assert caught.value.code == "MS-STATE-CHANGED"
        assert "was an output of the query a, b" in caught.value.cause
