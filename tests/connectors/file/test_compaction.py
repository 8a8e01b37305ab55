"""Compaction merges files of committed batches; killed at any step, no row is lost or doubled."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs, orc

from millstream.connectors.file import compaction
from millstream.connectors.file.avro_files import AvroFiles
from millstream.connectors.file.avro_writer import AvroWriter
from millstream.connectors.file.compaction import Compaction
from millstream.connectors.file.values import Column
from millstream.errors import RunError

SIZE = 1 << 20
Rows = list[int]


def _avro(path: Path, rows: Rows) -> None:
    writer = AvroWriter(fs.LocalFileSystem(), str(path), "snappy")
    writer.write(pa.RecordBatch.from_pydict({"n": pa.array(rows, pa.int64())}))
    writer.close()


def _read_avro(path: Path) -> Rows:
    files = AvroFiles(str(path.parent), (Column("n", pa.int64(), "BIGINT", None),))
    batches = files.read(str(path), {"n": pa.int64()})
    return [value for batch in batches for value in batch.column("n").to_pylist()]


FORMATS: dict[str, tuple[Callable[[Path, Rows], object], Callable[[Path], Rows]]] = {
    "parquet": (
        lambda path, rows: pq.write_table(pa.table({"n": rows}), path),
        lambda path: pq.read_table(path)["n"].to_pylist(),
    ),
    "orc": (
        lambda path, rows: orc.write_table(pa.table({"n": rows}), path),
        lambda path: orc.read_table(path)["n"].to_pylist(),
    ),
    "avro": (_avro, _read_avro),
    "csv": (
        lambda path, rows: path.write_text("n\n" + "".join(f"{row}\n" for row in rows)),
        lambda path: [int(line) for line in path.read_text().split()[1:]],
    ),
    "json": (
        lambda path, rows: path.write_text("".join(f'{{"n":{row}}}\n' for row in rows)),
        lambda path: [json.loads(line)["n"] for line in path.read_text().splitlines()],
    ),
    "json.gz": (
        lambda path, rows: path.write_bytes(
            gzip.compress("".join(f'{{"n":{row}}}\n' for row in rows).encode())
        ),
        lambda path: [
            json.loads(line)["n"] for line in gzip.decompress(path.read_bytes()).splitlines()
        ],
    ),
}


def visible(folder: Path, form: str = "parquet") -> dict[str, Rows]:
    """Returns the rows of the files that readers of a folder find."""
    read = FORMATS[form][1]
    found = (path for path in folder.rglob(f"*.{form}") if "_compaction" not in path.parts)
    return {str(path.relative_to(folder)): read(path) for path in sorted(found)}


def fill(folder: Path, form: str = "parquet", batches: int = 4) -> None:
    for batch in range(batches):
        for number in range(2):
            FORMATS[form][0](folder / f"{batch:06d}-{number}.{form}", [batch * 10 + number])


@pytest.mark.parametrize("form", FORMATS)
def test_files_of_all_batches_but_the_newest_become_one_in_their_order(tmp_path, form):
    fill(tmp_path, form)
    merges = Compaction(tmp_path, SIZE, header=True).run()
    assert [len(each.names) for each in merges] == [6]
    assert visible(tmp_path, form) == {
        f"000000-0.{form}": [0, 1, 10, 11, 20, 21],
        f"000003-0.{form}": [30],
        f"000003-1.{form}": [31],
    }
    assert Compaction(tmp_path, SIZE, header=True).run() == []


def test_the_newest_batch_is_merged_if_it_is_committed(tmp_path):
    fill(tmp_path)
    Compaction(tmp_path, SIZE, header=True, is_committed=True).run()
    assert visible(tmp_path) == {"000000-0.parquet": [0, 1, 10, 11, 20, 21, 30, 31]}


def test_files_are_merged_by_folder_label_schema_and_size(tmp_path):
    for name, rows in {
        "day=1/000000-0.parquet": {"n": [1]},
        "day=1/000001-0.parquet": {"n": [2]},
        "day=1/000002-0.parquet": {"n": [3], "added": ["x"]},
        "day=1/000003-0.parquet": {"n": [4], "added": ["y"]},
        "day=2/000001-0.parquet": {"n": [5]},
        "day=2/000010-0.parquet": {"n": [6]},
        "day=2/000009-0.parquet": {"n": [7]},
        "day=2/000001-0.late.parquet": {"n": [8]},
        "day=2/000002-0.late.parquet": {"n": [9]},
        "other/000001-0.parquet": {"n": [10]},
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table(rows), tmp_path / name)
    (tmp_path / "day=1/note.txt").touch()
    merges = Compaction(tmp_path, SIZE, header=True).run()
    named = [(each.target.relative_to(tmp_path).as_posix(), each.names) for each in merges]
    assert sorted(named) == [
        ("day=1/000000-0.parquet", ("000000-0.parquet", "000001-0.parquet")),
        ("day=1/000002-0.parquet", ("000002-0.parquet", "000003-0.parquet")),
        ("day=2/000001-0.parquet", ("000001-0.parquet", "000009-0.parquet")),
    ]
    small = max(path.stat().st_size for path in tmp_path.rglob("*.parquet"))
    assert Compaction(tmp_path, small, header=True, is_committed=True).plan() == []


def test_csv_files_with_other_headers_are_not_merged(tmp_path):
    for number, header in enumerate(("n", "n", "m")):
        (tmp_path / f"00000{number}-0.csv").write_text(f"{header}\n{number}\n")
    Compaction(tmp_path, SIZE, header=True, is_committed=True).run()
    assert (tmp_path / "000000-0.csv").read_text() == "n\n0\n1\n"
    Compaction(tmp_path, SIZE, header=False, is_committed=True).run()
    assert (tmp_path / "000000-0.csv").read_text() == "n\n0\n1\nm\n2\n"


class Killed(BaseException):
    pass


@pytest.mark.parametrize("step", range(16))
def test_a_killed_compaction_shows_no_row_twice_and_the_next_one_completes_it(
    tmp_path, monkeypatch, step
):
    """Each call that changes the folder is a step; the process is killed before one of them."""
    fill(tmp_path, batches=3)
    expected = sorted(row for rows in visible(tmp_path).values() for row in rows)
    left = [step]

    def killing(owner: object, name: str) -> None:
        call = getattr(owner, name)

        def counted(*arguments: object, **named: object) -> object:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return call(*arguments, **named)

        monkeypatch.setattr(owner, name, counted)

    for owner, name in (
        (Path, "rename"),
        (Path, "replace"),
        (Path, "mkdir"),
        (Path, "write_text"),
        (shutil, "rmtree"),
        (compaction, "merge"),
    ):
        killing(owner, name)
    try:
        Compaction(tmp_path, SIZE, header=True).run()
        was_killed = False
    except Killed:
        was_killed = True
    monkeypatch.undo()
    rows = sorted(row for rows in visible(tmp_path).values() for row in rows)
    assert len(rows) == len(set(rows))
    if not (tmp_path / "_compaction/swap.json").exists():
        assert rows == expected
    assert was_killed == (step < STEPS)
    Compaction(tmp_path, SIZE, header=True).run()
    assert sorted(row for rows in visible(tmp_path).values() for row in rows) == expected
    assert len(visible(tmp_path)) == 3


STEPS = 14  # calls of a compaction that is not killed


def test_a_damaged_file_is_named_and_nothing_is_changed(tmp_path):
    fill(tmp_path)
    (tmp_path / "000001-1.parquet").write_bytes(b"PAR1 damaged PAR1")
    with pytest.raises(RunError) as caught:
        Compaction(tmp_path, SIZE, header=True).run()
    assert caught.value.code == "MS-RUN-COMPACT"
    assert f"{tmp_path}/000001-1.parquet cannot be merged" in caught.value.cause
    assert len(list(tmp_path.glob("*.parquet"))) == 8


def test_two_compactions_of_a_folder_exclude_each_other(tmp_path):
    fill(tmp_path)
    first = Compaction(tmp_path, SIZE, header=True)
    with first._locked(), pytest.raises(RunError) as caught:
        Compaction(tmp_path, SIZE, header=True).run()
    assert caught.value.code == "MS-RUN-COMPACT"
    assert "is being compacted by another process" in caught.value.cause
