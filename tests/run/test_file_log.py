"""Spark's log of files: entries of batches that were never planned."""

from __future__ import annotations

import json
from pathlib import Path

from millstream.run.file_log import FileLog


def offsets(folder: Path, batch: int, *sources: int | None) -> None:
    lines = ["-" if offset is None else json.dumps({"logOffset": offset}) for offset in sources]
    (folder / "offsets").mkdir(parents=True, exist_ok=True)
    (folder / "offsets" / str(batch)).write_text("\n".join(["v1", "{}", *lines]))


def listed(folder: Path, source: int, name: str, *entries: tuple[str, int]) -> None:
    lines = [json.dumps({"path": path, "timestamp": 1, "batchId": at}) for path, at in entries]
    target = folder / "sources" / str(source)
    target.mkdir(parents=True, exist_ok=True)
    (target / name).write_text("\n".join(["v1", *lines]))
    (target / f".{name}.crc").write_text("")


def test_entries_beyond_the_last_planned_batch_are_removed(tmp_path: Path) -> None:
    offsets(tmp_path, 0, 0, None, None)
    offsets(tmp_path, 1, 1, None, None)
    for name in ("0", "1", "2", "3.compact"):
        listed(tmp_path, 0, name, ("file:///a", int(name[0])))
    listed(tmp_path, 1, "0", ("file:///b", 0))
    rate = tmp_path / "sources" / "2"
    rate.mkdir()
    (rate / "0").write_text("v1\n1794972176022")
    FileLog(tmp_path).remove_unplanned()
    left = sorted(path.name for path in (tmp_path / "sources/0").iterdir())
    assert left == [".0.crc", ".1.crc", "0", "1"]
    assert list((tmp_path / "sources/1").iterdir()) == []
    assert (rate / "0").exists()


def test_entries_of_planned_batches_stay_where_a_source_has_several_lines(tmp_path: Path) -> None:
    """Source 2 is the control stream of three operators, source 3 has the fifth line."""
    offsets(tmp_path, 1, 1, 1, None, None, 1, None)
    (tmp_path / "sources/2").mkdir(parents=True)
    for source in (0, 1, 3):
        for offset in range(3):
            listed(tmp_path, source, str(offset), ("file:///a", offset))
    FileLog(tmp_path).remove_unplanned()
    for source in (0, 1, 3):
        left = sorted(path.name for path in (tmp_path / "sources" / str(source)).iterdir())
        assert left == [".0.crc", ".1.crc", "0", "1"]


def test_a_checkpoint_without_batches_loses_all_entries(tmp_path: Path) -> None:
    FileLog(tmp_path).remove_unplanned()
    listed(tmp_path, 0, "0", ("file:///a", 0))
    FileLog(tmp_path).remove_unplanned()
    assert list((tmp_path / "sources/0").iterdir()) == []
