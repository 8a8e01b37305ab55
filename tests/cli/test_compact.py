"""`millstream compact`: what it prints, and what it rejects."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.run.checkpoint import locked


def compact(*arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["compact", *map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    for batch in range(4):
        pq.write_table(pa.table({"n": [batch]}), folder / f"{batch:06d}-0.parquet")
    return folder


def checkpoint_of(out: Path, *, committed: bool, path: str = "out") -> Path:
    """A checkpoint whose last batch is 3."""
    folder = out.parent / "checkpoint"
    for name in ("offsets", "commits"):
        (folder / "totals/spark" / name).mkdir(parents=True)
    for batch in range(4):
        (folder / f"totals/spark/offsets/{batch}").touch()
        if batch < 3 or committed:
            (folder / f"totals/spark/commits/{batch}").touch()
    outputs = {"totals": {"sink": {"connector": "file", "path": path}}}
    identity = {"state": {}, "output": {"outputs": outputs}}
    (folder / "totals/millstream.json").write_text(json.dumps({"identity": identity}))
    return folder


def test_files_of_all_batches_but_the_newest_are_merged(out):
    code, text, _ = compact(out, "--dry-run")
    assert (code, text.splitlines()[-1]) == (0, f"{out}: 3 files would be merged into 1")
    assert len(list(out.iterdir())) == 4
    code, text, _ = compact(out, "--json")
    [merge] = json.loads(text)["merges"]
    assert (code, merge["file"], merge["files"]) == (0, f"{out}/000000-0.parquet", 3)
    assert pq.read_table(out / "000000-0.parquet")["n"].to_pylist() == [0, 1, 2]
    assert compact(out)[1] == f"{out}: 0 files merged into 0\n"


def test_with_a_checkpoint_the_newest_batch_is_merged_if_it_is_complete(out):
    checkpoint = checkpoint_of(out, committed=False)
    code, _, error = compact(out, "--checkpoint", checkpoint)
    assert code == 1
    assert "MS-STATE-PENDING\nbatch 3 of totals is not complete" in error
    (checkpoint / "totals/spark/commits/3").touch()
    with locked(checkpoint):
        code, _, error = compact(out, "--checkpoint", checkpoint)
    assert (code, "MS-STATE-IN-USE" in error) == (1, True)
    code, text, _ = compact(out, "--checkpoint", checkpoint)
    assert (code, text.splitlines()[-1]) == (0, f"{out}: 4 files merged into 1")


def test_a_checkpoint_that_does_not_exist_is_rejected_and_not_created(out):
    code, _, error = compact(out, "--checkpoint", out.parent / "typo")
    assert (code, "MS-STATE-CHECKPOINT" in error, "typo does not exist." in error) == (1, 1, 1)
    assert not (out.parent / "typo").exists()
    assert len(list(out.iterdir())) == 4


def test_a_folder_that_is_not_a_checkpoint_is_rejected_and_not_changed(out):
    checkpoint = checkpoint_of(out, committed=True)
    for folder in (out.parent, out, checkpoint / "totals"):
        before = sorted(folder.rglob("*"))
        code, _, error = compact(out, "--checkpoint", folder)
        assert (code, "is not the checkpoint of a job." in error) == (1, True)
        assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("path", ["other", "my/out", "/out", "nout"])
def test_the_checkpoint_of_a_job_with_other_sinks_is_rejected(out, path):
    checkpoint = checkpoint_of(out, committed=True, path=path)
    code, _, error = compact(out, "--checkpoint", checkpoint)
    assert (code, f"does not write to {out}: it writes to {path}." in error) == (1, True)
    assert not (checkpoint / "lock").exists()


@pytest.mark.parametrize("path", ["{}", "file://{}", "../out", "./out/"])
def test_a_path_of_a_checkpoint_is_found_in_all_its_forms(out, path):
    checkpoint = checkpoint_of(out, committed=True, path=path.format(out))
    assert compact(out, "--checkpoint", checkpoint)[0] == 0


def test_a_folder_that_cannot_be_compacted_is_rejected(out):
    code, _, error = compact(out / "gone")
    assert (code, "MS-RUN-COMPACT" in error, "is not a local folder" in error) == (2, True, True)
    (out / "000000-0.csv").write_text("n\n1\n")
    code, _, error = compact(out)
    assert (code, "Add --header or --no-header" in error) == (2, True)
    assert compact(out, "--header")[0] == 0
