"""Messages about partitions on the control stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from millstream.engine.shuffle.control_stream import announce_partitions, end_of_input, has_ended


def messages(folder: Path) -> list[dict[str, Any]]:
    found = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    return sorted(found, key=lambda each: (each["kind"], str(each)))


def test_a_partition_is_announced_once_however_often_a_query_starts(tmp_path: Path) -> None:
    announce_partitions(tmp_path, "orders", ["0", "a/b"])
    announce_partitions(tmp_path, "orders", ["0", "a/b", "1"])
    assert messages(tmp_path) == [
        {"kind": "partition", "source": "orders", "partition": name} for name in ("0", "1", "a/b")
    ]


def test_the_end_of_a_partition_is_not_the_end_of_input(tmp_path: Path) -> None:
    end_of_input(tmp_path, "orders", "0")
    end_of_input(tmp_path, "orders", "0")
    end_of_input(tmp_path, "clicks")
    assert not has_ended(tmp_path)
    assert messages(tmp_path) == [
        {"kind": "end-of-input", "source": "clicks", "partition": None},
        {"kind": "end-of-input", "source": "orders", "partition": "0"},
    ]
    end_of_input(tmp_path)
    assert has_ended(tmp_path)
