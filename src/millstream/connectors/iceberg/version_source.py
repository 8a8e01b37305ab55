"""The Python data source that streams the snapshots of an Iceberg table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from pyspark.sql.types import StructType

from millstream.connectors.iceberg.catalog import CatalogTable
from millstream.connectors.iceberg.log import SnapshotLog
from millstream.connectors.lake.version_stream import StreamSettings, VersionStream
from millstream.connectors.python_source import NamedDataSource
from millstream.connectors.work_items import ITEM

SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The table that a stream reads; has no secrets, because plans show it."""

    target: CatalogTable
    ignore_changes: bool
    stream: StreamSettings

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decoded(cls, text: str) -> TableSettings:
        found: dict[str, Any] = json.loads(text)
        target, stream = CatalogTable(**found["target"]), StreamSettings(**found["stream"])
        return cls(target, found["ignore_changes"], stream)

    @property
    def log(self) -> SnapshotLog:
        return SnapshotLog(self.target, ignore_changes=self.ignore_changes)


class IcebergSnapshots(NamedDataSource):
    called: ClassVar[str] = "millstream_iceberg"

    def schema(self) -> str:
        return f"{ITEM} string"

    def streamReader(self, schema: StructType) -> VersionStream:  # noqa: ARG002, N802
        settings = TableSettings.decoded(self.options[SETTINGS])
        return VersionStream(settings.stream, settings.log)
