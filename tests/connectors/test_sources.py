"""What sources of files reject before a stream is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from millstream.connectors.file.text_file import open_text
from millstream.connectors.sources import read_stream
from millstream.errors import PropertyError, RunError
from millstream.plan.nodes import Column, Source

NO_SPARK = cast("Any", None)


def test_files_cannot_be_limited_by_rows(tmp_path: Path):
    options = (("path", "in"), ("format", "csv"), ("max.rows.per.batch", "10"))
    source = Source("orders", (Column("id", "string"),), connector="file", options=options)
    with pytest.raises(PropertyError) as caught:
        read_stream(NO_SPARK, source, tmp_path)
    assert caught.value.code == "MS-PROP-CONNECTOR"
    assert caught.value.fix == "Use 'max.files.per.batch'."


def test_a_file_that_cannot_be_opened_stops_the_job(tmp_path: Path):
    (tmp_path / "a").touch()
    path = f"{tmp_path}/a/b.csv"
    with pytest.raises(RunError) as caught, open_text(path):
        pass
    assert caught.value.code == "MS-RUN-FILE"
    assert caught.value.cause.startswith(f"{path} cannot be opened: [Errno 20] Not a directory")
