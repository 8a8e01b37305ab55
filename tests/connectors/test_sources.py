"""What sources of files reject before a stream is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.connectors.file.text_file import open_text
from millstream.errors import RunError


def test_a_file_that_cannot_be_opened_stops_the_job(tmp_path: Path):
    (tmp_path / "a").touch()
    path = f"{tmp_path}/a/b.csv"
    with pytest.raises(RunError) as caught, open_text(path):
        pass
    assert caught.value.code == "MS-RUN-FILE"
    assert caught.value.cause.startswith(f"{path} cannot be opened: [Errno 20] Not a directory")
