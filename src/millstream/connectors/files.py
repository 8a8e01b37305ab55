"""The file sink: folders of files that anything can read while the job runs.

A micro-batch is written to a hidden folder first and moved into place, file by file, under names
that say the batch: `000042-0.parquet`, in folders `day=…/` of their own where the sink is
partitioned. Files that an earlier try of the batch left are removed before, so a batch that is
written again replaces itself.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame

from millstream.connectors.paths import filesystem


class FileSink:
    def __init__(
        self,
        path: str,
        form: str,
        *,
        header: bool = True,
        partition_by: tuple[str, ...] = (),
        options: Mapping[str, str] | None = None,
    ) -> None:
        """`options` are Spark's, on top of those that this sink sets."""
        self._path = path.rstrip("/")
        self._form = form
        self._partition_by = partition_by
        self._clean = False
        self._options = {"header": str(header).lower()} if form == "csv" else {}
        # Timestamps as in the input: ISO 8601, to the microsecond, with their offset.
        if form in ("csv", "json"):
            self._options["timestampFormat"] = "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]XXX"
            self._options["timestampNTZFormat"] = "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]"
        if form == "json":
            self._options["ignoreNullFields"] = "false"
        self._options |= options or {}

    def write(self, rows: DataFrame, batch: int) -> int | None:
        system, root = filesystem(self._path)
        system.create_dir(root, recursive=True)
        self._remove_leftovers(system, root)
        written = f"{self._path}/_writing-{uuid.uuid4().hex}"
        hidden = f"{root}/{written.rsplit('/', 1)[1]}"
        try:
            writer = rows.write.mode("overwrite").options(**self._options).format(self._form)
            writer.partitionBy(*self._partition_by).save(written)
            for stale in self._files(system, root, f"{batch:06d}-"):
                system.delete_file(stale)
            parts = [
                part
                for part in self._files(system, hidden, "part-")
                if self._holds_rows(system, part)
            ]
            for number, part in enumerate(parts):
                folder, _, name = part.removeprefix(f"{hidden}/").rpartition("/")
                target = f"{root}/{folder}" if folder else root
                system.create_dir(target, recursive=True)
                system.move(part, f"{target}/{batch:06d}-{number}.{self._ending(name)}")
        finally:
            system.delete_dir(hidden)
        return None

    def _ending(self, name: str) -> str:
        """The format, and what a compressed text file needs to be read."""
        return self._form + name.rpartition(f".{self._form}")[2]

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
        if self._form == "parquet":
            with system.open_input_file(part) as file:
                return bool(pq.read_metadata(file).num_rows)
        with system.open_input_stream(part) as stream:  # decompressed, by its name
            start = stream.read(1 << 16)
            if self._options.get("header") == "true":
                return bool(b"\n" in start.rstrip(b"\n") or stream.read(1))
            return bool(start)

    def _files(self, system: fs.FileSystem, folder: str, prefix: str) -> list[str]:
        deep = bool(self._partition_by)
        found = system.get_file_info(fs.FileSelector(folder, recursive=deep))
        return sorted(
            info.path
            for info in found
            if info.is_file
            and info.base_name.startswith(prefix)
            and ("/_writing-" not in info.path.removeprefix(folder))
        )
