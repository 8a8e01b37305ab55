"""The file sink: flat folders of files that anything can read while the job runs.

A micro-batch is written to a hidden folder first and moved into place, file by file, under names
that say the batch: `000042-0.parquet`. Files that an earlier try of the batch left are removed
before, so a batch that is written again replaces itself.
"""

from __future__ import annotations

import uuid

import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame

from millstream.connectors.paths import filesystem


class FileSink:
    def __init__(self, path: str, form: str, *, header: bool = True) -> None:
        self._path = path.rstrip("/")
        self._form = form
        self._clean = False
        self._options = {"header": str(header).lower()} if form == "csv" else {}
        # Timestamps as in the input: ISO 8601, to the microsecond, with their offset.
        if form in ("csv", "json"):
            self._options["timestampFormat"] = "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]XXX"
            self._options["timestampNTZFormat"] = "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]"
        if form == "json":
            self._options["ignoreNullFields"] = "false"

    def write(self, rows: DataFrame, batch: int) -> int | None:
        system, root = filesystem(self._path)
        system.create_dir(root, recursive=True)
        self._remove_leftovers(system, root)
        written = f"{self._path}/_writing-{uuid.uuid4().hex}"
        hidden = f"{root}/{written.rsplit('/', 1)[1]}"
        try:
            rows.write.mode("overwrite").options(**self._options).format(self._form).save(written)
            for stale in self._files(system, root, f"{batch:06d}-"):
                system.delete_file(stale)
            parts = [
                part
                for part in self._files(system, hidden, "part-")
                if self._holds_rows(system, part)
            ]
            for number, part in enumerate(parts):
                system.move(part, f"{root}/{batch:06d}-{number}.{self._form}")
        finally:
            system.delete_dir(hidden)
        return None

    def _remove_leftovers(self, system: fs.FileSystem, root: str) -> None:
        """A job that was killed while it wrote leaves a hidden folder; no other job writes here."""
        if self._clean:
            return
        for info in system.get_file_info(fs.FileSelector(root)):
            if info.base_name.startswith("_writing-"):
                system.delete_dir(info.path)
        self._clean = True

    def _holds_rows(self, system: fs.FileSystem, part: str) -> bool:
        """Spark writes a file, if only a header, for a batch without rows; nobody needs that."""
        with system.open_input_file(part) as file:
            if self._form == "parquet":
                return bool(pq.read_metadata(file).num_rows)
            if self._options.get("header") == "true":
                start = file.read(1 << 16)
                return file.size() > len(start) or b"\n" in start.rstrip(b"\n")
            return bool(file.size())

    @staticmethod
    def _files(system: fs.FileSystem, folder: str, prefix: str) -> list[str]:
        found = system.get_file_info(fs.FileSelector(folder))
        return sorted(
            info.path for info in found if info.is_file and info.base_name.startswith(prefix)
        )
